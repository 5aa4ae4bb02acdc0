/* cmd_diff_state.c: `kubetape diff-state`: what is different between two points of a tape. */
#include "schema/base/limits.h"
#include "schema/base/out_file.h"
#include "schema/base/visible.h"
#include "schema/tape/audit_book.h"
#include "tools/cli/namespace_check.h"
#include "tools/cli/position_help.h"
#include "tools/cli/sql_progress.h"
#include "tools/cli/tape_names.h"
#include "tools/cli/time_shown.h"
#include "tools/commands.h"
#include "tools/out/bookkeeping.h"
#include "tools/out/certainty.h"
#include "tools/out/state_text.h"
#include "tools/out/table_out.h"

struct diff_options {
	const char *namespace, *resource, *color;
	bool all, all_fields, full, json, local;
};

static const struct option_row rows[] = {
	{OPTION_TEXT, 'n', "namespace", offsetof(struct diff_options, namespace), "NS",
		"only objects of this namespace"},
	{OPTION_TEXT, 'r', "resource", offsetof(struct diff_options, resource), "RESOURCE,...",
		"only objects of these resources: pods,deploy"},
	{OPTION_FLAG, 'a', "all", offsetof(struct diff_options, all), NULL, "also " BOOKKEEPING_HELP},
	{OPTION_FLAG, 0, "all-fields", offsetof(struct diff_options, all_fields), NULL,
		"also managedFields and resourceVersion"},
	{OPTION_FLAG, 0, "full", offsetof(struct diff_options, full), NULL, "do not cut long values"},
	{OPTION_CHOICE, 0, "color", offsetof(struct diff_options, color), "auto|always|never",
		"colour the changes (default: auto)"},
	{OPTION_FLAG, 0, "json", offsetof(struct diff_options, json), NULL,
		"print one JSON object a difference"},
	LOCAL_TIME_ROW(diff_options),
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

/* :resources is "/" or the chosen ones as "/apps v1 deployments/ v1 pods/". */
#define IS_CHOSEN                                                                                            \
	"(:resources = '/' OR instr(:resources, '/' || apigroup || ' ' || version || ' ' || resource || '/'))"

/* An object is the same when its UID is; one that another took the name of is "recreated". */
#define PAIRS                                                                                                \
	"WITH a AS MATERIALIZED (SELECT seq, apigroup, version, resource, namespace, name, uid FROM "        \
	"objects(:a) WHERE (:namespace = '' OR namespace = :namespace) AND " IS_CHOSEN "), "                 \
	"b AS MATERIALIZED (SELECT seq, apigroup, version, resource, namespace, name, uid FROM objects(:b) " \
	"WHERE (:namespace = '' OR namespace = :namespace) AND " IS_CHOSEN "), "                             \
	"pairs AS (SELECT a.apigroup, a.version, a.resource, a.namespace, a.name, a.uid AS old_uid, "        \
	"b.uid AS uid, a.seq AS old_seq, b.seq AS seq FROM a "                                               \
	"LEFT JOIN b USING (apigroup, version, resource, namespace, name) WHERE b.seq IS NOT a.seq "         \
	"UNION ALL SELECT b.apigroup, b.version, b.resource, b.namespace, b.name, NULL, b.uid, NULL, b.seq " \
	"FROM b LEFT JOIN a USING (apigroup, version, resource, namespace, name) WHERE a.seq IS NULL) "

static const char count_sql[] = PAIRS "SELECT count(*) FROM pairs";

/* The request that changed a field last, or made or deleted an object (field ''), as far as the audit log says it: nobody looks for
 * that where none was joined. */
#define REQUESTS                                                                                             \
	", requests AS MATERIALIZED (SELECT uid, field, max(seq), user, user_agent FROM changes WHERE "      \
	":audited AND seq > :a AND seq <= :b AND all_fields = :all AND (:namespace = '' OR "                 \
	"namespace = :namespace) GROUP BY uid, field) "

static const char sql[] = PAIRS REQUESTS
	"SELECT iif(old_seq IS NULL, 'added', iif(seq IS NULL, 'deleted', iif(p.uid <> old_uid, 'recreated', "
	"'modified'))) AS change, p.apigroup, p.version, p.resource, p.namespace, p.name, old_uid, p.uid, old_seq, seq, "
	"jget(d.value, '$.op') AS op, jget(d.value, '$.field') AS field, d.value -> '$.old' AS old, "
	"d.value -> '$.new' AS new, jget(d.value, '$.manager') AS manager, w.user AS user, w.user_agent AS user_agent, "
	"m.user AS made_by, m.user_agent AS made_with, g.user AS deleted_by, g.user_agent AS deleted_with "
	"FROM pairs AS p LEFT JOIN json_each(iif(seq IS NULL OR old_seq IS NULL, NULL, "
	"jdiff((SELECT object FROM events AS e WHERE e.seq = p.old_seq), "
	"(SELECT object FROM events AS e WHERE e.seq = p.seq), :all, 1))) AS d "
	"LEFT JOIN requests AS w ON w.uid = p.uid AND w.field = jget(d.value, '$.field') AND p.uid = p.old_uid "
	"LEFT JOIN requests AS m ON m.uid = p.uid AND m.field = '' AND p.uid IS NOT p.old_uid "
	"LEFT JOIN requests AS g ON g.uid = p.old_uid AND g.field = '' AND p.uid IS NOT p.old_uid "
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
	NEW,
	MANAGER,
	USER,
	USER_AGENT,
	MADE_BY,
	MADE_WITH,
	DELETED_BY,
	DELETED_WITH,
};

