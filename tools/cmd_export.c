/*
 * cmd_export.c: `kubetape export`: a tape in forms that other programs read. Everything is SQL over the tape
 * (export_sql.h); the file appears under its name when it is whole.
 */
#include "schema/base/clock.h"
#include "schema/base/out_file.h"
#include "schema/base/visible.h"
#include "tools/cli/progress.h"
#include "tools/cli/sql_progress.h"
#include "tools/commands.h"
#include "tools/out/export_parquet.h"
#include "tools/out/export_picture.h"
#include "tools/out/export_sql.h"
#include "tools/out/table_out.h"

#include <stdlib.h>

#define LATE_UNSAID (-1)

#define EVERYTHING "1" /* as a predicate */

struct export_options {
	const char *format, *table, *where, *output, *run, *namespace, *from, *until;
	int64_t late_ns; /* LATE_UNSAID: not said */
};

static const struct option_row rows[] = {
	{OPTION_CHOICE, 0, "format", offsetof(struct export_options, format),
		"ndjson|csv|trace|parquet|html|svg", "the format (default: ndjson)"},
	{OPTION_CHOICE, 0, "table", offsetof(struct export_options, table),
		"events|streams|connections|gaps|missed|marks|documents|all", "the table (default: events)"},
	{OPTION_TEXT, 0, "where", offsetof(struct export_options, where), "SQL",
		"only events for which this holds, over the columns of events"},
	{OPTION_TEXT, 'n', "namespace", offsetof(struct export_options, namespace), "NS",
		"in html and svg, show only objects of this namespace"},
	{OPTION_TEXT, 0, "from", offsetof(struct export_options, from), "POSITION",
		"begin html and svg there"},
	{OPTION_TEXT, 0, "until", offsetof(struct export_options, until), "POSITION",
		"end html and svg there"},
	{OPTION_TEXT, 0, "run", offsetof(struct export_options, run), "FILE",
		"in a trace, mark what happened in this replay (--run of replay)"},
	{OPTION_DURATION, 0, "late", offsetof(struct export_options, late_ns), "DURATION",
		"with --run: mark deliveries that were this late (default: 1ms)"},
	{OPTION_TEXT, 'o', "output", offsetof(struct export_options, output), "FILE",
		"write to FILE; '-', which is the default, is stdout"},
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

static bool is_picture(const struct export_options *o)
{
	return strcmp(o->format, "html") == 0 || strcmp(o->format, "svg") == 0;
}

static bool is_parquet(const struct export_options *o)
{
	return strcmp(o->format, "parquet") == 0;
}

/* Runs a statement whose rows go to `to`. */
static int run_statement(
	struct sql_session *s, const char *sql, const struct sql_sink *sink, FILE *to, struct err *err)
{
	struct sql_progress progress;
	struct sql_sink watched = sql_progress_begin(&progress, s, "exporting ", to, sink);
	int rc = sql_session_run(s, slice_of(sql), &watched, err);

	sql_progress_end(&progress);
	return rc;
}

/* ---- tables ---- */

static const char *table_sql(const char *name)
{
	for (const struct export_table *t = export_tables; t->name; t++) {
		if (strcmp(t->name, name) == 0)
			return t->sql;
	}
	return NULL;
}

/* Puts the predicate where the statement has room for one. The caller frees. */
static char *export_fill(const char *sql, const char *where)
{
	const char *hole = strstr(sql, "%s");

	return hole ? xasprintf("%.*s%s%s", (int)(hole - sql), sql, where, hole + 2) : xstrdup(sql);
}

/* `tagged`: each row begins with the name of its table. */
static char *statement(const char *name, const char *where, bool tagged)
{
	char *sql = export_fill(table_sql(name), where);
	const char *hidden = strcmp(name, "events") == 0 ? "stream, flags, " : "";
	char *tagged_sql =
		tagged ? xasprintf("SELECT '%s' AS \"table\", %s%s", name, hidden, sql + strlen("SELECT "))
		       : xstrdup(sql);

	free(sql);
	return tagged_sql;
}

static int write_table(
	struct sql_session *s, const struct export_options *o, const char *name, FILE *to, struct err *err)
{
	static const char *const objects[] = {"object", NULL};
	enum table_format format = strcmp(o->format, "csv") == 0 ? TABLE_CSV : TABLE_NDJSON;
	struct table_out *out = table_out_new(to, format, 0);
	struct sql_sink sink = table_out_sink(out);
	char *sql = statement(name, o->where, strcmp(o->table, "all") == 0);
	int rc;

	if (!is_parquet(o)) /* there objects are texts, so that they stay as they are */
		table_out_embed(out, objects, true);
	rc = run_statement(s, sql, &sink, to, err);
	free(sql);
	table_out_free(out);
	return rc;
}

/* After the streams, which the rows name, and before everything else: a reader shall not take a part for the
 * whole. */
static int write_left_out(struct sql_session *s, const struct export_options *o, FILE *to, struct err *err)
{
	struct table_out *out = table_out_new(to, TABLE_NDJSON, 0);
	struct sql_sink sink = table_out_sink(out);
	char *sql = export_fill(export_left_out_sql, o->where);
	int rc;

	sql_session_set(s, "where", o->where);
	rc = run_statement(s, sql, &sink, to, err);
	free(sql);
	table_out_free(out);
	return rc;
}

static int write_tables(struct sql_session *s, const struct export_options *o, FILE *to, struct err *err)
{
	int rc = 0;

	if (strcmp(o->table, "all") != 0)
		return write_table(s, o, o->table, to, err);
	if (strcmp(o->format, "csv") == 0)
		return err_set(err, ERR_USAGE, "CSV holds one table: '--table all' needs '--format ndjson'");
	for (const struct export_table *t = export_tables; t->name && !rc; t++) {
		rc = write_table(s, o, t->name, to, err);
		if (!rc && t == export_tables && strcmp(o->where, EVERYTHING) != 0)
			rc = write_left_out(s, o, to, err);
	}
	return rc;
}

/* ---- the trace ---- */

struct trace {
	FILE *to;
	bool has_events;
};

static int trace_row(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	struct trace *t = context;

	(void)count;
	fputs(t->has_events ? ",\n" : "\n", t->to);
	visible_put_json(t->to, values[0].bytes);
	t->has_events = true;
	return out_stream_check(t->to, err);
}

/* Parameters :start and :end, so that times are small numbers which keep their nanoseconds. */
static int keep_bounds(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	static const char *const names[] = {"start", "end"};
	char number[32];

	(void)err;
	for (size_t i = 0; i < count; i++) {
		snprintf(number, sizeof(number), "%lld", (long long)values[i].integer);
		sql_session_set(context, names[i], number);
	}
	return 0;
}

static int write_trace(struct sql_session *s, const struct export_options *o, FILE *to, struct err *err)
{
	struct trace trace = {to, false};
	struct sql_sink sink = {.row = trace_row, .context = &trace},
			bounds = {.row = keep_bounds, .context = s};
	int rc = run_statement(s, export_bounds_sql, &bounds, to, err);

	fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", to);
	for (const char *const *format = export_trace_sql; *format && !rc; format++) {
		char *sql = export_fill(*format, o->where);

		rc = run_statement(s, sql, &sink, to, err);
		free(sql);
	}
	for (const char *const *sql = export_run_sql; o->run && *sql && !rc; sql++)
		rc = run_statement(s, *sql, &sink, to, err);
	fputs("\n]}\n", to);
	return rc;
}

/* ---- the file ---- */

static int write_to(struct sql_session *s, const struct export_options *o, FILE *to, struct err *err)
{
	int rc = strcmp(o->format, "trace") == 0 ? write_trace(s, o, to, err) : write_tables(s, o, to, err);

	return rc ? rc : out_stream_flush(to, err);
}

/* DuckDB reads lines of JSON from a file that nobody else sees. */
static int write_parquet(
	struct sql_session *s, const struct export_options *o, const struct out_file *out, struct err *err)
{
	FILE *lines;
	int rc = out_file_temporary(out, &lines, err);

	if (rc)
		return rc;
	rc = write_to(s, o, lines, err);
	if (!rc)
		rc = export_parquet(lines, out, err);
	fclose(lines);
	return rc;
}

static int write_picture(const struct export_options *o, const char *tape, FILE *to, struct err *err)
{
	const struct export_picture picture = {.tape = tape,
		.namespace = o->namespace,
		.from = o->from,
		.until = o->until,
		.where = strcmp(o->where, EVERYTHING) == 0 ? NULL : o->where};

	return strcmp(o->format, "svg") == 0 ? export_svg(&picture, to, err) : export_html(&picture, to, err);
}

static int write_file(
	struct sql_session *s, const char *tape, const struct export_options *o, struct err *err)
{
	struct out_file *out;
	int rc = out_file_open(o->output ? o->output : "-", &out, err);

	if (rc)
		return rc;
	progress_catch_signals();
	if (is_picture(o))
		rc = write_picture(o, tape, out_file_stream(out), err);
	else
		rc = is_parquet(o) ? write_parquet(s, o, out, err)
				   : write_to(s, o, out_file_stream(out), err);
	if (!rc)
		return out_file_close(out, err);
	out_file_abandon(out);
	return rc;
}

static int export_check(const struct export_options *o, struct err *err)
{
	if (o->run && strcmp(o->format, "trace") != 0)
		return err_set(
			err, ERR_USAGE, "'--run' marks what happened in a trace: it needs '--format trace'");
	if (is_parquet(o) && (!o->output || strcmp(o->table, "events") != 0))
		return err_set(
			err, ERR_USAGE, "Parquet is written of table events, and needs '--output FILE'");
	if (is_picture(o) && strcmp(o->table, "events") != 0)
		return err_set(err, ERR_USAGE,
			"'--table' picks what is written as rows: a picture shows all of them");
	if (!is_picture(o) && (o->namespace || o->from || o->until))
		return err_set(err, ERR_USAGE,
			"'-n', '--from' and '--until' need '--format html' or 'svg'; for others '--where' does it");
	if (o->late_ns != LATE_UNSAID && !o->run)
		return err_set(err, ERR_USAGE, "'--late' marks deliveries of a run: it needs '--run'");
	return is_parquet(o) ? export_parquet_check(err) : 0;
}

static int add_run(struct sql_session *s, const struct export_options *o, struct err *err)
{
	char number[32];

	snprintf(number, sizeof(number), "%lld",
		(long long)(o->late_ns == LATE_UNSAID ? NS_PER_MS : o->late_ns));
	sql_session_set(s, "late", number);
	return sql_session_add_run(s, o->run, err);
}

static int export(void *values, const struct operands *operands, struct err *err)
{
	const struct export_options *o = values;
	struct sql_session *s;
	int rc;

	if ((rc = export_check(o, err)) || (rc = sql_session_open(operands->items[0], &s, err)))
		return rc;
	rc = o->run ? add_run(s, o, err) : 0;
	if (!rc)
		rc = write_file(s, operands->items[0], o, err);
	sql_session_close(s);
	return rc;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct export_options o = {
		.format = "ndjson", .table = "events", .where = EVERYTHING, .late_ns = LATE_UNSAID};

	return command_run(self, argc, argv, &o, export);
}

const struct command cmd_export = {
	.name = "export",
	.operands = "TAPE",
	.expects = {"one tape", 1, 1},
	.summary = "write a tape as NDJSON, CSV, Parquet, a timeline, or a page to hand over",
	.description =
		"ndjson is one JSON object a line with the object of the event in it. With --table all every line\n"
		"names its table, and `kubetape import` makes a tape of it again; with --where it also says what\n"
		"was left out of each stream, and so does that tape. trace is the JSON that\n"
		"ui.perfetto.dev and chrome://tracing show: a track for each object with its phases, one for\n"
		"each stream's connections, one for its gaps; with --run the writes, faults and late deliveries of\n"
		"a replay as marks. parquet needs DuckDB's library (libduckdb.so). html is the page of\n"
		"`kubetape view` in one file with its data, which opens from disk without a server; svg is its\n"
		"timeline as a drawing.\n"
		"\n"
		"  kubetape export X.tape --format trace --where \"namespace='shop'\" -o shop.json\n"
		"  kubetape export X.tape --format html --from 9:51 --until 9:53 -n shop -o incident.html",
	.options = rows,
	.run = run,
};
