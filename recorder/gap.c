/* gap.c: see gap.h. */
#include "recorder/gap.h"

#include "schema/base/clock.h"

#include <assert.h>
#include <stdio.h>

static uint64_t last_seq(const struct recorder_context *x)
{
	struct tape_writer_stats stats;

	tape_writer_stats(flusher_tape(x->flusher), &stats);
	return stats.last_seq;
}

void gap_begin(struct gap *g, struct recorder_context *x, uint32_t stream, const char *reason, const char *rv,
	uint64_t connection)
{
	if (g->unwatched)
		return;
	g->unwatched = true;
	g->begin_mono_ns = clock_mono_ns(x->clock);
	snprintf(g->from_rv, sizeof(g->from_rv), "%s", rv);
	snprintf(g->reason, sizeof(g->reason), "%s", reason);
	g->row = (struct tape_gap){
		.stream = stream,
		.begin_seq = last_seq(x),
		.begin_ns = clock_wall_ns(x->clock),
		.duration_ns = -1,
		.connection_before = connection,
	};
}

static int write_row(struct gap *g, struct recorder_context *x, struct err *err)
{
	g->row.from_rv = g->from_rv;
	g->row.reason = g->reason;
	flusher_dirty(x->flusher);
	return tape_writer_gap(flusher_tape(x->flusher), &g->row, err);
}

int gap_write(struct gap *g, struct recorder_context *x, struct err *err)
{
	if (!g->unwatched || g->row.id)
		return 0;
	x->counters.gaps++;
	g->count++;
	g->row.how_ended = "open";
	return write_row(g, x, err);
}

int gap_missed(struct gap *g, struct recorder_context *x, const struct tape_missed *missed, struct err *err)
{
	struct tape_missed row = *missed;

	assert(g->row.id);
	row.gap = g->row.id;
	x->counters.hidden++;
	switch (*row.change) {
	case 'm': g->row.modified++; break;
	case 'a': g->row.added++; break;
	case 'd': g->row.deleted++; break;
	default: g->row.recreated++; break;
	}
	return tape_writer_missed(flusher_tape(x->flusher), &row, err);
}

int gap_end(struct gap *g, struct recorder_context *x, const char *how, const char *to_rv,
	uint64_t connection, struct err *err)
{
	int rc = 0;

	if (g->row.id) {
		g->row.end_seq = last_seq(x);
		g->row.end_ns = clock_wall_ns(x->clock);
		/* A gap across a restart has no beginning on this monotonic clock. */
		g->row.duration_ns = g->begin_mono_ns < 0 ? -1 : clock_mono_ns(x->clock) - g->begin_mono_ns;
		g->row.to_rv = to_rv;
		g->row.how_ended = how;
		g->row.connection_after = connection;
		rc = write_row(g, x, err);
	}
	*g = (struct gap){.count = g->count};
	return rc;
}