struct printer {
	struct state_text text;
	int64_t old_seq, seq; /* of the object printed last */
};

/* Who asked for it, by the audit log; `what` is "deleted" or "made". */
static void print_request(const char *what, const struct sql_value *user, const struct sql_value *agent)
{
	struct slice program = agent->bytes;

	if (user->type != SQL_TEXT)
		return;
	printf("  %s by ", what);
	visible_put(stdout, user->bytes);
	fputs(" (", stdout);
	visible_put(stdout, slice_cut(&program, '/'));
	putchar(')');
}

static int print_field(const struct printer *p, const struct sql_value *v, struct err *err)
{
	struct slice manager = v[MANAGER].bytes, user = v[USER].bytes;
	struct buf who;
	int rc = 0;

	buf_init(&who, 2 * LIMIT_CONFIG_BYTES);
	if (v[USER].type == SQL_TEXT)
		rc = buf_printf(&who, err, "%.*s%sasked by %.*s", (int)manager.len, manager.ptr,
			manager.len ? ", " : "", (int)user.len, user.ptr);
	if (!rc)
		state_text_change(&p->text, v[OP].bytes, v[FIELD].bytes, v[OLD].bytes, v[NEW].bytes,
			who.len ? buf_slice(&who) : manager);
	buf_release(&who);
	return rc;
}

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
	print_request("deleted", &v[DELETED_BY], &v[DELETED_WITH]);
	print_request("made", &v[MADE_BY], &v[MADE_WITH]);
	state_text_end(&p->text);
	putchar('\n');
}

static int on_row(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct printer *p = context;
	int rc = 0;

	(void)count;
	if (v[SEQ].integer != p->seq || v[OLD_SEQ].integer != p->old_seq)
		print_object(p, v);
	p->seq = v[SEQ].integer;
	p->old_seq = v[OLD_SEQ].integer;
	if (v[FIELD].type == SQL_TEXT)
		rc = print_field(p, v, err);
	return rc ? rc : out_stream_check(stdout, err);
}

struct diff {
	const struct diff_options *options;
	struct tape *tape;
	struct sql_session *session;
	struct tape_names names; /* of the resources chosen; none: all */
	const char *texts[2];
	struct tape_position positions[2]; /* from, to */
};

static int append_resource(struct buf *to, const struct tape_resource *r, struct err *err)
{
	return buf_printf(to, err, "%s %s %s/", r->apigroup, r->version, r->resource);
}

/* All that are bookkeeping, or all that are not. */
static int append_all(struct diff *d, bool bookkeeping, struct buf *to, struct err *err)
{
	const struct tape_resource *r;
	int rc = 0;

	for (size_t i = 0; !rc && (r = tape_resource_at(d->tape, i)); i++) {
		if (is_bookkeeping(r) == bookkeeping)
			rc = append_resource(to, r, err);
	}
	return rc ? rc : buf_append(to, "-", 1, err); /* an empty list would mean any resource */
}

