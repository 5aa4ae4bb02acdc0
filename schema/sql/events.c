/*
 * events.c: the table `events`, one row for each event in the order of arrival.
 *
 * The object is decoded only when its column is read. A walk that reads objects and asks for no order goes
 * through the tape in the order of storage, where each block is decoded once; a statement that wants the
 * order of arrival says ORDER BY seq, which costs no sort.
 */
#include "schema/base/rv.h"
#include "schema/sql/audit_columns.h"
#include "schema/sql/event_plan.h"

enum { COLUMN_STREAM = COLUMN_OF_KIND, COLUMN_FLAGS, COLUMN_RV_NUMBER, COLUMN_AUDIT };

struct events_scan {
	struct scan scan;
	struct event_query query;
	struct tape_cursor *cursor;
	struct event event;
	uint64_t numbers_left; /* a walk over numbers: how many come behind event.seq */
	bool numbers, backward;
};

static int events_plan(struct table *t, sqlite3_index_info *info, struct err *err)
{
	int rc = event_plan_make(t, info, (info->colUsed >> COLUMN_OBJECT) & 1, 0, NULL);

	(void)err;
	if (rc == SQLITE_OK && !(info->colUsed >> (COLUMN_SEQ + 1)))
		info->idxNum |= WALK_NUMBERS;
	return rc;
}

/* What count(*) and the like need is known without a look at any event. */
static void begin_numbers(struct events_scan *e, const struct tape_info *info, bool backward)
{
	const struct tape_filter *f = &e->query.filter;
	uint64_t first = f->seq_min > info->first_seq ? f->seq_min : info->first_seq;
	uint64_t last = f->seq_max && f->seq_max < info->last_seq ? f->seq_max : info->last_seq;

	e->backward = backward;
	e->scan.at_end = e->query.nothing || info->events == 0 || first > last;
	e->event = (struct event){.seq = backward ? last : first};
	e->numbers_left = e->scan.at_end ? 0 : last - first;
	e->scan.row_id = (int64_t)e->event.seq;
}

static int next_number(struct events_scan *e)
{
	if (e->numbers_left == 0) {
		e->scan.at_end = true;
		return 0;
	}
	e->numbers_left--;
	e->event.seq += e->backward ? UINT64_MAX : 1;
	e->scan.row_id = (int64_t)e->event.seq;
	return 0;
}

static int events_next(struct scan *s, struct err *err)
{
	struct events_scan *e = (struct events_scan *)s;
	int more;

	if (e->numbers)
		return next_number(e);
	more = event_query_next(&e->query, e->cursor, &e->event, err);
	if (more < 0)
		return more;
	s->at_end = more == 0;
	s->row_id = (int64_t)e->event.seq;
	return 0;
}

static int events_filter(struct scan *s, const char *plan_text, int plan_flags, sqlite3_value **args,
	int arg_count, struct err *err)
{
	struct events_scan *e = (struct events_scan *)s;
	int rc = event_query_make(scan_table(s)->handle, plan_text, args, arg_count, &e->query, err);

	if (rc)
		return rc;
	e->numbers = plan_flags & WALK_NUMBERS;
	if (e->numbers) {
		begin_numbers(e, &scan_table(s)->handle->info, plan_flags & WALK_BACKWARD);
		return 0;
	}
	scan_expects(s, plan_flags & WALK_STORED);
	rc = event_query_open(scan_table(s)->handle, &e->query, plan_flags, &e->cursor, err);
	if (rc)
		return rc;
	return events_next(s, err);
}

static int object_result(struct events_scan *e, sqlite3_context *context, struct err *err)
{
	struct slice object;
	int rc = tape_cursor_object(e->cursor, &object, err);

	if (rc)
		return rc;
	result_slice(context, object);
	return 0;
}

static int events_column(struct scan *s, sqlite3_context *context, int i, struct err *err)
{
	struct events_scan *e = (struct events_scan *)s;
	uint64_t number;

	if (i >= COLUMN_AUDIT)
		return audit_columns_result(scan_table(s)->handle, context, &e->event, i - COLUMN_AUDIT, err);
	switch (i) {
	case COLUMN_OBJECT: return object_result(e, context, err);
	case COLUMN_STREAM: sqlite3_result_int64(context, e->event.stream); break;
	case COLUMN_FLAGS: sqlite3_result_int64(context, e->event.flags); break;
	case COLUMN_RV_NUMBER:
		if (rv_to_u64(e->event.rv, &number) && number <= INT64_MAX)
			sqlite3_result_int64(context, (sqlite3_int64)number);
		break;
	default: event_result(context, scan_tape(s), &e->event, i);
	}
	return 0;
}

static double share(const struct scan *s)
{
	const struct events_scan *e = (const struct events_scan *)s;

	return e->cursor ? tape_cursor_share(e->cursor) : 1;
}

static void events_reset(struct scan *s)
{
	struct events_scan *e = (struct events_scan *)s;

	tape_cursor_close(e->cursor);
	e->cursor = NULL;
	event_query_release(&e->query);
}

const struct table_kind events_table = {
	.name = "events",
	.summary = "one row for each thing that was delivered, in the order of arrival by seq",
	.columns = EVENT_COLUMNS
	", stream INTEGER HIDDEN, flags INTEGER HIDDEN, rv_number INTEGER HIDDEN" AUDIT_COLUMNS,
	.scan_bytes = sizeof(struct events_scan),
	.plan = events_plan,
	.filter = events_filter,
	.next = events_next,
	.column = events_column,
	.share = share,
	.reset = events_reset,
};
