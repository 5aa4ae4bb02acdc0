/* cmd_report.c: `kubetape report`. */
#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/visible.h"
#include "schema/tape/position.h"
#include "tools/cli/namespace_check.h"
#include "tools/cli/position_help.h"
#include "tools/commands.h"
#include "tools/out/certainty.h"
#include "tools/report/report.h"

#include <stdlib.h>

struct report_values {
	const char *from, *until, *namespace, *format;
};

#define AT(field) offsetof(struct report_values, field)

static const struct option_row rows[] = {
	{OPTION_TEXT, 0, "from", AT(from), "POSITION", "begin there (default: where the tape begins)"},
	{OPTION_TEXT, 0, "until", AT(until), "POSITION", "end there (default: where the tape ends)"},
	{OPTION_TEXT, 'n', "namespace", AT(namespace), "NS",
		"only objects of this namespace; sections about nodes or gaps also show those without one"},
	{OPTION_CHOICE, 0, "format", AT(format), "text|markdown|html",
		"for a terminal, for a ticket, or a page in one file"},
	{.kind = OPTION_END},
};

struct reporting {
	const struct report_values *values;
	struct tape *tape;
	struct sql_session *session;
	struct tape_position from, until;
};

static void set_number(struct reporting *r, const char *name, long long number)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", number);
	sql_session_set(r->session, name, text);
}

/* Between the same two events their times decide; else a clock that stepped back has no say. */
static bool is_backward(const struct tape_position *from, const struct tape_position *until)
{
	if (from->place != POSITION_ON_TAPE || until->place != POSITION_ON_TAPE)
		return until->seq < from->seq;
	return until->seq < from->seq || (until->seq == from->seq && until->time_ns < from->time_ns);
}

static int find_stretch(struct reporting *r, struct err *err)
{
	const struct report_values *v = r->values;
	bool from_start = strcmp(v->from, "start") == 0;
	struct tape_info info;
	int rc = tape_position_find(r->tape, v->from, &r->from, err);

	if (!rc)
		rc = tape_position_find(r->tape, v->until, &r->until, err);
	if (!rc && is_backward(&r->from, &r->until))
		rc = err_set(err, ERR_USAGE, "nothing to report: '%s' lies before '%s'", v->until, v->from);
	if (!rc)
		rc = tape_info(r->tape, &info, err);
	if (rc)
		return rc;
	/* At its start the first event has happened; a report of a stretch begins after its first position. */
	set_number(r, "from",
		!from_start      ? (long long)r->from.seq
		: info.first_seq ? (long long)info.first_seq - 1
				 : 0);
	set_number(r, "until", (long long)r->until.seq);
	set_number(r, "from_ns", from_start ? INT64_MIN : (long long)r->from.time_ns);
	set_number(r, "begin_ns", (long long)r->from.time_ns);
	set_number(r, "until_ns", r->until.is_end ? INT64_MAX : (long long)r->until.time_ns);
	sql_session_set(r->session, "namespace", v->namespace);
	return 0;
}

static const struct report_form *form_of(const char *name)
{
	static const struct report_form *const forms[] = {&report_text, &report_markdown, &report_html};

	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		if (strcmp(forms[i]->name, name) == 0)
			return forms[i];
	}
	return &report_text;
}

static int print_report(struct reporting *r, const char *tape, struct err *err)
{
	char from[TIME_TEXT_BYTES], until[TIME_TEXT_BYTES];
	char *title = xasprintf("%s from %.19sZ to %.19sZ%s%s", tape, time_format(from, r->from.time_ns),
		time_format(until, r->until.time_ns), *r->values->namespace ? ", namespace " : "",
		r->values->namespace);
	const struct report report = {
		r->session, form_of(r->values->format), stdout, title, *r->values->namespace != '\0'};
	int rc = report_make(&report, err);

	free(title);
	return rc;
}

