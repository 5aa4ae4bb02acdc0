/*
 * cmd_log.c: `kubetape log`: the life of an object, or of several: each event with the fields it changed, and the times
 * in which nobody watched.
 */
#include "schema/base/limits.h"
#include "schema/base/out_file.h"
#include "tools/cli/follow.h"
#include "tools/cli/object_name.h"
#include "tools/cli/position_help.h"
#include "tools/cli/progress.h"
#include "tools/cli/sql_progress.h"
#include "tools/cli/time_shown.h"
#include "tools/commands.h"
#include "tools/log/log_printer.h"
#include "tools/out/certainty.h"
#include "tools/out/owner_tree.h"
#include "tools/out/table_out.h"

#include <stdlib.h>

struct log_options {
	const char *namespace, *color, *from, *until;
	bool all_fields, full, json, follow, with_owned, local;
};

static const struct option_row rows[] = {
	{OPTION_TEXT, 'n', "namespace", offsetof(struct log_options, namespace), "NS",
		"the object's namespace (default: any)"},
	{OPTION_TEXT, 0, "from", offsetof(struct log_options, from), "POSITION",
		"only what happened after this position (default: start)"},
	{OPTION_TEXT, 0, "until", offsetof(struct log_options, until), "POSITION",
		"only what had happened at this position (default: end)"},
	{OPTION_FLAG, 'f', "follow", offsetof(struct log_options, follow), NULL,
		"continue with new events while the tape is being recorded"},
	{OPTION_FLAG, 0, "with-owned", offsetof(struct log_options, with_owned), NULL,
		"also the objects that these own, even deleted ones, and first a tree of them: ReplicaSets, Pods"},
	{OPTION_FLAG, 0, "all-fields", offsetof(struct log_options, all_fields), NULL,
		"also managedFields and resourceVersion"},
	{OPTION_FLAG, 0, "full", offsetof(struct log_options, full), NULL, "do not cut long values"},
	LOCAL_TIME_ROW(log_options),
	{OPTION_CHOICE, 0, "color", offsetof(struct log_options, color), "auto|always|never",
		"colour the changes (default: auto)"},
	{OPTION_FLAG, 0, "json", offsetof(struct log_options, json), NULL, "print one JSON object a change"},
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

/* A row with a type is an event, with a field that it changed or without one; a row without a type is a gap
 * of the resource, which is told when it began after the object was first seen. %s: conditions that a walk
 * over events can use. */
static const char sql_format[] =
	"WITH first AS MATERIALIZED (SELECT apigroup, resource, namespace, min(seq) AS seq FROM events WHERE %s "
	"GROUP BY apigroup, resource, namespace), "
	"e AS MATERIALIZED (SELECT seq, time, time_ns, type, origin, apigroup, version, resource, namespace, "
	"name, uid, rv, user, user_agent FROM events WHERE %s AND seq > :from AND seq <= :until), "
	"c AS MATERIALIZED (SELECT seq, op, field, old_json AS old, new_json AS new, manager FROM changes "
	"WHERE all_fields = :all AND %s AND seq > :from AND seq <= :until) "
	"SELECT * FROM (SELECT e.seq, time, time_ns, type, origin, resource, namespace, name, uid, rv, op, field, "
	"iif(field = '', NULL, old) AS old, iif(field = '', NULL, new) AS new, manager, "
	"NULL AS reason, NULL AS how_ended, NULL AS duration_ns, user, user_agent FROM e LEFT JOIN c USING (seq) "
	"UNION ALL SELECT g.begin_seq, g.begin, g.begin_ns, NULL, NULL, g.resource, g.namespace, NULL, NULL, NULL, "
	"NULL, NULL, NULL, NULL, NULL, g.reason, g.how_ended, coalesce(g.duration_ns, g.end_ns - g.begin_ns), NULL, NULL "
	"FROM gaps AS g WHERE EXISTS (SELECT 1 FROM first AS f WHERE f.resource = g.resource AND f.apigroup = g.apigroup "
	"AND (g.namespace = '' OR g.namespace = f.namespace) AND f.seq <= g.begin_seq) "
	"AND g.begin_ns > :told_ns AND g.begin_ns <= :until_ns AND (g.end_ns IS NULL OR g.end_ns > :from_ns)) ORDER BY seq, type IS NULL";

/* Those that the object may have come on; %s: as above. */
static const char streams_format[] = "SELECT DISTINCT stream FROM events WHERE %s";
static const char streams_by_name[] =
	"SELECT stream FROM streams WHERE resource = :resource AND apigroup = :apigroup "
	"AND (namespace = '' OR :namespace IN ('', namespace))";

static const char by_uid[] = "uid = :uid";
static const char by_uids[] = "uid IN (SELECT value FROM json_each(:uids))";
static const char by_name[] =
	"apigroup = :apigroup AND version = :version AND resource = :resource AND name = :name";
static const char by_namespace[] = " AND namespace = :namespace";

/* ---- which object, from when to when ---- */

struct log {
	const struct log_options *options;
	struct object_name what;
	struct tape *tape;
	struct sql_session *session;
	char *where; /* SQL that picks out its events */
	struct certainty certainty;
	bool has_said; /* what is not known of the resource */
	struct tape_position from, until;
	struct owner_tree *owned; /* of several objects, or with what they own; else NULL */
	struct log_printer printer;
	struct table_out *out; /* NULL: for people */
};

static char *log_where(const struct log *l, const char *object)
{
	return xasprintf("%s%s", object, *l->options->namespace ? by_namespace : "");
}

struct roots {
	struct owner_tree *owned;
	size_t count;
};

static int add_root(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	char *uid = slice_dup(v[0].bytes), *namespace = slice_dup(v[1].bytes);
	struct roots *roots = context;

	(void)count, (void)err;
	owner_tree_add_root(roots->owned, uid, namespace);
	roots->count++;
	free(uid);
	free(namespace);
	return 0;
}

/* ---- what is not known ---- */

/* Gaps stand among the events; here is told of streams whose gaps nobody knows. */
static int on_stream(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct log *l = context;

	(void)count, (void)err;
	certainty_of_stream(&l->certainty, (uint32_t)v[0].integer, "");
	return 0;
}

/* Of those of the resource that is named. */
static int say_of_resource(struct log *l, struct err *err)
{
	const struct sql_sink sink = {.row = on_stream, .context = l};

	l->has_said = true;
	return sql_session_run(l->session, slice_of(streams_by_name), &sink, err);
}

static int say_of_events(struct log *l, struct err *err)
{
	const struct sql_sink sink = {.row = on_stream, .context = l};
	char *sql = xasprintf(streams_format, l->where);
	int rc = sql_session_run(l->session, slice_of(sql), &sink, err);

	free(sql);
	return rc;
}

static int say_what_is_not_known(struct log *l, struct err *err)
{
	int rc = 0;

	certainty_of_position(&l->certainty, &l->from, l->options->from);
	certainty_of_position(&l->certainty, &l->until, l->options->until);
	if (l->owned || l->what.by_uid)
		rc = say_of_events(l, err);
	else if (!l->has_said)
		rc = say_of_resource(l, err);
	certainty_end(&l->certainty);
	return rc ? rc : l->certainty.is_guess ? EXIT_LOSS : EXIT_OK;
}

/* Every object that ever had that name. */
static int choose_one_of_many(struct log *l, const struct operands *operands, size_t i, struct err *err)
{
	struct object_name what = {0};
	struct roots roots = {.owned = l->owned};
	struct sql_sink sink = {.row = add_root, .context = &roots};
	char *where, *statement;
	int rc;

	if (operands->count > 2 && !strchr(operands->items[i], '/'))
		return err_set(err, ERR_USAGE,
			"expected RESOURCE/NAME or RESOURCE NAME, found '%s' beside other objects",
			operands->items[i]);
	rc = object_name_choose(l->session, operands->items[0], operands->items + i, 1, &what, err);
	if (rc)
		return rc;
	where = log_where(l, what.by_uid ? by_uid : by_name);
	statement = xasprintf(
		"SELECT uid, namespace FROM events WHERE %s UNION SELECT uid, namespace FROM objects(:begin) "
		"WHERE %s",
		where, where);
	rc = sql_progress_run(l->session, slice_of(statement), &sink, err);
	if (!rc && !roots.count && !what.by_uid)
		rc = say_of_resource(l, err);
	if (!rc && !roots.count && !l->certainty.is_guess)
		rc = err_set(err, ERR_NOT_FOUND, "the tape has no event of '%s'", what.text);
	free(l->what.text);
	l->what.text = what.text;
	free(statement);
	free(where);
	return rc;
}

/* What they own up to the last event that is to be told. */
static int log_set_uids(struct log *l, struct err *err)
{
	struct buf uids;
	int rc = 0;

	if (!l->owned)
		return 0;
	buf_init(&uids, LIMIT_LIST_BYTES);
	if (l->options->with_owned)
		rc = owner_tree_read(l->owned, l->tape, l->until.seq, err);
	if (!rc)
		rc = owner_tree_uids(l->owned, &uids, err);
	if (!rc)
		rc = buf_append(&uids, "", 1, err);
	if (!rc)
		sql_session_set(l->session, "uids", uids.ptr);
	buf_release(&uids);
	return rc;
}

static int choose_many(struct log *l, const struct operands *operands, struct err *err)
{
	int rc = 0;

	l->owned = owner_tree_new();
	for (size_t i = 1; i < operands->count && !rc; i++)
		rc = choose_one_of_many(l, operands, i, err);
	l->where = xstrdup(by_uids);
	if (!rc)
		rc = log_set_uids(l, err);
	if (!rc && l->options->with_owned && !l->options->json) {
		owner_tree_print(l->owned);
		putchar('\n');
	}
	return rc;
}

/* One object by RESOURCE NAME is two words as well. */
static int log_choose(struct log *l, const struct operands *operands, struct err *err)
{
	bool many = operands->count > 3 || (operands->count == 3 && strchr(operands->items[1], '/'));
	int rc;

	sql_session_set(l->session, "namespace", l->options->namespace);
	if (l->options->with_owned && operands->count == 3 && !many)
		return err_set(err, ERR_USAGE, "with --with-owned write '%s/%s'", operands->items[1],
			operands->items[2]);
	if (many || l->options->with_owned)
		return choose_many(l, operands, err);
	rc = object_name_choose(
		l->session, operands->items[0], operands->items + 1, operands->count - 1, &l->what, err);
	if (!rc)
		l->where = log_where(l, l->what.by_uid ? by_uid : by_name);
	return rc;
}

static void set_number(struct log *l, const char *name, long long number)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", number);
	sql_session_set(l->session, name, text);
}

