/*
 * audit_table.c: the table `audit`, one row for each event of which the audit log says which request made it,
 * and the columns of the same for other tables.
 *
 * It is a walk over events that leaves out those of which nothing is known; so all that the tape answers itself
 * for events it answers here, and a join by seq costs one look.
 */
#include "schema/sql/audit_columns.h"
#include "schema/sql/event_plan.h"

int audit_columns_find(struct tape_handle *h, const struct event *e, struct audit_claim *ret, struct err *err)
{
	if (h->claim_seq != e->seq) {
		h->has_claim = audit_book_find(h->book, e, &h->claim, err);
		h->claim_seq = h->has_claim < 0 ? 0 : e->seq;
	}
	*ret = h->claim;
	return h->has_claim;
}

static void result_known(sqlite3_context *context, struct slice text)
{
	if (text.len)
		result_slice(context, text);
}

void audit_claim_result(sqlite3_context *context, const struct audit_claim *c, int column)
{
	switch (column) {
	case AUDIT_USER: result_known(context, c->user); break;
	case AUDIT_USER_AGENT: result_known(context, c->user_agent); break;
	case AUDIT_SOURCE_IP: result_known(context, c->source_ip); break;
	case AUDIT_VERB: result_known(context, c->verb); break;
	case AUDIT_SUBRESOURCE: result_slice(context, c->subresource); break;
	case AUDIT_IMPERSONATED_USER: result_known(context, c->impersonated_user); break;
	case AUDIT_REQUESTED: result_time(context, c->begin_ns); break;
	case AUDIT_ANSWERED: result_time(context, c->end_ns); break;
	case AUDIT_HOW: result_string(context, audit_how_name(c->how)); break;
	default: result_known(context, c->audit_id);
	}
}

int audit_columns_result(
	struct tape_handle *h, sqlite3_context *context, const struct event *e, int column, struct err *err)
{
	struct audit_claim claim;
	int found = audit_columns_find(h, e, &claim, err);

	if (found > 0)
		audit_claim_result(context, &claim, column);
	return found < 0 ? found : 0;
}

/* ---- the table ---- */

struct audit_scan {
	struct scan scan;
	struct event_query query;
	struct tape_cursor *cursor;
	struct event event;
	struct audit_claim claim;
};

static int audit_plan(struct table *t, sqlite3_index_info *info, struct err *err)
{
	(void)err;
	return event_plan_make(t, info, (info->colUsed >> COLUMN_OBJECT) & 1, 0, NULL);
}

static int audit_next(struct scan *s, struct err *err)
{
	struct audit_scan *a = (struct audit_scan *)s;
	int more, found = 0;

	do {
		more = event_query_next(&a->query, a->cursor, &a->event, err);
		if (more > 0)
			found = audit_columns_find(scan_table(s)->handle, &a->event, &a->claim, err);
	} while (more > 0 && !found);
	s->at_end = more == 0;
	s->row_id = (int64_t)a->event.seq;
	return more < 0 ? more : found < 0 ? found : 0;
}

static int audit_filter(struct scan *s, const char *plan_text, int plan_flags, sqlite3_value **args,
	int arg_count, struct err *err)
{
	struct audit_scan *a = (struct audit_scan *)s;
	int rc = event_query_make(scan_table(s)->handle, plan_text, args, arg_count, &a->query, err);

	if (rc)
		return rc;
	s->at_end = !scan_table(s)->handle->book;
	if (s->at_end)
		return 0;
	scan_expects(s, plan_flags & WALK_STORED);
	rc = event_query_open(scan_table(s)->handle, &a->query, plan_flags, &a->cursor, err);
	return rc ? rc : audit_next(s, err);
}

static int audit_column(struct scan *s, sqlite3_context *context, int i, struct err *err)
{
	struct audit_scan *a = (struct audit_scan *)s;
	struct slice object;
	int rc;

	if (i < COLUMN_OBJECT) {
		event_result(context, scan_tape(s), &a->event, i);
		return 0;
	}
	if (i == COLUMN_OBJECT) {
		rc = tape_cursor_object(a->cursor, &object, err);
		if (!rc)
			result_slice(context, object);
		return rc;
	}
	/* Another walk may have asked since. */
	rc = audit_columns_find(scan_table(s)->handle, &a->event, &a->claim, err);
	if (rc > 0)
		audit_claim_result(context, &a->claim, i - COLUMN_OF_KIND);
	return rc < 0 ? rc : 0;
}

static double audit_share(const struct scan *s)
{
	const struct audit_scan *a = (const struct audit_scan *)s;

	return a->cursor ? tape_cursor_share(a->cursor) : 1;
}

static void audit_reset(struct scan *s)
{
	struct audit_scan *a = (struct audit_scan *)s;

	tape_cursor_close(a->cursor);
	a->cursor = NULL;
	event_query_release(&a->query);
}

const struct table_kind audit_table = {
	.name = "audit",
	.summary = "one row for each event of which the audit log says which request made it",
	.columns =
		EVENT_NAME_COLUMNS ", bytes INTEGER HIDDEN, object TEXT HIDDEN, user TEXT, user_agent TEXT, "
				   "source_ip TEXT, verb TEXT, subresource TEXT, impersonated_user TEXT, "
				   "requested TEXT COLLATE kubetape_time, answered TEXT COLLATE "
				   "kubetape_time, how TEXT, audit_id TEXT",
	.scan_bytes = sizeof(struct audit_scan),
	.plan = audit_plan,
	.filter = audit_filter,
	.next = audit_next,
	.column = audit_column,
	.share = audit_share,
	.reset = audit_reset,
};
