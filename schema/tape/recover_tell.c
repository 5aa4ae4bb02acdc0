/* recover_tell.c: what is not in the new tape, event by event and row by row. */
#include "schema/tape/recover_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* True when one more is to be told; else it is counted. */
static bool is_told(struct recovery *r)
{
	if (r->told++ < RECOVER_TOLD_MAX)
		return true;
	r->result.untold++;
	return false;
}

static int tell(struct recovery *r, const struct tape_loss *loss, struct err *err)
{
	if (is_told(r) && r->options->lost && r->options->lost(r->options->context, loss))
		return err_set(err, ERR_STOPPED, "stopped before the tape was recovered");
	return 0;
}

/* ---- events ---- */

static void hole_text(char why[80], const struct span *span)
{
	switch (span->why) {
	case HOLE_NO_EXTENT: snprintf(why, 80, "extent %" PRId64 " cannot be found", span->number); break;
	case HOLE_BAD_INDEX:
		snprintf(why, 80, "the index of extent %" PRId64 " is damaged", span->number);
		break;
	case HOLE_BAD_CHUNKS:
		snprintf(why, 80, "chunks of extent %" PRId64 " are damaged", span->number);
		break;
	case HOLE_NO_SEGMENT: snprintf(why, 80, "the segment is missing"); break;
	case HOLE_NO_LAST_EXTENT: snprintf(why, 80, "its last extent cannot be found"); break;
	case HOLE_BAD_LAST_EXTENT: snprintf(why, 80, "the last extent cannot be read"); break;
	}
}

static const char *name_of(const struct recovery *r, const struct span *span)
{
	return span->segment == SIZE_MAX ? "" : r->segments[span->segment].name;
}

static int tell_hole(struct recovery *r, const struct lost_run *run, struct err *err)
{
	char why[80];
	struct tape_loss loss = {
		.file = name_of(r, run->span), .why = why, .first = run->first, .last = run->last};

	hole_text(why, run->span);
	return tell(r, &loss, err);
}

static int tell_event(
	struct recovery *r, const struct span *span, const struct extent *x, size_t index, struct err *err)
{
	char rv[RV_TEXT_BYTES], why[80];
	struct event e;
	struct tape_loss loss = {.file = name_of(r, span), .why = why, .event = &e};

	extent_event_get(x, index, rv, &e);
	snprintf(why, sizeof(why), "block %u of extent %" PRId64 " is damaged", x->events[index].block,
		span->extent->id);
	loss.first = loss.last = e.seq;
	loss.resource = registry_resource(&r->registry, e.resource);
	return tell(r, &loss, err);
}

/* What of a run is told event by event, and the rest that is counted. */
static int tell_events(
	struct recovery *r, const struct lost_run *run, const struct extent *x, struct err *err)
{
	size_t begin = run->first - run->span->first, end = run->last - run->span->first + 1;
	int rc = 0;

	for (; begin < end && x && r->told < RECOVER_TOLD_MAX && !rc; begin++)
		rc = tell_event(r, run->span, x, begin, err);
	r->told += end - begin;
	r->result.untold += end - begin;
	return rc;
}

/* Runs come extent by extent: each index is decoded once. */
static int tell_runs(struct recovery *r, struct err *err)
{
	const struct span *span = NULL;
	struct extent *x = NULL;
	struct lost_run run = {0};
	int rc = 0;

	for (uint64_t seq = 0; !rc && recover_next_run(r, seq, &run); seq = run.last + 1) {
		if (run.span->extent && run.span != span && r->told < RECOVER_TOLD_MAX) {
			extent_unref(x);
			span = run.span;
			x = salvage_extent(&r->segments[span->segment], span->extent, &r->registry);
		}
		rc = run.span->extent ? tell_events(r, &run, run.span == span ? x : NULL, err)
				      : tell_hole(r, &run, err);
	}
	extent_unref(x);
	return rc;
}

/* ---- rows ---- */

/* A row of one table, in whatever segment. */
struct found_row {
	int64_t id;
	uint32_t segment;
	uint8_t fault;
};

/* Usable ones first. */
static int compare_found(const void *left, const void *right)
{
	const struct found_row *a = left, *b = right;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	if (!a->fault != !b->fault)
		return a->fault ? 1 : -1;
	return (a->segment > b->segment) - (a->segment < b->segment);
}

static struct found_row *find_rows(const struct recovery *r, enum table table, size_t *ret_count)
{
	struct found_row *found = NULL;
	size_t count = 0;

	for (size_t i = 0; i < r->segment_count; i++) {
		const struct salvaged *s = &r->segments[i];

		for (size_t k = 0; k < s->row_count; k++) {
			if (s->rows[k].table != table)
				continue;
			found = xgrow(found, count, sizeof(*found));
			found[count++] = (struct found_row){s->rows[k].id, (uint32_t)i, s->rows[k].fault};
		}
	}
	if (count)
		qsort(found, count, sizeof(*found), compare_found);
	*ret_count = count;
	return found;
}

/* Ids are given without holes, so those that are missing between others are lost. */
static int tell_missing(struct recovery *r, enum table table, int64_t before, int64_t id, struct err *err)
{
	struct tape_loss loss = {.file = "",
		.why = "rows cannot be found",
		.table = table_formats[table].name,
		.first = (uint64_t)before + 1,
		.last = (uint64_t)id - 1};

	if (id - before <= 1)
		return 0;
	r->result.lost_rows += loss.last - loss.first + 1;
	return tell(r, &loss, err);
}

static int tell_unusable(struct recovery *r, enum table table, const struct found_row *row, struct err *err)
{
	struct tape_loss loss = {.file = r->segments[row->segment].name,
		.why = row->fault == ROW_OF_NO_STREAM ? "it names a stream that is not there"
						      : "the pack of documents is damaged",
		.table = table_formats[table].name,
		.first = (uint64_t)row->id,
		.last = (uint64_t)row->id};

	r->result.lost_rows++;
	return tell(r, &loss, err);
}

static int tell_rows(struct recovery *r, enum table table, struct err *err)
{
	size_t count;
	struct found_row *found = find_rows(r, table, &count);
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++) {
		if (i && found[i].id == found[i - 1].id)
			continue;
		if (i)
			rc = tell_missing(r, table, found[i - 1].id, found[i].id, err);
		if (!rc && found[i].fault != ROW_USABLE)
			rc = tell_unusable(r, table, &found[i], err);
	}
	free(found);
	return rc;
}

static int tell_hidden(struct recovery *r, const struct salvaged *s, struct err *err)
{
	int rc = 0;

	for (int table = TABLE_CONNECTION; table <= TABLE_DOCUMENT && !rc; table++) {
		bool hides = raw_hides_rows(s->db, (enum table)table);
		struct tape_loss loss = {.file = s->name,
			.why = hides ? "a page of them is damaged"
				     : "a row has a number that no row can have",
			.table = table_formats[table].name};

		if (!hides && !s->strange_ids[table])
			continue;
		r->result.rows_unknown = true;
		rc = tell(r, &loss, err);
	}
	return rc;
}

int recover_tell(struct recovery *r, struct err *err)
{
	int rc = tell_runs(r, err);

	for (int table = TABLE_CONNECTION; table <= TABLE_DOCUMENT && !rc; table++)
		rc = tell_rows(r, (enum table)table, err);
	for (size_t i = 0; i < r->segment_count && !rc; i++) {
		r->result.mended_pages += raw_mended_count(r->segments[i].db);
		rc = tell_hidden(r, &r->segments[i], err);
	}
	return rc;
}
