/*
 * changes.c: the table `changes`, one row for each field that an event changed against the version of the
 * same object (resource and UID) before it.
 *
 * An object that appears is one row with path '$' and op 'add', one that goes is one with op 'remove' after
 * the fields that its last state changed. metadata.managedFields and metadata.resourceVersion are left out
 * unless the hidden column all_fields is 1. `manager` is who owns the changed field by managedFields.
 *
 * `old` and `new` are values of SQL that keep what JSON says: texts without quotes, numbers (integers too
 * large for SQL as their digits), true and false as these words, null as NULL. The hidden columns old_json
 * and new_json are the same as JSON, byte for byte; NULL where the field is not there.
 *
 * Walking in the order of storage finds the versions of one object one after another, so that each is decoded
 * once; where the walk does not, the version before is fetched by itself.
 */
#include "schema/sql/event_plan.h"
#include "schema/sql/functions.h"
#include "schema/sql/json_diff.h"
#include "schema/sql/managed_fields.h"

#include "schema/base/limits.h"

#include <errno.h>
#include <stdlib.h>

enum {
	COLUMN_PATH = COLUMN_OF_KIND,
	COLUMN_FIELD,
	COLUMN_OP,
	COLUMN_OLD,
	COLUMN_NEW,
	COLUMN_MANAGER,
	COLUMN_ALL_FIELDS,
	COLUMN_OLD_JSON,
	COLUMN_NEW_JSON,
};

/* A version of an object, kept. */
struct version {
	uint64_t seq; /* 0: none */
	uint32_t resource;
	struct buf uid, object;
};

struct changes_scan {
	struct scan scan;
	struct event_query query;
	struct tape_cursor *cursor;
	struct event event;
	bool all_fields, has_old;
	struct version old, new;
	struct json_diff *diff;
	size_t row, row_count; /* of the current event; a row past the diff's is about the whole object */
};

/* ---- plan ---- */

static int changes_plan(struct table *t, sqlite3_index_info *info, struct err *err)
{
	int rc = event_plan_make(t, info, true, COLUMN_ALL_FIELDS, "all_fields");

	(void)err;
	info->estimatedRows *= 4;
	info->idxFlags = 0; /* several rows for one seq */
	return rc;
}

/* ---- versions ---- */

static void version_init(struct version *v)
{
	v->seq = 0;
	buf_init(&v->uid, LIMIT_NAME_BYTES + 16);
	buf_init(&v->object, LIMIT_OBJECT_BYTES);
}

static int version_set(struct version *v, const struct event *e, struct slice object, struct err *err)
{
	int rc;

	v->seq = 0;
	buf_clear(&v->uid);
	buf_clear(&v->object);
	if ((rc = buf_append(&v->uid, e->uid.ptr, e->uid.len, err)) ||
		(rc = buf_append(&v->object, object.ptr, object.len, err)))
		return rc;
	v->seq = e->seq;
	v->resource = e->resource;
	return 0;
}

static bool is_version_of(const struct version *v, const struct event *e)
{
	return v->seq && v->resource == e->resource && slice_equal(buf_slice(&v->uid), e->uid);
}

/* Looks up the version before `e`; v->seq is 0 when there is none of the same object. */
static int version_before(struct tape *t, const struct event *e, struct version *v, struct err *err)
{
	struct event before;
	struct slice object;
	struct buf keep;
	uint64_t seq;
	int rc;

	v->seq = 0;
	rc = tape_previous(t, e->seq, &seq, err);
	if (rc)
		return rc;
	if (!seq)
		return 0;
	buf_init(&keep, LIMIT_OBJECT_BYTES);
	rc = tape_event(t, seq, &before, &keep, err);
	if (!rc && before.type != EVENT_DELETED && before.resource == e->resource &&
		slice_equal(before.uid, e->uid)) {
		rc = tape_object(t, seq, &object, err);
		if (!rc)
			rc = version_set(v, &before, object, err);
	}
	buf_release(&keep);
	return rc;
}

