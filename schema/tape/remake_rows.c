/* remake_rows.c: connections, marks, the clock and the cluster's lives on their way into a new tape. */
#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/tape/position.h"
#include "schema/tape/remake_internal.h"

#include <stdlib.h>

/* Rows that wait are in memory. */
#define FLUSH_BYTES (8u << 20)

struct row_walk {
	struct remake *r;
	struct err *err;
};

static const enum table tables[] = {TABLE_CONNECTION, TABLE_MARK, TABLE_CLOCK, TABLE_EPOCH};
#define TABLES (COUNT_OF(tables))

/* ---- one row ---- */

int remake_put_row(struct remake *r, enum table table, struct value *values, struct err *err)
{
	const struct remake_hooks *h = &r->o->hooks;
	int64_t *highest = &r->w->ids[table];
	int rc = h->rewrite_row ? h->rewrite_row(h->context, table, values, err) : 0;

	if (rc < 0)
		return rc;
	if (value_number(&values[0]) > *highest)
		*highest = value_number(&values[0]);
	row_queue_add(r->w->rows, table, values);
	return row_queue_bytes(r->w->rows) < FLUSH_BYTES ? 0 : tape_writer_flush(r->w, err);
}

static void map_seq(const struct remake *r, struct value *v)
{
	*v = value_integer((int64_t)seq_map_find(&r->seqs, (uint64_t)value_number(v)));
}

/* Once for each stream that its stream has become; the id of the stream and its own are `copies` apart. */
static int put_copies(
	struct remake *r, enum table table, struct value *values, int stream_column, struct err *err)
{
	const struct remade_stream *s = remake_stream(r, (uint32_t)value_number(&values[stream_column]));
	int64_t id = value_number(&values[0]), mark_id = r->w->ids[TABLE_MARK];
	struct value copy[FORMAT_COLUMNS_MAX];
	int rc = 0;

	for (size_t i = 0; s && i < s->count && !rc; i++) {
		memcpy(copy, values, (size_t)table_formats[table].column_count * sizeof(*copy));
		copy[0] = value_integer(table == TABLE_MARK ? ++mark_id : id * r->id_spread + (int64_t)i);
		copy[stream_column] = value_integer(s->ids[i]);
		if (table == TABLE_MARK)
			copy[MARK_CONNECTION].integer += (int64_t)i;
		rc = remake_put_row(r, table, copy, err);
	}
	return rc;
}

/* ---- connections ---- */

/* As it was while it ran, and stood on the tape since it began: what only its end tells is not known yet. */
static int cut_connection(struct remake *r, struct value *values, struct err *err)
{
	static const int ends[] = {CONNECTION_FIRST_SEQ, CONNECTION_LAST_SEQ, CONNECTION_RETRY_AFTER_S,
		CONNECTION_CURL_CODE, CONNECTION_OS_ERRNO, CONNECTION_H2_ERROR, CONNECTION_BYTES,
		CONNECTION_EVENTS, CONNECTION_BOOKMARKS};
	static const int unknown[] = {CONNECTION_END_REASON, CONNECTION_ERROR_STATUS, CONNECTION_LAST_RV,
		CONNECTION_TAIL, CONNECTION_NEXT_ACTION};
	uint64_t seq;
	int rc = tape_position_at_time(r->from, value_number(&values[CONNECTION_BEGIN_NS]), &seq, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < COUNT_OF(ends); i++)
		values[ends[i]] = value_integer(0);
	for (size_t i = 0; i < COUNT_OF(unknown); i++)
		values[unknown[i]] = value_text(NULL);
	values[CONNECTION_DURATION_NS] = values[CONNECTION_NEXT_DELAY_NS] = value_integer(-1);
	values[CONNECTION_AFTER_SEQ] = value_integer((int64_t)seq);
	return 0;
}

/* The first and the last of its events that are left; none: 0. */
static void map_events(const struct remake *r, struct value *values)
{
	int64_t first = value_number(&values[CONNECTION_FIRST_SEQ]);
	int64_t last = value_number(&values[CONNECTION_LAST_SEQ]);
	int64_t new_first = first > 0 ? (int64_t)seq_map_find(&r->seqs, (uint64_t)first - 1) + 1 : 0;
	int64_t new_last = last > 0 ? (int64_t)seq_map_find(&r->seqs, (uint64_t)last) : 0;
	bool none = first <= 0 || new_first > new_last;

	values[CONNECTION_FIRST_SEQ] = value_integer(none ? 0 : new_first);
	values[CONNECTION_LAST_SEQ] = value_integer(none ? 0 : new_last);
}

/* An import says by its connection that nothing is known of the watches: that holds for every part of it. */
static bool is_before(const struct remake *r, const struct value *values, int64_t end_ns)
{
	return values[CONNECTION_END_REASON].kind == VALUE_TEXT &&
	       !value_is(&values[CONNECTION_PURPOSE], "import") &&
	       remake_passed(r->o->from, (uint64_t)value_number(&values[CONNECTION_AFTER_SEQ]), end_ns);
}

/* Whether its row, of its end if that has come, stands within the stretch. */
static bool is_told(const struct remake *r, const struct value *values, int64_t ns)
{
	return !r->o->until ||
	       remake_passed(r->o->until, (uint64_t)value_number(&values[CONNECTION_AFTER_SEQ]), ns);
}