static int find_bounds(struct log *l, struct err *err)
{
	struct tape_info info;
	const struct log_options *o = l->options;
	int rc;

	if (o->follow && strcmp(o->until, "end") != 0)
		return err_set(err, ERR_USAGE,
			"--follow goes on after the end of the tape; --until '%s' does not go with it",
			o->until);
	rc = tape_position_find(l->tape, o->from, &l->from, err);
	if (!rc)
		rc = tape_position_find(l->tape, o->until, &l->until, err);
	if (!rc && l->until.seq < l->from.seq)
		rc = err_set(err, ERR_USAGE, "nothing to tell: '%s' lies before '%s'", o->until, o->from);
	if (!rc)
		rc = tape_info(l->tape, &info, err);
	if (rc)
		return rc;
	set_number(l, "begin", info.first_seq ? (long long)info.first_seq - 1 : 0);
	set_number(l, "from", (long long)l->from.seq);
	set_number(l, "until", (long long)l->until.seq);
	set_number(l, "told_ns", INT64_MIN);
	set_number(l, "from_ns", (long long)l->from.time_ns);
	set_number(l, "until_ns", l->until.is_end ? INT64_MAX : (long long)l->until.time_ns);
	return 0;
}

/* ---- telling ---- */

/* A row for programs. */
static int on_json_begin(void *context, const char *const *names, size_t count, struct err *err)
{
	struct log *l = context;
	struct sql_sink to = table_out_sink(l->out);

	return to.begin(to.context, names, count, err);
}