/* ---- walk ---- */

/* Puts the event's object into c->new and the version before it into c->old. */
static int load_versions(struct changes_scan *c, struct err *err)
{
	struct version last = c->new;
	struct slice object;
	int rc;

	c->new = c->old;
	c->old = last;
	if (!(is_version_of(&c->old, &c->event) && c->old.seq < c->event.seq) &&
		(rc = version_before(scan_tape(&c->scan), &c->event, &c->old, err)))
		return rc;
	rc = tape_cursor_object(c->cursor, &object, err);
	if (rc)
		return rc;
	return version_set(&c->new, &c->event, object, err);
}

static int compare_versions(struct changes_scan *c, struct err *err)
{
	int rc = load_versions(c, err);

	if (rc)
		return rc;
	c->has_old = c->old.seq != 0;
	c->row = 0;
	c->row_count = !c->has_old || c->event.type == EVENT_DELETED;
	if (!c->has_old)
		return json_diff_make(c->diff, (struct slice){NULL, 0}, (struct slice){NULL, 0}, false, err);
	rc = json_diff_make(
		c->diff, buf_slice(&c->old.object), buf_slice(&c->new.object), c->all_fields, err);
	if (rc)
		return err_prefix(err, rc, "cannot compare event %llu with the one before",
			(unsigned long long)c->event.seq);
	c->row_count += json_diff_count(c->diff);
	return 0;
}

/* After a deletion nothing follows it: the next object of that UID is new. */
static void forget_deleted(struct changes_scan *c)
{
	if (c->event.type == EVENT_DELETED)
		c->new.seq = 0;
}

static int next_event(struct changes_scan *c, struct err *err)
{
	int more, rc;

	do {
		forget_deleted(c);
		more = event_query_next(&c->query, c->cursor, &c->event, err);
		if (more > 0 && (rc = compare_versions(c, err)))
			return rc;
	} while (more > 0 && c->row_count == 0);
	c->scan.at_end = more == 0;
	return more < 0 ? more : 0;
}

static int changes_next(struct scan *s, struct err *err)
{
	struct changes_scan *c = (struct changes_scan *)s;

	s->row_id++;
	if (++c->row < c->row_count)
		return 0;
	return next_event(c, err);
}

static int changes_filter(struct scan *s, const char *plan_text, int plan_flags, sqlite3_value **args,
	int arg_count, struct err *err)
{
	struct changes_scan *c = (struct changes_scan *)s;
	struct plan_word word;
	const char *at = plan_text;
	int rc;

	version_init(&c->old);
	version_init(&c->new);
	c->diff = json_diff_new();
	for (int i = 0; i < arg_count && plan_word_next(&at, &word); i++) {
		if (slice_is(word.column, "all_fields"))
			c->all_fields = sqlite3_value_int(args[i]) != 0;
	}
	scan_expects(s, false);
	rc = event_query_make(scan_table(s)->handle, plan_text, args, arg_count, &c->query, err);
	if (rc)
		return rc;
	rc = event_query_open(scan_table(s)->handle, &c->query, plan_flags, &c->cursor, err);
	if (rc)
		return rc;
	return next_event(c, err);
}

/* ---- columns ---- */

/* The current row; a row about the whole object has the path '$'. */
static struct json_change changes_current(const struct changes_scan *c)
{
	struct slice none = {NULL, 0};

	if (c->row < json_diff_count(c->diff))
		return json_diff_at(c->diff, c->row);
	return (struct json_change){slice_of("$"), slice_of(""),
		c->has_old ? buf_slice(&c->old.object) : none,
		c->event.type == EVENT_DELETED ? none : buf_slice(&c->new.object)};
}

static const char *op_of(const struct changes_scan *c, const struct json_change *change)
{
	bool whole = c->row >= json_diff_count(c->diff);

	if (whole)
		return c->event.type == EVENT_ADDED     ? "add"
		       : c->event.type == EVENT_DELETED ? "remove"
							: "replace";
	return !change->old_value.len ? "add" : !change->new_value.len ? "remove" : "replace";
}