/* Sets :resources; to bookkeeping alone, or to what is to be told of. */
static int set_resources(struct diff *d, bool bookkeeping, struct err *err)
{
	struct buf list;
	int rc;

	buf_init(&list, LIMIT_CONFIG_BYTES);
	rc = buf_append(&list, "/", 1, err);
	if (!rc && (bookkeeping || (!d->names.count && !d->options->all)))
		rc = append_all(d, bookkeeping, &list, err);
	for (size_t i = 0; i < d->names.count && !rc && !bookkeeping; i++)
		rc = append_resource(&list, d->names.items[i], err);
	if (!rc)
		rc = buf_append(&list, "", 1, err);
	if (!rc)
		sql_session_set(d->session, "resources", list.ptr);
	buf_release(&list);
	return rc;
}

/* Names as kubectl takes them; they are looked up on the tape. */
static int diff_state_choose(struct diff *d, struct err *err)
{
	int rc = 0;

	if (*d->options->resource)
		rc = tape_names_choose(d->tape, d->options->resource, &d->names, err);
	if (!rc && *d->options->resource)
		tape_names_tell_versions(d->tape, &d->names, d->options->resource);
	return rc ? rc : set_resources(d, false, err);
}

static int say_count(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	(void)context, (void)count, (void)err;
	if (v[0].integer)
		fprintf(stderr,
			"kubetape diff-state: left out %lld objects of " BOOKKEEPING_HELP
			"; --all shows them\n",
			(long long)v[0].integer);
	return 0;
}

static int say_what_was_left_out(struct diff *d, struct err *err)
{
	struct sql_sink sink = {.row = say_count};
	int rc;

	if (d->names.count || d->options->all)
		return 0;
	rc = set_resources(d, true, err);
	return rc ? rc : sql_session_run(d->session, slice_of(count_sql), &sink, err);
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

static int look_for_audit(struct diff *d, struct err *err)
{
	struct audit_book *book;
	int rc = audit_book_open(tape_path_of(d->tape), &book, err);

	if (rc)
		return rc;
	sql_session_set(d->session, "audited", book ? "1" : "0");
	audit_book_close(book);
	return 0;
}

static int print(struct diff *d, struct err *err)
{
	const struct diff_options *o = d->options;
	struct printer p = {.text = {state_text_wants_color(o->color), o->full, false}};
	struct sql_sink sink = {.row = on_row, .context = &p};
	struct table_out *out = NULL;
	int rc;

	rc = look_for_audit(d, err);
	if (rc)
		return rc;
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

	c.local = d->options->local;
	for (size_t i = 0; i < 2 && !rc; i++)
		certainty_of_position(&c, &d->positions[i], d->texts[i]);
	for (size_t i = 0; i < d->names.count && !rc; i++) {
		certainty_of_resource(&c, d->names.items[i], namespace, d->positions, 2);
		certainty_of_parts(&c, d->names.items[i], namespace);
	}
	if (!d->names.count && !rc)
		certainty_of_namespace(&c, namespace);
	for (size_t i = 0; !d->names.count && !rc && (r = tape_resource_at(d->tape, i)); i++) {
		if ((r->namespaced || !*namespace) && (d->options->all || !is_bookkeeping(r)))
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
		rc = say_what_was_left_out(&d, err);
	if (!rc)
		rc = say_what_is_not_known(&d, err);
	if (!rc && *d.options->namespace)
		rc = namespace_check(d.tape, d.options->namespace, err);
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
	.summary = "compare the objects at two positions of a tape",
	.description =
		"Prints which objects were added (+), deleted (-), recreated under their name (!) or changed (~)\n"
		"from the first position to the second (default: the end), and the fields. Each field has its last\n"
		"writer according to managedFields, and the user according to the audit log ('kubetape audit').\n"
		"Differences are always from the earlier position to the later one.\n" BOOKKEEPING_HELP
		" are left out unless they are named\n"
		"or --all is given.\n\n" POSITION_HELP "\n"
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