static int on_json_row(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct log *l = context;
	struct sql_sink to = table_out_sink(l->out);

	if (v[LOG_TYPE].type == SQL_NULL)
		l->printer.told_ns = v[LOG_TIME_NS].integer;
	return to.row(to.context, v, count, err);
}

static int on_json_end(void *context, struct err *err)
{
	struct log *l = context;
	struct sql_sink to = table_out_sink(l->out);

	return to.end(to.context, err);
}

static int print(struct log *l, struct err *err)
{
	struct sql_sink sink = {.row = log_printer_row, .context = &l->printer};
	char *sql = xasprintf(sql_format, l->where, l->where, l->where);
	int rc;

	if (l->out)
		sink = (struct sql_sink){on_json_begin, on_json_row, on_json_end, l};
	rc = sql_progress_run(l->session, slice_of(sql), &sink, err);
	free(sql);
	return rc;
}

/* What was recorded since. */
static int print_more(void *context, bool is_last, struct err *err)
{
	struct log *l = context;
	struct tape_info info;
	int rc = tape_refresh(l->tape, err);

	(void)is_last;
	if (rc >= 0)
		rc = tape_info(l->tape, &info, err);
	if (rc)
		return rc;
	set_number(l, "from", (long long)l->until.seq);
	set_number(l, "told_ns", l->printer.told_ns);
	l->until.seq = info.last_seq;
	set_number(l, "until", (long long)l->until.seq);
	rc = log_set_uids(l, err);
	if (!rc)
		rc = print(l, err);
	return rc;
}

/* Whether an object had events there, the tape cannot know. */
static bool is_outside(const struct log *l)
{
	return l->from.place == POSITION_AFTER || l->until.place == POSITION_BEFORE;
}

struct beginning {
	bool is_there;
	char text[160];
};

