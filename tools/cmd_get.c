/*
 * cmd_get.c: `kubetape get`: the objects at a point of the tape, as kubectl get shows those of a cluster.
 *
 * Every output is one SQL statement for each resource over objects(:seq). Its first columns are the labels,
 * which the selector looks at, the name, and the object if rows are to be sorted; the row goes on without them.
 */
#include "replayer/request/label_selector.h"
#include "schema/base/limits.h"
#include "schema/base/visible.h"
#include "tools/cli/follow.h"
#include "tools/cli/position_help.h"
#include "tools/cli/sql_progress.h"
#include "tools/cli/tape_names.h"
#include "tools/commands.h"
#include "tools/events/gap_notices.h"
#include "tools/get/get_output.h"
#include "tools/get/json_path.h"
#include "tools/get/sorted_rows.h"
#include "tools/out/certainty.h"
#include "tools/out/get_table.h"
#include "tools/out/table_out.h"

#include <stdlib.h>

struct get_options {
	bool all_namespaces; /* as it is without, for those who are used to writing it */
	bool show_labels, managed, watch;
	const char *namespace, *at, *output, *selector, *sort_by;
};

static const struct option_row rows[] = {
	{OPTION_TEXT, 'n', "namespace", offsetof(struct get_options, namespace), "NS",
		"only objects of this namespace"},
	{OPTION_FLAG, 'A', "all-namespaces", offsetof(struct get_options, all_namespaces), NULL,
		"objects of all namespaces, which is the default"},
	{OPTION_TEXT, 0, "at", offsetof(struct get_options, at), "POSITION",
		"the position to show (default: the end)"},
	{OPTION_FLAG, 'w', "watch", offsetof(struct get_options, watch), NULL,
		"also print a row for each change after it, while the tape is being recorded"},
	{OPTION_TEXT, 'l', "selector", offsetof(struct get_options, selector), "SELECTOR",
		"only objects with these labels"},
	{OPTION_TEXT, 'o', "output", offsetof(struct get_options, output), GET_OUTPUT_WORDS,
		"the format, as in kubectl (default: table)"},
	{OPTION_FLAG, 0, "show-labels", offsetof(struct get_options, show_labels), NULL,
		"add the labels as the last column of a table"},
	{OPTION_FLAG, 0, "show-managed-fields", offsetof(struct get_options, managed), NULL,
		"include metadata.managedFields in yaml and json"},
	{OPTION_TEXT, 0, "sort-by", offsetof(struct get_options, sort_by), "PATH",
		"sort by a value: .metadata.creationTimestamp"},
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

struct get {
	const struct get_options *options;
	struct tape *tape;
	struct tape *grown; /* the same, as it grows while it is watched */
	bool is_watching;   /* what stood at the position was printed */
	uint64_t seen_seq;  /* and what came up to this event */
	struct sql_session *session;
	struct label_selector *selector;
	struct tape_names resources;
	const struct tape_resource *resource; /* of the statement that runs */
	const char *const *names;             /* asked for, name_count of them; 0: any */
	bool *found;                          /* of each of them, in this resource */
	size_t name_count, printed_count;
	struct get_output *output; /* of whole objects; NULL for the other forms */
	struct json_path *sort_by; /* NULL: in the order of names */
	bool sort_key_found;
	bool has_rows;      /* this resource has some */
	bool one_object;    /* a single one is asked for, so that no list goes around it */
	bool many;          /* several resources are asked for, so that names tell which */
	struct buf missing; /* what was asked for by name and is not there, as kubectl says it */
	struct certainty certainty;
	uint32_t *noted; /* resources of which was said what is not known */
	size_t noted_count;
	struct tape_position position;
};

static bool is_output(const struct get *g, const char *word)
{
	return strcmp(g->options->output, word) == 0;
}

static bool is_table(const struct get *g)
{
	return is_output(g, "table") || is_output(g, "wide");
}

/* ---- rows ---- */

#define ROW_LEADING 3 /* columns before a row that goes on */

/* A sink that drops rows the selector does not want, and the labels of the others, and sorts them if asked to. */
struct selecting {
	struct get *get;
	struct sql_sink to;
	struct sorted_rows sorted;
};

static int select_begin(void *context, const char *const *names, size_t count, struct err *err)
{
	struct selecting *s = context;

	return s->to.begin ? s->to.begin(s->to.context, names + ROW_LEADING, count - ROW_LEADING, err) : 0;
}

static int select_row(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	struct selecting *s = context;

	if (!label_selector_matches(s->get->selector, values[0].bytes))
		return 0;
	if (!s->get->has_rows && s->get->printed_count && is_table(s->get))
		putchar('\n');
	s->get->has_rows = true;
	s->get->printed_count++;
	for (size_t i = 0; i < s->get->name_count; i++)
		s->get->found[i] |= slice_is(values[1].bytes, s->get->names[i]);
	if (s->get->sort_by)
		return sorted_rows_add(
			&s->sorted, values[2].bytes, values + ROW_LEADING, count - ROW_LEADING, err);
	return s->to.row(s->to.context, values + ROW_LEADING, count - ROW_LEADING, err);
}

static int select_end(void *context, struct err *err)
{
	struct selecting *s = context;
	int rc = sorted_rows_give(&s->sorted, &s->to, err);

	s->get->sort_key_found |= s->sorted.key_found;
	return !rc && s->to.end ? s->to.end(s->to.context, err) : rc;
}

static int print_name(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	const struct get *g = context;
	char *prefix = get_table_name_prefix(g->resource);

	(void)count, (void)err;
	visible_puts(stdout, prefix);
	visible_put(stdout, values[0].bytes);
	putchar('\n');
	free(prefix);
	return 0;
}

static int print_object(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	const struct get *g = context;

	(void)count;
	return get_output_add(g->output, values[0].bytes, err);
}

/* ---- statements ---- */

/* Of what has no namespace all is shown, as by kubectl. NULL: of any. */
static const char *namespace_in(const struct get *g, const struct tape_resource *r)
{
	return r->namespaced ? g->options->namespace : NULL;
}

/* The API server's table shows FlowSchemas in the order in which they are tried; its lists of objects are in that of
 * names, and so are other tables. */
static bool is_ranked(const struct get *g)
{
	return is_table(g) && !g->name_count && strcmp(g->resource->resource, "flowschemas") == 0 &&
	       strcmp(g->resource->apigroup, "flowcontrol.apiserver.k8s.io") == 0;
}

/* Names come as parameters: what is typed never becomes SQL. */
static int append_conditions(const struct get *g, struct buf *sql, struct err *err)
{
	int rc = buf_printf(sql, err,
		" FROM %s AND apigroup = :apigroup AND version = :version AND resource = :resource%s",
		g->is_watching ? "events WHERE seq > :seen AND seq <= :seq AND origin <> 'list'"
			       : "objects(:seq) WHERE true",
		namespace_in(g, g->resource) ? " AND namespace = :namespace" : "");

	for (size_t i = 0; i < g->name_count && !rc; i++)
		rc = buf_printf(sql, err, "%s:name%zu", i ? ", " : " AND name IN (", i);
	if (!rc && g->name_count)
		rc = buf_append(sql, ")", 1, err);
	if (!rc && g->is_watching)
		return buf_printf(sql, err, " ORDER BY seq");
	return rc || !is_ranked(g)
		       ? rc
		       : buf_printf(sql, err,
				 " ORDER BY coalesce(jget(object, '$.spec.matchingPrecedence'), 0), name");
}

static const char *columns_of(const struct get *g)
{
	if (is_output(g, "name"))
		return "name";
	if (g->is_watching)
		return "namespace, object, time_ns";
	return g->output ? "object" : "namespace, object";
}

static void set_number(struct get *g, const char *name, uint64_t value)
{
	char number[32];

	snprintf(number, sizeof(number), "%llu", (unsigned long long)value);
	sql_session_set(g->session, name, number);
}

static void set_parameters(struct get *g)
{
	char number[32];

	set_number(g, "seq", g->position.seq);
	if (g->options->namespace)
		sql_session_set(g->session, "namespace", g->options->namespace);
	for (size_t i = 0; i < g->name_count; i++) {
		snprintf(number, sizeof(number), "name%zu", i);
		sql_session_set(g->session, number, g->names[i]);
	}
}

static int run_into(struct get *g, const struct sql_sink *to, struct err *err)
{
	struct selecting selecting = {.get = g, .to = *to, .sorted = {.by = g->sort_by}};
	struct sql_sink sink = {select_begin, select_row, select_end, &selecting};
	struct buf sql;
	int rc;

	sql_session_set(g->session, "apigroup", g->resource->apigroup);
	sql_session_set(g->session, "version", g->resource->version);
	sql_session_set(g->session, "resource", g->resource->resource);
	buf_init(&sql, LIMIT_CONFIG_BYTES);
	rc = buf_printf(&sql, err, "SELECT %s, name, %s, %s",
		g->selector ? "jget(object, '$.metadata.labels')" : "NULL", g->sort_by ? "object" : "NULL",
		columns_of(g));
	if (!rc)
		rc = append_conditions(g, &sql, err);
	if (!rc)
		rc = sql_progress_run(g->session, buf_slice(&sql), &sink, err);
	buf_release(&sql);
	sorted_rows_release(&selecting.sorted);
	return rc;
}

/* ---- watching ---- */

struct watching {
	struct get *get;
	struct sql_sink to;
	struct table_out *out; /* NULL: names are printed */
	struct gap_notices notices;
};

static int print_changes(void *context, bool is_last, struct err *err)
{
	struct watching *w = context;
	struct get *g = w->get;
	struct tape_info info;
	int rc = tape_refresh(g->grown, err);

	if (rc >= 0)
		rc = tape_info(g->grown, &info, err);
	if (!rc)
		rc = gap_notices_tell(&w->notices, g->grown, is_last, err);
	if (rc || info.last_seq <= g->seen_seq)
		return rc;
	set_number(g, "seen", g->seen_seq);
	set_number(g, "seq", info.last_seq);
	g->seen_seq = info.last_seq;
	rc = run_into(g, &w->to, err);
	if (w->out)
		table_out_settle(w->out);
	return rc;
}

/* Every change up to the end of the tape, and on while it is recorded. `to` has had the state. */
static int watch(struct get *g, const struct sql_sink *to, struct table_out *out, struct err *err)
{
	struct watching w = {.get = g, .to = *to, .out = out};
	const char *namespace = namespace_in(g, g->resource);
	int rc = gap_notices_open(&w.notices, "get", g->grown, g->resource, namespace ? namespace : "",
		g->position.time_ns, err);

	g->is_watching = true;
	g->seen_seq = g->position.seq;
	if (out)
		table_out_settle(out);
	if (!rc)
		rc = print_changes(&w, false, err);
	if (!rc)
		rc = follow_recording(g->grown, "get", print_changes, &w, err);
	gap_notices_close(&w.notices);
	return rc;
}

/* ---- tables ---- */

static int keep_object(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	struct buf *to = context;

	(void)count;
	return buf_append(to, values[0].bytes.ptr, values[0].bytes.len, err);
}

/* The CRD of a custom resource, whose columns are in it; nothing when it was not recorded. */
static int find_crd(struct get *g, struct buf *to, struct err *err)
{
	static const char sql[] =
		"SELECT object FROM objects(:seq) WHERE apigroup = 'apiextensions.k8s.io' AND "
		"resource = 'customresourcedefinitions' AND name = :crd";
	struct sql_sink sink = {.row = keep_object, .context = to};
	char *name = xasprintf("%s.%s", g->resource->resource, g->resource->apigroup);
	int rc;

	sql_session_set(g->session, "crd", name);
	rc = sql_progress_run(g->session, slice_of(sql), &sink, err);
	free(name);
	return rc;
}

/* The sink's end comes once, after what is watched. */
static int print_rows(struct get *g, struct sql_sink sink, struct table_out *out, struct err *err)
{
	const struct sql_sink part = {.row = sink.row, .context = sink.context};
	int rc = run_into(g, g->options->watch ? &part : &sink, err);

	if (rc || !g->options->watch)
		return rc;
	rc = watch(g, &part, out, err);
	return rc || !sink.end ? rc : sink.end(sink.context, err);
}

static int print_table(struct get *g, struct err *err)
{
	struct table_out *out = table_out_new(stdout, TABLE_TEXT, table_out_terminal_width(stdout));
	struct sql_sink sink = table_out_sink(out);
	struct get_table *table = NULL;
	struct buf crd;
	int rc;

	buf_init(&crd, LIMIT_OBJECT_BYTES);
	rc = find_crd(g, &crd, err);
	if (!rc) {
		table = get_table_new(
			&(struct get_table_options){.resource = g->resource,
				.crd = buf_slice(&crd),
				.with_namespace = g->resource->namespaced && !g->options->namespace,
				.with_resource = g->many,
				.wide = is_output(g, "wide"),
				.with_labels = g->options->show_labels,
				.now_ns = g->position.time_ns},
			&sink);
		rc = print_rows(g, get_table_sink(table), out, err);
	}
	get_table_free(table);
	table_out_free(out);
	buf_release(&crd);
	return rc;
}

static int print_resource(struct get *g, struct err *err)
{
	struct sql_sink sink = {.row = g->output ? print_object : print_name, .context = g};

	return is_table(g) ? print_table(g, err) : print_rows(g, sink, NULL, err);
}

/* Says which of the names this resource did not have. */
static int note_missing(struct get *g, struct err *err)
{
	const struct tape_resource *r = g->resource;
	int rc = 0;

	for (size_t i = 0; i < g->name_count && !rc; i++) {
		if (!g->found[i])
			rc = buf_printf(&g->missing, err, "%s%s%s%s \"%s\"", g->missing.len ? ", " : "",
				r->resource, *r->apigroup ? "." : "", r->apigroup, g->names[i]);
	}
	return rc;
}

/* ---- what is asked for ---- */

/* Each once, however often it is named. */
static void keep_resource(struct get *g)
{
	for (size_t i = 0; i < g->noted_count; i++) {
		if (g->noted[i] == g->resource->id)
			return;
	}
	g->noted = xrealloc(g->noted, (g->noted_count + 1) * sizeof(*g->noted));
	g->noted[g->noted_count++] = g->resource->id;
}

static void say_what_is_not_known(struct get *g)
{
	struct certainty *c = &g->certainty;

	certainty_of_position(c, &g->position, g->options->at);
	for (size_t i = 0; i < g->noted_count; i++) {
		const struct tape_resource *r = tape_resource_by_id(g->tape, g->noted[i]);
		const char *namespace = namespace_in(g, r) ? namespace_in(g, r) : "";

		certainty_of_resource(c, r, namespace, &g->position, 1);
		certainty_of_parts(c, r, namespace);
	}
	certainty_end(c);
}

static int print_names(
	struct get *g, const char *resources, const char *const *names, size_t count, struct err *err)
{
	int rc = tape_names_choose(g->tape, resources, &g->resources, err);

	if (!rc)
		tape_names_tell_versions(g->tape, &g->resources, resources);
	g->names = names;
	g->name_count = count;
	g->many |= g->resources.count > 1;
	g->one_object = g->one_object && count == 1 && g->resources.count == 1;
	g->found = xcalloc(count + 1, sizeof(*g->found));
	set_parameters(g);
	for (size_t i = 0; i < g->resources.count && !rc; i++) {
		g->has_rows = false;
		memset(g->found, 0, count * sizeof(*g->found));
		g->resource = g->resources.items[i];
		rc = print_resource(g, err);
		if (!rc)
			rc = note_missing(g, err);
		keep_resource(g);
	}
	free(g->found);
	tape_names_release(&g->resources);
	return rc;
}

/* RESOURCE/NAME, of which there may be several. */
static int print_named(struct get *g, const char *operand, struct err *err)
{
	const char *slash = strchr(operand, '/'), *name = slash ? slash + 1 : NULL;
	char *resource;
	int rc;

	if (!name || !*name || strchr(name, '/'))
		return err_set(err, ERR_USAGE, "expected RESOURCE/NAME beside another, found '%s'", operand);
	resource = slice_dup((struct slice){operand, (size_t)(slash - operand)});
	rc = print_names(g, resource, &name, 1, err);
	free(resource);
	return rc;
}

/* kubectl's words, where it is known that there was nothing. */
static void say_nothing_found(const struct get *g)
{
	if (g->certainty.is_guess)
		return;
	if (g->resource && namespace_in(g, g->resource))
		fprintf(stderr, "No resources found in %s namespace.\n", g->options->namespace);
	else
		fputs("No resources found\n", stderr);
}

static int get_check(const struct get_options *o, const struct operands *operands, struct err *err)
{
	const char *what = operands->items[1];
	bool many = strchr(what, ',') || (strchr(what, '/') && operands->count > 2);

	if (!o->watch)
		return 0;
	if (strcmp(o->output, "table") && strcmp(o->output, "wide") && strcmp(o->output, "name"))
		return err_set(err, ERR_USAGE,
			"'--watch' prints rows, with -o wide or -o name; 'kubetape events -f -o json' prints objects' changes as JSON");
	if (*o->sort_by)
		return err_set(err, ERR_USAGE,
			"'--watch' prints rows as they come; '--sort-by' does not go with it");
	return many ? err_set(err, ERR_USAGE, "'--watch' takes one resource, found '%s'%s", what,
			      strchr(what, ',') ? "" : " and more")
		    : 0;
}

/* "pods web-0 web-1" and "pod/web-0 pod/web-1" mean the same thing. */
static int print_all(struct get *g, const struct operands *operands, struct err *err)
{
	bool named = strchr(operands->items[1], '/');
	int rc = 0;

	g->many = named && operands->count > 2;
	g->one_object = operands->count == (named ? 2 : 3);
	if (!named)
		rc = print_names(g, operands->items[1], (const char *const *)operands->items + 2,
			operands->count - 2, err);
	for (size_t i = 1; named && i < operands->count && !rc; i++)
		rc = print_named(g, operands->items[i], err);
	if (!rc && g->output)
		rc = get_output_print(g->output, g->one_object, err);
	if (!rc && g->sort_by && g->printed_count && !g->sort_key_found)
		rc = err_set(
			err, ERR_FAILED, "no object has a value at '%s' to sort by", g->options->sort_by);
	if (!rc)
		say_what_is_not_known(g);
	if (!rc && g->missing.len)
		return err_set(err, ERR_NOT_FOUND, "%.*s not found", (int)g->missing.len, g->missing.ptr);
	if (!rc && g->printed_count == 0 && is_table(g))
		say_nothing_found(g);
	return rc;
}

/* ---- the command ---- */

static int get(void *values, const struct operands *operands, struct err *err)
{
	const struct get_options *o = values;
	struct get g = {.options = o};
	int rc = get_check(o, operands, err);

	if (!rc)
		rc = tape_open(operands->items[0], &g.tape, err);
	if (!rc && o->watch)
		rc = tape_open(operands->items[0], &g.grown, err);
	buf_init(&g.missing, LIMIT_DOCUMENT_BYTES);
	if (!rc && label_selector_parse(slice_of(o->selector), &g.selector, err))
		rc = err_prefix(err, ERR_USAGE, "bad selector '%s'", o->selector);
	if (!rc)
		rc = get_output_new(o->output, o->managed, &g.output, err);
	if (!rc && *o->sort_by)
		rc = json_path_parse_relaxed(slice_of(o->sort_by), &g.sort_by, err);
	if (!rc)
		rc = tape_position_find(g.tape, o->at, &g.position, err);
	if (!rc)
		rc = certainty_open(&g.certainty, "get", g.tape, err);
	if (!rc)
		rc = sql_session_open(operands->items[0], &g.session, err);
	if (!rc)
		rc = print_all(&g, operands, err);
	if (!rc && g.certainty.is_guess)
		rc = EXIT_LOSS;
	certainty_close(&g.certainty);
	get_output_free(g.output);
	json_path_free(g.sort_by);
	free(g.noted);
	buf_release(&g.missing);
	label_selector_free(g.selector);
	sql_session_close(g.session);
	tape_close(g.grown);
	tape_close(g.tape);
	return rc;
}

static int get_run(const struct command *self, int argc, char **argv)
{
	struct get_options o = {.at = "end", .output = "table", .selector = "", .sort_by = ""};

	return command_run(self, argc, argv, &o, get);
}

const struct command cmd_get = {
	.name = "get",
	.operands = "TAPE RESOURCE[/NAME]... [NAME]...",
	.expects = {"a tape and a resource", 2, SIZE_MAX},
	.summary = "show the objects at a position of a tape",
	.description =
		"Prints what `kubectl get` would have shown at that time, with the same columns. RESOURCE is a\n"
		"name as kubectl takes it: pods, po, deployments.apps, several separated by commas. -o takes\n"
		"jsonpath and custom-columns as kubectl does; json and yaml leave out managedFields unless you\n"
		"say --show-managed-fields.\n"
		"\n" POSITION_HELP "\n"
		"  kubetape get X.tape pods -n shop --at 12:03:05\n"
		"  kubetape get X.tape pods -n shop -w --at -5m\n"
		"  kubetape get X.tape deploy/web -o yaml --at -5m\n"
		"  kubetape get X.tape pods -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName",
	.options = rows,
	.exits =
		{
			[EXIT_LOSS] =
				"done, but the tape cannot know it: the position lies outside it, or what is shown "
				"was not watched there",
		},
	.run = get_run,
};
