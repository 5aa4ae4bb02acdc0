/*
 * cmd_log.c: `kubetape log`: the life of one object: each event with the fields it changed, and the times in
 * which nobody watched.
 */
#include "schema/base/clock.h"
#include "schema/base/out_file.h"
#include "schema/base/visible.h"
#include "schema/tape/reader.h"
#include "tools/commands.h"
#include "tools/object_name.h"
#include "tools/sql_progress.h"
#include "tools/state_text.h"
#include "tools/table_out.h"

#include <stdlib.h>

struct log_options {
	const char *namespace, *color;
	bool all_fields, full, json;
};

static const struct option_row rows[] = {
	{OPTION_TEXT, 'n', "namespace", offsetof(struct log_options, namespace), "NS",
		"the object's namespace (default: any)"},
	{OPTION_FLAG, 0, "all-fields", offsetof(struct log_options, all_fields), NULL,
		"also managedFields and resourceVersion"},
	{OPTION_FLAG, 0, "full", offsetof(struct log_options, full), NULL, "do not cut long values"},
	{OPTION_CHOICE, 0, "color", offsetof(struct log_options, color), "auto|always|never",
		"colour the changes (default: auto)"},
	{OPTION_FLAG, 0, "json", offsetof(struct log_options, json), NULL, "print one JSON object a change"},
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

/* A row with an op is a field that an event changed; one without is a gap of the resource, which is told when
 * it began after the object was first seen. %s: conditions that the walk can use. */
static const char sql_format[] =
	"WITH c AS MATERIALIZED (SELECT seq, time, time_ns, type, origin, apigroup, version, resource, namespace, "
	"name, uid, rv, op, field, old_json AS old, new_json AS new, manager FROM changes WHERE all_fields = :all%s%s) "
	"SELECT * FROM (SELECT seq, time, time_ns, type, origin, resource, namespace, name, uid, rv, op, field, "
	"iif(field = '', NULL, old) AS old, iif(field = '', NULL, new) AS new, manager, "
	"NULL AS reason, NULL AS how_ended, NULL AS duration_ns FROM c "
	"UNION ALL SELECT g.begin_seq, g.begin, g.begin_ns, NULL, NULL, g.resource, g.namespace, NULL, NULL, NULL, "
	"NULL, NULL, NULL, NULL, NULL, g.reason, g.how_ended, g.duration_ns FROM gaps AS g "
	"WHERE EXISTS (SELECT 1 FROM c WHERE c.resource = g.resource AND c.apigroup = g.apigroup AND "
	"(g.namespace = '' OR g.namespace = c.namespace)) AND g.begin_seq >= (SELECT min(seq) FROM c)) "
	"ORDER BY seq, op IS NULL";

static const char by_uid[] = " AND uid = :uid";
static const char by_name[] =
	" AND apigroup = :apigroup AND version = :version AND resource = :resource AND name = :name";
static const char by_namespace[] = " AND namespace = :namespace";

enum {
	SEQ,
	TIME,
	TIME_NS,
	TYPE,
	ORIGIN,
	RESOURCE,
	NAMESPACE,
	NAME,
	UID,
	RV,
	OP,
	FIELD,
	OLD,
	NEW,
	MANAGER,
	REASON,
	HOW_ENDED,
	DURATION,
};

struct printer {
	struct state_text text;
	int64_t last_seq, last_time_ns;
	size_t row_count;
};

static void print_event(struct printer *p, const struct sql_value *v)
{
	char since[TIME_TEXT_BYTES];

	state_text_begin(&p->text, STATE_HEAD);
	printf("%.*s ", (int)v[TIME].bytes.len, v[TIME].bytes.ptr);
	printf("%-8.*s", (int)v[TYPE].bytes.len, v[TYPE].bytes.ptr);
	state_text_end(&p->text);
	putchar(' ');
	visible_put(stdout, v[RESOURCE].bytes);
	putchar(' ');
	state_text_name(v[NAMESPACE].bytes, v[NAME].bytes);
	fputs(" rv ", stdout);
	visible_put(stdout, v[RV].bytes);
	fputs(" uid ", stdout);
	visible_put(stdout, v[UID].bytes);
	if (!slice_is(v[ORIGIN].bytes, "watch"))
		printf(" (%.*s)", (int)v[ORIGIN].bytes.len, v[ORIGIN].bytes.ptr);
	if (p->last_time_ns)
		printf(" +%s", duration_format(since, v[TIME_NS].integer - p->last_time_ns));
	putchar('\n');
	p->last_time_ns = v[TIME_NS].integer;
}

static void print_gap(struct printer *p, const struct sql_value *v)
{
	char length[TIME_TEXT_BYTES];

	state_text_begin(&p->text, STATE_GAP);
	printf("%.*s NOT WATCHED", (int)v[TIME].bytes.len, v[TIME].bytes.ptr);
	if (v[DURATION].type == SQL_INTEGER)
		printf(" for %s", duration_format(length, v[DURATION].integer));
	fputs(": ", stdout);
	visible_put(stdout, v[REASON].bytes);
	fputs(", ended by ", stdout);
	visible_put(stdout, v[HOW_ENDED].bytes);
	state_text_end(&p->text);
	putchar('\n');
}

static int on_row(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct printer *p = context;

	(void)count;
	p->row_count++;
	if (v[OP].type == SQL_NULL) {
		print_gap(p, v);
		return out_stream_check(stdout, err);
	}
	if (v[SEQ].integer != p->last_seq)
		print_event(p, v);
	p->last_seq = v[SEQ].integer;
	if (v[FIELD].bytes.len)
		state_text_change(
			&p->text, v[OP].bytes, v[FIELD].bytes, v[OLD].bytes, v[NEW].bytes, v[MANAGER].bytes);
	return out_stream_check(stdout, err);
}

/* ---- the command ---- */

static int print(
	struct sql_session *s, const struct log_options *o, const struct object_name *what, struct err *err)
{
	struct printer p = {.text = {state_text_wants_color(o->color), o->full, false}};
	struct table_out *out = o->json ? table_out_new(stdout, TABLE_NDJSON, 0) : NULL;
	struct sql_sink sink = {.row = on_row, .context = &p};
	char *sql = xasprintf(sql_format, what->by_uid ? by_uid : by_name, *o->namespace ? by_namespace : "");
	int code;

	if (out) {
		table_out_embed(out, state_text_values, false);
		sink = table_out_sink(out);
	}
	code = sql_progress_run(s, slice_of(sql), &sink, err);
	free(sql);
	table_out_free(out);
	if (!code && !out && p.row_count == 0)
		code = err_set(err, ERR_NOT_FOUND, "the tape has no event of '%s'", what->text);
	return code;
}

static int show(void *values, const struct operands *operands, struct err *err)
{
	const struct log_options *o = values;
	struct object_name what = {0};
	struct sql_session *s = NULL;
	int code = sql_session_open(operands->items[0], &s, err);

	if (!code)
		code = object_name_choose(
			s, operands->items[0], operands->items + 1, operands->count - 1, &what, err);
	if (!code) {
		sql_session_set(s, "namespace", o->namespace);
		sql_session_set(s, "all", o->all_fields ? "1" : "0");
		code = print(s, o, &what, err);
	}
	free(what.text);
	sql_session_close(s);
	return code;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct log_options o = {.namespace = "", .color = "auto"};

	return command_run(self, argc, argv, &o, show);
}

const struct command cmd_log = {
	.name = "log",
	.operands = "TAPE UID|RESOURCE[/NAME] [NAME]",
	.expects = {"a tape and an object", 2, 3},
	.summary = "tell the life of one object",
	.description =
		"Prints every event of the object with the fields it changed, old and new, and who wrote them\n"
		"by managedFields; and the times in which its resource was not watched. Of a UID, as much as no\n"
		"other begins with is enough.\n\n"
		"  kubetape log X.tape deploy/web -n shop",
	.options = rows,
	.run = run,
};