static int manager_result(
	struct changes_scan *c, const struct json_change *change, sqlite3_context *context, struct err *err)
{
	struct slice manager;
	int found = managed_fields_manager(c->has_old ? buf_slice(&c->old.object) : (struct slice){NULL, 0},
		buf_slice(&c->new.object), change->path, &manager, err);

	return found > 0 ? result_escaped(context, manager, err) : found;
}

static bool is_integer_beyond_sql(struct slice value)
{
	char text[32];

	for (size_t i = 0; i < value.len; i++) {
		if ((value.ptr[i] < '0' || value.ptr[i] > '9') && value.ptr[i] != '-')
			return false;
	}
	if (value.len >= sizeof(text))
		return true;
	memcpy(text, value.ptr, value.len);
	text[value.len] = 0;
	errno = 0;
	return strtoll(text, NULL, 10) && errno == ERANGE;
}

/* Booleans must not look like numbers, nor numbers lose digits. */
static int result_value(sqlite3_context *context, struct slice value, struct err *err)
{
	char first = value.len ? value.ptr[0] : 0;

	if (first != 't' && first != 'f' && !(value.len && is_integer_beyond_sql(value)))
		return result_json(context, value, err);
	result_slice(context, value);
	return 0;
}

static void result_raw(sqlite3_context *context, struct slice value)
{
	if (value.len)
		result_slice(context, value);
}

static int changes_column(struct scan *s, sqlite3_context *context, int i, struct err *err)
{
	struct changes_scan *c = (struct changes_scan *)s;
	struct json_change change;

	if (i < COLUMN_OBJECT) {
		event_result(context, scan_tape(s), &c->event, i);
		return 0;
	}
	change = changes_current(c);
	switch (i) {
	case COLUMN_OBJECT: result_slice(context, buf_slice(&c->new.object)); break;
	case COLUMN_PATH: result_slice(context, change.path); break;
	case COLUMN_FIELD: result_slice(context, change.field); break;
	case COLUMN_OP: result_string(context, op_of(c, &change)); break;
	case COLUMN_OLD: return result_value(context, change.old_value, err);
	case COLUMN_NEW: return result_value(context, change.new_value, err);
	case COLUMN_MANAGER: return manager_result(c, &change, context, err);
	case COLUMN_OLD_JSON: result_raw(context, change.old_value); break;
	case COLUMN_NEW_JSON: result_raw(context, change.new_value); break;
	case COLUMN_ALL_FIELDS: sqlite3_result_int(context, c->all_fields); break;
	default: break;
	}
	return 0;
}

static double share(const struct scan *s)
{
	const struct changes_scan *c = (const struct changes_scan *)s;

	return c->cursor ? tape_cursor_share(c->cursor) : 1;
}

static void changes_reset(struct scan *s)
{
	struct changes_scan *c = (struct changes_scan *)s;

	tape_cursor_close(c->cursor);
	event_query_release(&c->query);
	json_diff_free(c->diff);
	buf_release(&c->old.uid);
	buf_release(&c->old.object);
	buf_release(&c->new.uid);
	buf_release(&c->new.object);
	*c = (struct changes_scan){.scan = c->scan};
}

const struct table_kind changes_table = {
	.name = "changes",
	.summary = "one row for each field that an event changed: path, old, new, manager",
	.columns = EVENT_NAME_COLUMNS ", bytes INTEGER HIDDEN, object TEXT HIDDEN, path TEXT, field TEXT, "
				      "op TEXT, old, new, manager TEXT, all_fields INTEGER HIDDEN, "
				      "old_json TEXT HIDDEN, new_json TEXT HIDDEN",
	.scan_bytes = sizeof(struct changes_scan),
	.plan = changes_plan,
	.filter = changes_filter,
	.next = changes_next,
	.column = changes_column,
	.share = share,
	.reset = changes_reset,
};
