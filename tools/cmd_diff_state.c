/* cmd_diff_state.c: `kubetape diff-state`: what is different between two points of a tape. */
#include "schema/base/limits.h"
#include "schema/base/out_file.h"
#include "schema/base/visible.h"
#include "tools/certainty.h"
#include "tools/commands.h"
#include "tools/position_help.h"
#include "tools/sql_progress.h"
#include "tools/state_text.h"
#include "tools/table_out.h"
#include "tools/tape_names.h"

struct diff_options {
	const char *namespace, *resource, *color;
	bool all_fields, full, json;
};

static const struct option_row rows[] = {
	{OPTION_TEXT, 'n', "namespace", offsetof(struct diff_options, namespace), "NS",
		"only objects of this namespace"},
	{OPTION_TEXT, 'r', "resource", offsetof(struct diff_options, resource), "RESOURCE,...",
		"only objects of these resources: pods,deploy"},
	{OPTION_FLAG, 0, "all-fields", offsetof(struct diff_options, all_fields), NULL,
		"also managedFields and resourceVersion"},
	{OPTION_FLAG, 0, "full", offsetof(struct diff_options, full), NULL, "do not cut long values"},
	{OPTION_CHOICE, 0, "color", offsetof(struct diff_options, color), "auto|always|never",
		"colour the changes (default: auto)"},
	{OPTION_FLAG, 0, "json", offsetof(struct diff_options, json), NULL,
		"print one JSON object a difference"},
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

/* :resources is "/" or the chosen ones as "/apps v1 deployments/ v1 pods/". */
#define IS_CHOSEN                                                                                            \
	"(:resources = '/' OR instr(:resources, '/' || apigroup || ' ' || version || ' ' || resource || '/'))"

/* An object is the same when its UID is; one that another took the name of is "recreated". */
static const char sql[] =
	"WITH a AS MATERIALIZED (SELECT seq, apigroup, version, resource, namespace, name, uid FROM objects(:a) "
	"WHERE (:namespace = '' OR namespace = :namespace) AND " IS_CHOSEN "), "
	"b AS MATERIALIZED (SELECT seq, apigroup, version, resource, namespace, name, uid FROM objects(:b) "
	"WHERE (:namespace = '' OR namespace = :namespace) AND " IS_CHOSEN "), "
	"pairs AS (SELECT a.apigroup, a.version, a.resource, a.namespace, a.name, a.uid AS old_uid, b.uid AS uid, "
	"a.seq AS old_seq, b.seq AS seq FROM a LEFT JOIN b USING (apigroup, version, resource, namespace, name) "
	"WHERE b.seq IS NOT a.seq UNION ALL "
	"SELECT b.apigroup, b.version, b.resource, b.namespace, b.name, NULL, b.uid, NULL, b.seq "
	"FROM b LEFT JOIN a USING (apigroup, version, resource, namespace, name) WHERE a.seq IS NULL) "
	"SELECT iif(old_seq IS NULL, 'added', iif(seq IS NULL, 'deleted', iif(uid <> old_uid, 'recreated', "
	"'modified'))) AS change, p.apigroup, p.version, p.resource, p.namespace, p.name, old_uid, uid, old_seq, seq, "
	"jget(d.value, '$.op') AS op, jget(d.value, '$.field') AS field, d.value -> '$.old' AS old, "
	"d.value -> '$.new' AS new FROM pairs AS p LEFT JOIN json_each(iif(seq IS NULL OR old_seq IS NULL, NULL, "
	"jdiff((SELECT object FROM events AS e WHERE e.seq = p.old_seq), "
	"(SELECT object FROM events AS e WHERE e.seq = p.seq), :all))) AS d "
	"ORDER BY p.apigroup, p.resource, p.version, p.namespace, p.name";

enum {
	CHANGE,
	APIGROUP,
	VERSION,
	RESOURCE,
	NAMESPACE,
	NAME,
	OLD_UID,
	UID,
	OLD_SEQ,
	SEQ,
	OP,
	FIELD,
	OLD,
	NEW
};

struct printer {
	struct state_text text;
	int64_t old_seq, seq; /* of the object printed last */
};

static void print_object(const struct printer *p, const struct sql_value *v)
{
	bool added = slice_is(v[CHANGE].bytes, "added"), deleted = slice_is(v[CHANGE].bytes, "deleted");

	state_text_begin(&p->text, added ? STATE_ADDED : deleted ? STATE_REMOVED : STATE_HEAD);
	printf("%c ", added ? '+' : deleted ? '-' : slice_is(v[CHANGE].bytes, "recreated") ? '!' : '~');
	visible_put(stdout, v[RESOURCE].bytes);
	fputs(v[APIGROUP].bytes.len ? "." : "", stdout);
	visible_put(stdout, v[APIGROUP].bytes);
	putchar(' ');
	state_text_name(v[NAMESPACE].bytes, v[NAME].bytes);
	if (slice_is(v[CHANGE].bytes, "recreated"))
		fputs(" (deleted and made again)", stdout);
	state_text_end(&p->text);
	putchar('\n');
}

static int on_row(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct printer *p = context;

	(void)count;
	if (v[SEQ].integer != p->seq || v[OLD_SEQ].integer != p->old_seq)
		print_object(p, v);
	p->seq = v[SEQ].integer;
	p->old_seq = v[OLD_SEQ].integer;
	if (v[FIELD].type == SQL_TEXT)
		state_text_change(&p->text, v[OP].bytes, v[FIELD].bytes, v[OLD].bytes, v[NEW].bytes,
			(struct slice){NULL, 0});
	return out_stream_check(stdout, err);
}

struct diff {
	const struct diff_options *options;
	struct tape *tape;
	struct sql_session *session;
	struct tape_names names; /* of the resources chosen; none: all */
	const char *texts[2];
	struct tape_position positions[2]; /* from, to */
};

/* Names as kubectl takes them; they are looked up on the tape. */
static int diff_state_choose(struct diff *d, struct err *err)
{
	struct buf list;
	int rc;

	buf_init(&list, LIMIT_CONFIG_BYTES);
	rc = buf_append(&list, "/", 1, err);
	if (!rc && *d->options->resource)
		rc = tape_names_choose(d->tape, d->options->resource, &d->names, err);
	for (size_t i = 0; i < d->names.count && !rc; i++)
		rc = buf_printf(&list, err, "%s %s %s/", d->names.items[i]->apigroup,
			d->names.items[i]->version, d->names.items[i]->resource);
	if (!rc)
		rc = buf_append(&list, "", 1, err);
	if (!rc)
		sql_session_set(d->session, "resources", list.ptr);
	buf_release(&list);
	return rc;
}

/* History is told forwards. */
static void put_in_order(struct diff *d)
{
	const struct tape_position a = d->positions[0], b = d->positions[1];
	const char *text = d->texts[0];

	if (a.seq < b.seq || (a.seq == b.seq && a.time_ns <= b.time_ns))
		return;
	fprintf(stderr, "kubetape diff-state: '");
	visible_puts(stderr, d->texts[0]);
	fputs("' lies after '", stderr);
	visible_puts(stderr, d->texts[1]);
	fputs("': this is what happened from the second to the first\n", stderr);
	d->positions[0] = b;
	d->positions[1] = a;
	d->texts[0] = d->texts[1];
	d->texts[1] = text;
}

static int find_positions(struct diff *d, struct err *err)
{
	static const char *const names[] = {"a", "b"};
	char seq[32];
	int rc = 0;

	for (size_t i = 0; i < 2 && !rc; i++)
		rc = tape_position_find(d->tape, d->texts[i], &d->positions[i], err);
	if (rc)
		return rc;
	put_in_order(d);
	for (size_t i = 0; i < 2; i++) {
		snprintf(seq, sizeof(seq), "%llu", (unsigned long long)d->positions[i].seq);
		sql_session_set(d->session, names[i], seq);
	}
	return 0;
}

static int print(struct diff *d, struct err *err)
{
	const struct diff_options *o = d->options;
	struct printer p = {.text = {state_text_wants_color(o->color), o->full, false}};
	struct sql_sink sink = {.row = on_row, .context = &p};
	struct table_out *out = NULL;
	int rc;

	sql_session_set(d->session, "namespace", o->namespace);
	sql_session_set(d->session, "all", o->all_fields ? "1" : "0");
	if (o->json) {
		out = table_out_new(stdout, TABLE_NDJSON, 0);
		table_out_embed(out, state_text_values, false);
		sink = table_out_sink(out);
	}
	rc = sql_progress_run(d->session, slice_of(sql), &sink, err);
	table_out_free(out);
	return rc;
}

/* Without names every resource is concerned, of which each may be only a part: that is not told then. */
static int say_what_is_not_known(struct diff *d, struct err *err)
{
	const char *namespace = d->options->namespace;
	const struct tape_resource *r;
	struct certainty c;
	int rc = certainty_open(&c, "diff-state", d->tape, err);

	for (size_t i = 0; i < 2 && !rc; i++)
		certainty_of_position(&c, &d->positions[i], d->texts[i]);
	for (size_t i = 0; i < d->names.count && !rc; i++) {
		certainty_of_resource(&c, d->names.items[i], namespace, d->positions, 2);
		certainty_of_parts(&c, d->names.items[i], namespace);
	}
	for (size_t i = 0; !d->names.count && !rc && (r = tape_resource_at(d->tape, i)); i++) {
		if (r->namespaced || !*namespace)
			certainty_of_resource(&c, r, namespace, d->positions, 2);
	}
	certainty_end(&c);
	certainty_close(&c);
	return rc ? rc : c.is_guess ? EXIT_LOSS : EXIT_OK;
}

static int diff_state_show(void *values, const struct operands *operands, struct err *err)
{
	struct diff d = {.options = values,
		.texts = {operands->items[1], operands->count > 2 ? operands->items[2] : "end"}};
	int rc = tape_open(operands->items[0], &d.tape, err);

	if (!rc)
		rc = sql_session_open(operands->items[0], &d.session, err);
	if (!rc)
		rc = find_positions(&d, err);
	if (!rc)
		rc = diff_state_choose(&d, err);
	if (!rc)
		rc = print(&d, err);
	if (!rc)
		rc = say_what_is_not_known(&d, err);
	tape_names_release(&d.names);
	sql_session_close(d.session);
	tape_close(d.tape);
	return rc;
}

static int diff_state_run(const struct command *self, int argc, char **argv)
{
	struct diff_options o = {.namespace = "", .resource = "", .color = "auto"};

	return command_run(self, argc, argv, &o, diff_state_show);
}

const struct command cmd_diff_state = {
	.name = "diff-state",
	.operands = "TAPE POSITION [POSITION]",
	.expects = {"a tape and one or two positions", 2, 3},
	.summary = "compare the objects at two points of a tape",
	.description =
		"Prints which objects were added (+), deleted (-), deleted and made again under their name (!)\n"
		"or changed (~) from the first point to the second (default: the end), and the fields. History is\n"
		"told forwards, whichever of the two comes first.\n\n" POSITION_HELP "\n"
		"  kubetape diff-state X.tape 12:03:05 12:04:00 -n shop",
	.options = rows,
	.exits =
		{
			[EXIT_LOSS] =
				"done, but the tape cannot know it: a position lies outside it, or something was "
				"not watched there",
		},
	.run = diff_state_run,
};
