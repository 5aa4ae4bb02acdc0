/*
 * cmd_get.c: `kubetape get`: the objects at a point of the tape, as kubectl get shows those of a cluster.
 *
 * Every output is one SQL statement for each resource over objects(:seq). Its first column is the labels,
 * which the selector looks at before the row goes on without them.
 */
#include "replayer/api/label_selector.h"
#include "schema/base/limits.h"
#include "schema/tape/position.h"
#include "tools/commands.h"
#include "tools/get_table.h"
#include "tools/table_out.h"
#include "tools/tape_names.h"
#include "tools/yaml_out.h"

#include <stdlib.h>

struct get_options {
	bool all_namespaces; /* as it is without, for those who are used to writing it */
	const char *namespace, *at, *output, *selector;
};

static const struct option_row rows[] = {
	{OPTION_TEXT, 'n', "namespace", offsetof(struct get_options, namespace), "NS",
		"only objects of this namespace"},
	{OPTION_FLAG, 'A', "all-namespaces", offsetof(struct get_options, all_namespaces), NULL,
		"objects of all namespaces, which is the default"},
	{OPTION_TEXT, 0, "at", offsetof(struct get_options, at), "POSITION",
		"a time, -5m, 12:03:05, a seq, pods@RV (default: the end)"},
	{OPTION_TEXT, 'l', "selector", offsetof(struct get_options, selector), "SELECTOR",
		"only objects with these labels"},
	{OPTION_CHOICE, 'o', "output", offsetof(struct get_options, output), "table|wide|name|yaml|json",
		"how to print them (default: table)"},
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

struct get {
	const struct get_options *options;
	struct tape *tape;
	struct sql_session *session;
	struct label_selector *selector;
	struct tape_names resources;
	const struct tape_resource *resource; /* of the statement that runs */
	const char *only_name;                /* of RESOURCE/NAME */
	const char *const *names;             /* asked for, name_count of them; 0: any */
	size_t name_count, printed_count;
	uint64_t seq;
	int64_t now_ns;
};

static bool is_output(const struct get *g, const char *word)
{
	return strcmp(g->options->output, word) == 0;
}

/* ---- rows ---- */

/* A sink that drops rows the selector does not want, and the labels of the others. */
struct selecting {
	struct get *get;
	struct sql_sink to;
};

static int select_begin(void *context, const char *const *names, size_t count, struct err *err)
{
	struct selecting *s = context;

	return s->to.begin(s->to.context, names + 1, count - 1, err);
}

static int select_row(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	struct selecting *s = context;

	if (!label_selector_matches(s->get->selector, values[0].bytes))
		return 0;
	s->get->printed_count++;
	return s->to.row(s->to.context, values + 1, count - 1, err);
}

static int select_end(void *context, struct err *err)
{
	struct selecting *s = context;

	return s->to.end(s->to.context, err);
}

static int ignore_begin(void *context, const char *const *names, size_t count, struct err *err)
{
	(void)context, (void)names, (void)count, (void)err;
	return 0;
}

static int ignore_end(void *context, struct err *err)
{
	(void)context, (void)err;
	return 0;
}

static int print_name(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	const struct get *g = context;

	(void)count, (void)err;
	printf("%s%s%s/", g->resource->resource, *g->resource->apigroup ? "." : "", g->resource->apigroup);
	table_out_visible(stdout, values[0].bytes);
	putchar('\n');
	return 0;
}

static int print_json(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	const struct get *g = context;

	(void)count, (void)err;
	printf("%s\n%.*s", g->printed_count > 1 ? "," : "", (int)values[0].bytes.len, values[0].bytes.ptr);
	return 0;
}

static int print_yaml(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	const struct get *g = context;

	(void)count;
	if (g->printed_count > 1)
		puts("---");
	return yaml_out(stdout, values[0].bytes, 0, err);
}

/* ---- statements ---- */

/* Names come as parameters: what is typed never becomes SQL. */
static int append_conditions(const struct get *g, struct buf *sql, struct err *err)
{
	int code = buf_printf(sql, err,
		" FROM objects(:seq) WHERE apigroup = :apigroup AND version = :version AND resource = "
		":resource%s",
		g->options->namespace ? " AND namespace = :namespace" : "");

	for (size_t i = 0; i < g->name_count && !code; i++)
		code = buf_printf(sql, err, "%s:name%zu", i ? ", " : " AND name IN (", i);
	if (!code && g->name_count)
		code = buf_append(sql, ")", 1, err);
	return code;
}

static const char *columns_of(const struct get *g)
{
	if (is_output(g, "name"))
		return "name";
	return is_output(g, "json") || is_output(g, "yaml") ? "object" : "namespace, object";
}

static void set_parameters(struct get *g)
{
	char number[32];

	snprintf(number, sizeof(number), "%llu", (unsigned long long)g->seq);
	sql_session_set(g->session, "seq", number);
	if (g->options->namespace)
		sql_session_set(g->session, "namespace", g->options->namespace);
	for (size_t i = 0; i < g->name_count; i++) {
		snprintf(number, sizeof(number), "name%zu", i);
		sql_session_set(g->session, number, g->names[i]);
	}
}

static int run_into(struct get *g, const struct sql_sink *to, struct err *err)
{
	struct selecting selecting = {g, *to};
	struct sql_sink sink = {select_begin, select_row, select_end, &selecting};
	struct buf sql;
	int code;

	sql_session_set(g->session, "apigroup", g->resource->apigroup);
	sql_session_set(g->session, "version", g->resource->version);
	sql_session_set(g->session, "resource", g->resource->resource);
	buf_init(&sql, LIMIT_CONFIG_BYTES);
	code = buf_printf(&sql, err, "SELECT %s, %s",
		g->selector ? "jget(object, '$.metadata.labels')" : "NULL", columns_of(g));
	if (!code)
		code = append_conditions(g, &sql, err);
	if (!code)
		code = sql_session_run(g->session, buf_slice(&sql), &sink, err);
	buf_release(&sql);
	return code;
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
	struct sql_sink sink = {ignore_begin, keep_object, ignore_end, to};
	char *name = xasprintf("%s.%s", g->resource->resource, g->resource->apigroup);
	int code;

	sql_session_set(g->session, "crd", name);
	code = sql_session_run(g->session, slice_of(sql), &sink, err);
	free(name);
	return code;
}

static int print_table(struct get *g, struct err *err)
{
	struct table_out *out = table_out_new(stdout, TABLE_TEXT, table_out_terminal_width(stdout));
	struct sql_sink sink = table_out_sink(out);
	struct get_table *table = NULL;
	struct buf crd;
	int code;

	buf_init(&crd, LIMIT_OBJECT_BYTES);
	code = find_crd(g, &crd, err);
	if (!code) {
		table = get_table_new(
			&(struct get_table_options){.resource = g->resource,
				.crd = buf_slice(&crd),
				.with_namespace = g->resource->namespaced && !g->options->namespace,
				.wide = is_output(g, "wide"),
				.now_ns = g->now_ns},
			&sink);
		sink = get_table_sink(table);
		code = run_into(g, &sink, err);
	}
	get_table_free(table);
	table_out_free(out);
	buf_release(&crd);
	return code;
}

static int print_resource(struct get *g, bool is_first, struct err *err)
{
	struct sql_sink sink = {ignore_begin, print_json, ignore_end, g};

	if (is_output(g, "json"))
		return run_into(g, &sink, err);
	sink.row = is_output(g, "yaml") ? print_yaml : print_name;
	if (is_output(g, "yaml") || is_output(g, "name"))
		return run_into(g, &sink, err);
	if (!is_first)
		putchar('\n');
	return print_table(g, err);
}

static int print_all(struct get *g, struct err *err)
{
	int code = 0;

	set_parameters(g);
	if (is_output(g, "json"))
		fputs("{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{},\"items\":[", stdout);
	for (size_t i = 0; i < g->resources.count && !code; i++) {
		g->resource = g->resources.items[i];
		code = print_resource(g, i == 0, err);
	}
	if (is_output(g, "json"))
		puts("]}");
	if (!code && g->name_count && g->printed_count == 0)
		code = err_set(err, ERR_NOT_FOUND, "there was no such object then: '%s'", g->names[0]);
	return code;
}

/* ---- the command ---- */

/* "pods web-0 web-1" and "pod/web-0" mean the same thing. */
static int choose(struct get *g, const struct operands *operands, struct err *err)
{
	char *what = xstrdup(operands->items[1]), *slash = strchr(what, '/');
	int code;

	if (slash) {
		*slash = 0;
		g->only_name = operands->items[1] + (slash - what) + 1;
		g->names = &g->only_name;
		g->name_count = 1;
	} else {
		g->names = (const char *const *)operands->items + 2;
		g->name_count = operands->count - 2;
	}
	code = tape_names_choose(g->tape, what, &g->resources, err);
	free(what);
	return code;
}

static int get(const struct get_options *o, const struct operands *operands, struct err *err)
{
	struct get g = {.options = o};
	int code = tape_open(operands->items[0], &g.tape, err);

	if (!code && label_selector_parse(slice_of(o->selector), &g.selector, err))
		code = err_set(err, ERR_USAGE, "bad selector '%s'", o->selector);
	if (!code)
		code = tape_position_parse_time(g.tape, o->at, &g.seq, &g.now_ns, err);
	if (!code)
		code = choose(&g, operands, err);
	if (!code)
		code = sql_session_open(operands->items[0], &g.session, err);
	if (!code)
		code = print_all(&g, err);
	tape_names_release(&g.resources);
	label_selector_free(g.selector);
	sql_session_close(g.session);
	tape_close(g.tape);
	return code;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct get_options o = {.at = "end", .output = "table", .selector = ""};
	struct operands operands;
	struct err err = {0};
	int code = options_parse(self, argc, argv, &o, &operands, &err);

	if (code > 0)
		return EXIT_OK;
	if (code == 0 && (operands.count < 2 || operands.child))
		code = err_set(&err, ERR_USAGE, "expected a tape and a resource, found %zu operands",
			operands.count);
	if (code == 0)
		code = get(&o, &operands, &err);
	return code < 0 ? command_fail(self, &err) : EXIT_OK;
}

const struct command cmd_get = {
	.name = "get",
	.operands = "TAPE RESOURCE[/NAME] [NAME]...",
	.summary = "show the objects at a point of a tape",
	.description =
		"What `kubectl get` would have shown at that time, with the same columns. RESOURCE is a name\n"
		"as kubectl takes it: pods, po, deployments.apps, several separated by commas. The objects of\n"
		"-o json and yaml are as they were delivered.\n\n"
		"  kubetape get X.tape pods -n shop --at 12:03:05\n"
		"  kubetape get X.tape deploy/web -o yaml --at -5m",
	.options = rows,
	.run = run,
};
