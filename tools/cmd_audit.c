/* cmd_audit.c: `kubetape audit`. */
#include "schema/base/clock.h"
#include "schema/base/log.h"
#include "tools/audit/audit_follow.h"
#include "tools/audit/audit_lines.h"
#include "tools/audit/audit_report.h"
#include "tools/cli/progress.h"
#include "tools/commands.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define LINES_AT_ONCE 1000 /* joined in one transaction */

struct audit_values {
	int64_t tolerance;
	bool follow, json;
};

#define AT(field) offsetof(struct audit_values, field)

static const struct option_row rows[] = {
	{OPTION_DURATION, 0, "tolerance", AT(tolerance), "TIME",
		"the largest difference that clocks and the watch may make between a request and its event (1s)"},
	{OPTION_FLAG, 'f', "follow", AT(follow), NULL, "follow the log until a signal; it may be rotated"},
	{OPTION_FLAG, 0, "json", AT(json), NULL, "print the result as JSON"},
	{.kind = OPTION_END},
};

struct audit_reading {
	struct audit_joiner *joiner;
	struct progress progress;
	uint64_t lines;
};

static int on_line(void *context, struct slice line, struct err *err)
{
	struct audit_reading *r = context;
	int rc = audit_joiner_take(r->joiner, line, err);

	if (!rc && ++r->lines % LINES_AT_ONCE == 0)
		rc = audit_joiner_flush(r->joiner, err);
	if (!rc && progress_step(&r->progress, r->lines, 0))
		rc = err_set(err, ERR_STOPPED,
			"stopped; what was joined by then is noted, and nothing is joined twice");
	return rc;
}

static int read_files(struct audit_reading *r, const struct operands *operands, struct err *err)
{
	int rc = 0, flushed;

	progress_catch_signals();
	progress_begin(&r->progress, "joining");
	for (size_t i = 1; i < operands->count && !rc; i++)
		rc = audit_lines_read(operands->items[i], on_line, r, err);
	progress_clear(&r->progress);
	flushed = audit_joiner_flush(r->joiner, rc ? NULL : err);
	return rc ? rc : flushed;
}

/* Before a book is made, which a log that is not there would leave empty. */
static int find_files(const struct operands *operands, struct err *err)
{
	for (size_t i = 1; i < operands->count; i++) {
		const char *path = operands->items[i];

		if (strcmp(path, "-") != 0 && access(path, R_OK))
			return err_set_errno(err, errno, "cannot open '%s'", path);
	}
	return 0;
}

static int audit_once(const struct audit_values *v, const struct operands *operands, struct audit_totals *ret,
	struct err *err)
{
	struct audit_reading r = {0};
	int rc = find_files(operands, err);

	if (!rc)
		rc = audit_joiner_open(operands->items[0], v->tolerance, &r.joiner, err);
	if (!rc)
		rc = read_files(&r, operands, err);
	if (!rc)
		rc = audit_joiner_totals(r.joiner, ret, err);
	audit_joiner_close(r.joiner);
	return rc;
}

static bool is_over(void *context)
{
	(void)context;
	return progress_stop_asked();
}

static int audit_along(const struct audit_values *v, const struct operands *operands,
	struct audit_totals *ret, struct err *err)
{
	const struct audit_follow_options o = {.tape_path = operands->items[0],
		.log_path = operands->items[1],
		.tolerance_ns = v->tolerance,
		.is_over = is_over};

	if (operands->count != 2)
		return err_set(err, ERR_USAGE, "'--follow' wants one file");
	progress_catch_signals();
	return audit_follow(&o, ret, err);
}

static int audit(void *values, const struct operands *operands, struct err *err)
{
	const struct audit_values *v = values;
	struct audit_totals totals;
	int rc = v->follow ? audit_along(v, operands, &totals, err) : audit_once(v, operands, &totals, err);

	if (rc)
		return rc;
	if (v->json)
		audit_report_json(&totals, stdout);
	else
		audit_report_text(&totals, stdout);
	if (totals.lines && totals.outcomes[AUDIT_BAD_LINE] == totals.lines) {
		log_warn("no line is an event of audit.k8s.io: is it an audit log?");
		return EXIT_LOSS;
	}
	if (totals.lines && !totals.events) {
		log_warn("no line belongs to an event of the tape: are they of one cluster and time?");
		return EXIT_LOSS;
	}
	return EXIT_OK;
}

static int audit_run(const struct command *self, int argc, char **argv)
{
	struct audit_values v = {.tolerance = NS_PER_S};

	return command_run(self, argc, argv, &v, audit);
}

const struct command cmd_audit = {
	.name = "audit",
	.operands = "TAPE FILE...",
	.expects = {"a tape and files of an audit log", 2, SIZE_MAX},
	.writes_beside = true,
	.summary = "join the API server's audit log to a tape: who made each change",
	.description =
		"Finds the event that each write of the log made, and stores user, user agent, address and verb\n"
		"beside the tape, in TAPE/audit.sqlite (for X.ktape, in X.ktape-audit). Then the columns user,\n"
		"user_agent, source_ip and verb of events and changes, the table audit, and commands that name\n"
		"users show them; NULL is unknown. Files are lines of audit.k8s.io, plain or gzip; '-' is\n"
		"standard input. The tape may be one that is being recorded. A log may be read again: nothing is\n"
		"joined twice.\n"
		"\n"
		"At level RequestResponse the answer to a write has the version that it made. At level Metadata an\n"
		"event is joined only if no other event of that object came between the times of the request, give\n"
		"or take --tolerance, and if managedFields do not contradict it. Uncertain requests are not joined,\n"
		"but counted by reason.\n"
		"\n"
		"  kubetape audit X.tape /var/log/kubernetes/audit.log\n"
		"  kubetape query X.tape 'SELECT time, user, verb, resource, name FROM audit'",
	.options = rows,
	.exits = {[EXIT_LOSS] = "done, but the log matches no event of the tape, or is not an audit log"},
	.run = audit_run,
};