static int take_connection(void *context, struct value *values)
{
	struct row_walk *walk = context;
	struct remake *r = walk->r;
	bool ended = values[CONNECTION_END_REASON].kind == VALUE_TEXT;
	int64_t begin_ns = value_number(&values[CONNECTION_BEGIN_NS]);
	int64_t duration_ns = value_number(&values[CONNECTION_DURATION_NS]);
	int64_t end_ns = ended && duration_ns > 0 ? time_add(begin_ns, duration_ns) : begin_ns;
	int rc;

	if (is_before(r, values, end_ns))
		return 0;
	if (!is_told(r, values, end_ns)) {
		if (!ended || begin_ns > r->o->until->time_ns)
			return 0;
		rc = cut_connection(r, values, walk->err);
		if (rc)
			return rc;
	}
	map_seq(r, &values[CONNECTION_AFTER_SEQ]);
	map_events(r, values);
	if (value_number(&values[CONNECTION_STREAM]))
		return put_copies(r, TABLE_CONNECTION, values, CONNECTION_STREAM, walk->err);
	values[0].integer *= r->id_spread;
	return remake_put_row(r, TABLE_CONNECTION, values, walk->err);
}

/* ---- marks ---- */

static int take_mark(void *context, struct value *values)
{
	struct row_walk *walk = context;
	struct remake *r = walk->r;
	uint64_t seq = (uint64_t)value_number(&values[MARK_AFTER_SEQ]);
	int64_t time_ns = value_number(&values[MARK_TIME_NS]);

	if (remake_passed(r->o->from, seq, time_ns) ||
		(r->o->until && !remake_passed(r->o->until, seq, time_ns)))
		return 0;
	map_seq(r, &values[MARK_AFTER_SEQ]);
	values[MARK_CONNECTION] = value_integer(value_number(&values[MARK_CONNECTION]) * r->id_spread);
	return put_copies(r, TABLE_MARK, values, MARK_STREAM, walk->err);
}

/* ---- what holds until the next row: the clock, the cluster's life ---- */

static void put_held(struct remake *r, enum table table)
{
	struct value *held = r->held[table];

	r->begun[table] = true;
	if (!held)
		return;
	held[0] = value_integer(++r->w->ids[table]);
	held[HELD_AFTER_SEQ] = value_integer((int64_t)seq_map_find(&r->seqs, r->first_seq - 1));
	row_queue_add(r->w->rows, table, held);
}

void remake_put_held(struct remake *r)
{
	for (size_t i = 0; i < TABLES; i++) {
		if (!r->begun[tables[i]])
			put_held(r, tables[i]);
	}
}

static int take_held(struct row_walk *walk, enum table table, struct value *values)
{
	struct remake *r = walk->r;
	const struct remake_hooks *h = &r->o->hooks;
	uint64_t seq = (uint64_t)value_number(&values[HELD_AFTER_SEQ]);
	int64_t time_ns = value_number(&values[HELD_TIME_NS]);
	int rc = h->rewrite_row ? h->rewrite_row(h->context, table, values, walk->err) : 0;

	if (rc < 0)
		return rc;
	if (remake_passed(r->o->from, seq, time_ns)) {
		free(r->held[table]);
		r->held[table] = values_dup(values, table_formats[table].column_count);
		return 0;
	}
	if (r->o->until && !remake_passed(r->o->until, seq, time_ns))
		return 0;
	if (!r->begun[table])
		put_held(r, table);
	values[0] = value_integer(++r->w->ids[table]);
	map_seq(r, &values[HELD_AFTER_SEQ]);
	row_queue_add(r->w->rows, table, values);
	return 0;
}

static int take_clock(void *context, struct value *values)
{
	return take_held(context, TABLE_CLOCK, values);
}

static int take_epoch(void *context, struct value *values)
{
	return take_held(context, TABLE_EPOCH, values);
}

/* ---- segment by segment ---- */

/* An id times the spread must still be one. */
static int check_ids(const struct remake *r, struct err *err)
{
	int64_t most = (int64_t)(r->info.connections > r->info.gaps ? r->info.connections : r->info.gaps);

	if (most <= FORMAT_ID_MAX / r->id_spread)
		return 0;
	return err_set(err, ERR_TOO_LARGE, "%lld rows are too many for %lld namespaces", (long long)most,
		(long long)r->id_spread);
}

int remake_rows_open(struct remake *r, struct err *err)
{
	int rc;

	r->id_spread = r->o->namespace_count ? (int64_t)r->o->namespace_count : 1;
	rc = check_ids(r, err);
	for (size_t i = 0; i < TABLES && !rc; i++)
		rc = row_reader_open(r->from, tables[i], &r->readers[tables[i]], err);
	return rc;
}

void remake_rows_close(struct remake *r)
{
	for (size_t i = 0; i < TABLES; i++) {
		row_reader_close(&r->readers[tables[i]]);
		free(r->held[tables[i]]);
	}
}

int remake_put_rows(struct remake *r, size_t segment, struct err *err)
{
	static int (*const take[TABLE_COUNT])(void *context, struct value *values) = {
		[TABLE_CONNECTION] = take_connection,
		[TABLE_MARK] = take_mark,
		[TABLE_CLOCK] = take_clock,
		[TABLE_EPOCH] = take_epoch,
	};
	struct row_walk walk = {r, err};
	int rc = 0;

	for (size_t i = 0; i < TABLES && !rc; i++)
		rc = row_reader_values(&r->readers[tables[i]], segment, take[tables[i]], &walk, err);
	return rc;
}