/* Whether the tape has nothing of the stretch; then that is said, and a page of "none" would be wrong. */
static bool is_outside(const struct reporting *r)
{
	bool is_after = r->from.place == POSITION_AFTER;
	char remark[POSITION_REMARK_BYTES];

	if (!is_after && r->until.place != POSITION_BEFORE)
		return false;
	if (tape_position_remark(
		    is_after ? &r->from : &r->until, is_after ? r->values->from : r->values->until, remark)) {
		fputs("kubetape report: nothing to report: ", stderr);
		visible_puts(stderr, remark);
		fputc('\n', stderr);
	}
	return true;
}

/* 1 if nothing of the namespace was recorded, which is said; 0 if it was. */
static int is_unrecorded(struct reporting *r, struct err *err)
{
	struct certainty certainty;
	int rc = certainty_open(&certainty, "report", r->tape, err);

	if (rc)
		return rc;
	certainty_of_namespace(&certainty, r->values->namespace);
	certainty_close(&certainty);
	return certainty.is_guess;
}

/* A page about it would say "none" where nothing is known. */
static int check_namespace(struct reporting *r, struct err *err)
{
	int rc = *r->values->namespace ? is_unrecorded(r, err) : 0;

	if (rc)
		return rc < 0 ? rc : EXIT_LOSS;
	return *r->values->namespace ? namespace_check(r->tape, r->values->namespace, err) : 0;
}

static void say_of_streams(struct reporting *r, struct certainty *certainty)
{
	const struct tape_stream *s;

	for (size_t i = 0; (s = tape_stream_at(r->tape, i)); i++)
		certainty_of_stream(certainty, s->id, r->values->namespace);
}

/* A position outside the tape is a guess, and so is what nobody knows to have been watched. */
static int say_what_was_guessed(struct reporting *r, struct err *err)
{
	struct certainty certainty;
	int rc = certainty_open(&certainty, "report", r->tape, err);

	if (!rc) {
		certainty_of_position(&certainty, &r->from, r->values->from);
		certainty_of_position(&certainty, &r->until, r->values->until);
		say_of_streams(r, &certainty);
	}
	certainty_end(&certainty);
	certainty_close(&certainty);
	return rc ? rc : certainty.is_guess ? EXIT_LOSS : EXIT_OK;
}

static int report(void *values, const struct operands *operands, struct err *err)
{
	struct reporting r = {.values = values};
	int rc = tape_open(operands->items[0], &r.tape, err);

	if (!rc)
		rc = sql_session_open(operands->items[0], &r.session, err);
	if (!rc)
		rc = find_stretch(&r, err);
	if (!rc && is_outside(&r))
		rc = EXIT_LOSS;
	if (!rc)
		rc = check_namespace(&r, err);
	if (!rc)
		rc = print_report(&r, operands->items[0], err);
	if (!rc)
		rc = say_what_was_guessed(&r, err);
	sql_session_close(r.session);
	tape_close(r.tape);
	return rc;
}

static int report_run(const struct command *self, int argc, char **argv)
{
	struct report_values v = {.from = "start", .until = "end", .namespace = "", .format = "text"};

	return command_run(self, argc, argv, &v, report);
}

const struct command cmd_report = {
	.name = "report",
	.operands = "TAPE",
	.expects = {"a tape", 1, 1},
	.summary = "report on one page what happened between two positions",
	.description =
		"Reports changes of images and who made them, scaling, crashes with their exit codes, containers\n"
		"that were killed for their memory or wait, evictions, refusals by quotas and webhooks, fields that\n"
		"several managers write in turns, nodes that were not ready, names that another object took,\n"
		"deletions, Warnings, the pods that took longest to be ready, and when nobody watched. Each line\n"
		"has the event that shows it: a position for every other command ('get --at 253', 'why --at 253').\n"
		"\n"
		"If the tape does not have the resources of a section, the section says that it is not known. The\n"
		"page in HTML is one file without scripts.\n"
		"\n" POSITION_HELP "\n"
		"  kubetape report X.tape --from 12:00 --until 12:10 -n shop\n"
		"  kubetape report X.tape --format html > incident.html",
	.options = rows,
	.exits = {[EXIT_LOSS] =
			  "a position lies outside the tape, or the namespace was not recorded (nothing is printed if that "
			  "leaves nothing to report); or the tape does not say when a resource was watched, or one was never listed"},
	.run = report_run,
};
