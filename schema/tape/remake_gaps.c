/* remake_gaps.c: gaps that reach into the stretch, and what was found after them. */
#include "schema/tape/remake_internal.h"

#include <stdlib.h>

struct gap_walk {
	struct remake *r;
	struct err *err;
};

/* ---- gaps ---- */

static bool is_open(const struct tape_gap *g)
{
	return strcmp(g->how_ended, "open") == 0;
}

/* What its end tells was not known yet. */
static void cut_gap(struct tape_gap *g)
{
	g->end_seq = 0;
	g->end_ns = 0;
	g->duration_ns = -1;
	g->to_rv = NULL;
	g->how_ended = "open";
	g->connection_after = 0;
	g->modified = g->added = g->deleted = g->recreated = g->unchanged = 0;
}

/* Connections have their ids times the spread; those before the stretch are not on the new tape. */
static void map_gap(const struct remake *r, struct tape_gap *g)
{
	g->begin_seq = seq_map_find(&r->seqs, g->begin_seq);
	g->end_seq = g->end_seq ? seq_map_find(&r->seqs, g->end_seq) : 0;
	g->connection_before *= (uint64_t)r->id_spread;
	g->connection_after *= (uint64_t)r->id_spread;
}

/* Gaps that no row tells get one, so that no other row is needed to conclude them: ids after the others. */
static int put_gap(struct remake *r, const struct tape_gap *gap, struct err *err)
{
	const struct remade_stream *s = remake_stream(r, gap->stream);
	int rc = 0;

	for (size_t i = 0; s && i < s->count && !rc; i++) {
		struct tape_gap own = *gap;

		own.stream = s->ids[i];
		own.id = gap->id ? gap->id * (uint64_t)r->id_spread + i : 0;
		own.connection_before += own.connection_before ? i : 0;
		own.connection_after += own.connection_after ? i : 0;
		if ((int64_t)own.id > r->w->ids[TABLE_GAP])
			r->w->ids[TABLE_GAP] = (int64_t)own.id;
		rc = tape_writer_gap(r->w, &own, err);
	}
	return rc;
}

static void keep_gap(struct remake *r, const struct tape_gap *gap)
{
	r->gaps = xgrow(r->gaps, r->gap_count, sizeof(*r->gaps));
	r->gaps[r->gap_count++] = (struct kept_gap){gap->id, gap->stream};
}

static int take_gap(void *context, const struct tape_gap *gap)
{
	const struct gap_walk *walk = context;
	struct remake *r = walk->r;
	const struct remake_point *from = r->o->from, *until = r->o->until;
	struct tape_gap g = *gap;

	if (!remake_stream(r, g.stream) || (!is_open(&g) && remake_passed(from, g.end_seq, g.end_ns)) ||
		(until && !remake_passed(until, g.begin_seq, g.begin_ns)))
		return 0;
	if (until && !is_open(&g) && !remake_passed(until, g.end_seq, g.end_ns))
		cut_gap(&g);
	else if (g.id)
		keep_gap(r, &g);
	map_gap(r, &g);
	return put_gap(r, &g, walk->err);
}

static int compare_gaps(const void *left, const void *right)
{
	const struct kept_gap *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

int remake_put_gaps(struct remake *r, struct err *err)
{
	struct gap_walk walk = {r, err};
	int rc = coverage_each_gap(r->coverage, r->from, take_gap, &walk, err);

	if (r->gap_count)
		qsort(r->gaps, r->gap_count, sizeof(*r->gaps), compare_gaps);
	return rc;
}

/* ---- what was missed in them ---- */

/* Which of the streams that its gap's has become an object of that namespace is of; -1: none. */
static int64_t find_copy(const struct remake *r, uint32_t stream, struct slice namespace)
{
	const struct remade_stream *s = remake_stream(r, stream);
	uint32_t id = remake_stream_id(r, stream, namespace);

	for (size_t i = 0; id && i < s->count; i++) {
		if (s->ids[i] == id)
			return (int64_t)i;
	}
	return -1;
}

static int take_missed(void *context, const struct tape_missed *missed)
{
	const struct gap_walk *walk = context;
	struct remake *r = walk->r;
	const struct kept_gap key = {.id = missed->gap}, *gap = NULL;
	int64_t copy;

	if (r->gap_count)
		gap = bsearch(&key, r->gaps, r->gap_count, sizeof(key), compare_gaps);
	if (!gap || !missed->resource || missed->resource > r->from->registry.resource_count)
		return 0;
	copy = find_copy(r, gap->stream, missed->namespace);
	if (copy < 0)
		return 0;
	return remake_put_row(r, TABLE_MISSED,
		(struct value[]){value_integer(r->w->ids[TABLE_MISSED] + 1),
			value_integer((int64_t)missed->gap * r->id_spread + copy), value_text(missed->change),
			value_integer(r->resources[missed->resource - 1]), value_slice(missed->namespace),
			value_slice(missed->name), value_slice(missed->uid), value_slice(missed->old_uid),
			value_slice(missed->rv), value_slice(missed->old_rv)},
		walk->err);
}

int remake_put_missed(struct remake *r, struct err *err)
{
	struct gap_walk walk = {r, err};

	return r->gap_count ? tape_each_missed(r->from, take_missed, &walk, err) : 0;
}