static int on_beginning(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct beginning *b = context;

	(void)count, (void)err;
	b->is_there = v[0].type == SQL_INTEGER;
	if (b->is_there)
		snprintf(b->text, sizeof(b->text), "event %lld of %.*s", (long long)v[0].integer,
			(int)v[1].bytes.len, v[1].bytes.ptr);
	return 0;
}

/* The beginning of a part, and of a tape whose oldest segments are gone, has objects without an event. */
static int find_beginning(struct log *l, struct beginning *ret, struct err *err)
{
	const struct sql_sink sink = {.row = on_beginning, .context = ret};
	char *sql = xasprintf("SELECT max(seq), time FROM objects(:begin) WHERE %s", l->where);
	int rc = sql_session_run(l->session, slice_of(sql), &sink, err);

	free(sql);
	return rc;
}

/* Of a tape or a stretch of it that has no event of the object. */
static int say_nothing(struct log *l, struct err *err)
{
	struct beginning beginning = {0};
	int rc = find_beginning(l, &beginning, err);

	if (rc)
		return rc;
	if (beginning.is_there) {
		fprintf(stderr, "kubetape log: no event to show: the tape begins with '%s' as %s left it\n",
			l->what.text, beginning.text);
		return 0;
	}
	if (!l->owned && !l->what.by_uid)
		rc = say_of_resource(l, err);
	if (!rc && !is_outside(l) && !l->certainty.is_guess)
		return err_set(err, ERR_NOT_FOUND, "the tape has no event of '%s'%s", l->what.text,
			strcmp(l->options->from, "start") == 0 && l->until.is_end
				? ""
				: " between these positions");
	fputs("kubetape log: no event to show\n", stderr);
	return rc;
}

static int print_all(struct log *l, struct err *err)
{
	const struct log_options *o = l->options;
	int rc;

	l->printer = (struct log_printer){.text = {state_text_wants_color(o->color), o->full, false},
		.all_fields = o->all_fields,
		.local = o->local,
		.many = l->owned,
		.told_ns = INT64_MIN};
	l->out = o->json ? table_out_new(stdout, TABLE_NDJSON, 0) : NULL;
	sql_session_set(l->session, "all", o->all_fields ? "1" : "0");
	if (l->out)
		table_out_embed(l->out, state_text_values, false);
	rc = print(l, err);
	if (!rc && !l->out && l->printer.row_count == 0 && !o->follow)
		rc = say_nothing(l, err);
	return rc || !o->follow ? rc : follow_recording(l->tape, "log", print_more, l, err);
}

static int log_show(void *values, const struct operands *operands, struct err *err)
{
	struct log l = {.options = values};
	int rc = tape_open(operands->items[0], &l.tape, err);

	if (!rc)
		rc = sql_session_open(operands->items[0], &l.session, err);
	if (!rc)
		rc = certainty_open(&l.certainty, "log", l.tape, err);
	l.certainty.local = l.options->local;
	if (!rc)
		rc = find_bounds(&l, err);
	if (!rc)
		rc = log_choose(&l, operands, err);
	if (!rc)
		rc = print_all(&l, err);
	if (!rc)
		rc = say_what_is_not_known(&l, err);
	certainty_close(&l.certainty);
	table_out_free(l.out);
	owner_tree_free(l.owned);
	free(l.where);
	free(l.what.text);
	sql_session_close(l.session);
	tape_close(l.tape);
	return rc;
}

static int log_run(const struct command *self, int argc, char **argv)
{
	struct log_options o = {.namespace = "", .color = "auto", .from = "start", .until = "end"};

	return command_run(self, argc, argv, &o, log_show);
}

const struct command cmd_log = {
	.name = "log",
	.operands = "TAPE UID|RESOURCE[/NAME]... [NAME]",
	.expects = {"a tape and an object", 2, SIZE_MAX},
	.summary = "show the history of an object, or of several",
	.description =
		"Prints every event of the object with the fields that it changed, old and new, and who wrote\n"
		"them according to managedFields; and the times in which its resource was not watched. A unique\n"
		"beginning of a UID is enough. Several objects, each RESOURCE/NAME, are shown together in the\n"
		"order of time. --with-owned adds the objects that they own, by owner references at any time.\n"
		"\n" POSITION_HELP "\n"
		"  kubetape log X.tape deploy/web -n shop\n"
		"  kubetape log X.tape deploy/web -n shop --from 09:51:40 --until +30s\n"
		"  kubetape log X.tape deploy/web -n shop --with-owned",
	.options = rows,
	.exits =
		{
			[EXIT_LOSS] =
				"done, but the tape cannot know it: a position lies outside it, or it does not say when the resource "
				"was watched, or it was never listed",
		},
	.run = log_run,
};
