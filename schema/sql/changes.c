/*
 * changes.c: the table `changes`, one row for each field that an event changed against the version of the
 * same object (resource and UID) before it.
 *
 * An object that appears is one row with path '$' and op 'add', one that goes is one with op 'remove' after
 * the fields that its last state changed. metadata.managedFields and metadata.resourceVersion are left out
 * unless the hidden column all_fields is 1. event_changes.h says what a row is, and whom `manager` names.
 *
 * `old` and `new` are values of SQL that keep what JSON says: texts without quotes, numbers (integers too
 * large for SQL as their digits), true and false as these words, null as NULL. The hidden columns old_json
 * and new_json are the same as JSON, byte for byte; NULL where the field is not there.
 *
 * Walking in the order of storage finds the versions of one object one after another, so that each is decoded
 * once; where the walk does not, the version before is fetched by itself.
 */
#include "schema/sql/audit_columns.h"
#include "schema/sql/event_changes.h"
#include "schema/sql/event_plan.h"
#include "schema/sql/functions.h"

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
	COLUMN_AUDIT,
};

struct changes_scan {
	struct scan scan;
	struct event_query query;
	struct tape_cursor *cursor;
	struct event event;
	bool all_fields;
	struct event_changes *changes; /* of the current event */
	size_t row;
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

/* ---- walk ---- */

static int next_event(struct changes_scan *c, struct err *err)
{
	int more, count;

	c->row = 0;
	while ((more = event_query_next(&c->query, c->cursor, &c->event, err)) > 0) {
		count = event_changes_make(
			c->changes, scan_tape(&c->scan), c->cursor, &c->event, c->all_fields, err);
		if (count)
			return count < 0 ? count : 0;
	}
	c->scan.at_end = more == 0;
	return more;
}

static int changes_next(struct scan *s, struct err *err)
{
	struct changes_scan *c = (struct changes_scan *)s;

	s->row_id++;
	if (++c->row < event_changes_count(c->changes))
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

	c->changes = event_changes_new();
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

static int manager_result(struct changes_scan *c, sqlite3_context *context, struct err *err)
{
	struct change_who who;
	int rc = event_changes_who(c->changes, c->row, &who, err);

	return !rc && who.manager.ptr ? result_escaped(context, who.manager, err) : rc;
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
	struct event_change row;

	if (i >= COLUMN_AUDIT)
		return audit_columns_result(scan_table(s)->handle, context, &c->event, i - COLUMN_AUDIT, err);
	if (i < COLUMN_OBJECT) {
		event_result(context, scan_tape(s), &c->event, i);
		return 0;
	}
	row = event_changes_at(c->changes, c->row);
	switch (i) {
	case COLUMN_OBJECT: result_slice(context, event_changes_object(c->changes)); break;
	case COLUMN_PATH: result_slice(context, row.change.path); break;
	case COLUMN_FIELD: result_slice(context, row.change.field); break;
	case COLUMN_OP: result_string(context, change_op_name(row.op)); break;
	case COLUMN_OLD: return result_value(context, row.change.old_value, err);
	case COLUMN_NEW: return result_value(context, row.change.new_value, err);
	case COLUMN_MANAGER: return manager_result(c, context, err);
	case COLUMN_OLD_JSON: result_raw(context, row.change.old_value); break;
	case COLUMN_NEW_JSON: result_raw(context, row.change.new_value); break;
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
	event_changes_free(c->changes);
	*c = (struct changes_scan){.scan = c->scan};
}

const struct table_kind changes_table = {
	.name = "changes",
	.summary = "one row for each field that an event changed: path, old, new, manager",
	.columns = EVENT_NAME_COLUMNS ", bytes INTEGER HIDDEN, object TEXT HIDDEN, path TEXT, field TEXT, "
				      "op TEXT, old, new, manager TEXT, all_fields INTEGER HIDDEN, "
				      "old_json TEXT HIDDEN, new_json TEXT HIDDEN" AUDIT_COLUMNS,
	.scan_bytes = sizeof(struct changes_scan),
	.plan = changes_plan,
	.filter = changes_filter,
	.next = changes_next,
	.column = changes_column,
	.share = share,
	.reset = changes_reset,
};
