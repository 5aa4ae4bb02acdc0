/*
 * remake.c: see remake.h. The order of things: what the new tape has (registry, state, documents) is chosen
 * first; then comes each segment of the old tape, its events before its rows, which name them; gaps last.
 */
#include "schema/base/limits.h"
#include "schema/tape/audit_carry.h"
#include "schema/tape/new_tape.h"
#include "schema/tape/remake_internal.h"

#include <stdlib.h>

/* A range of events in their order wants the blocks of an extent. */
#define CACHE_BYTES (160u << 20)

/* A new segment begins between two old ones, when the last one has so much. */
#define SEGMENT_BYTES (128u << 20)

bool remake_passed(const struct remake_point *p, uint64_t seq, int64_t time_ns)
{
	if (!p || seq > p->seq)
		return false;
	return seq < p->seq || !p->by_time || time_ns <= p->time_ns;
}

static bool is_whole(const struct remake_options *o)
{
	return !o->resource_count && !o->namespace_count && !o->hooks.wants && !o->hooks.wants_object;
}

static int find_range(struct remake *r, struct err *err)
{
	const struct remake_point *from = r->o->from, *until = r->o->until;
	struct tape *t = r->from;
	int rc = tape_info(t, &r->info, err);

	if (rc)
		return rc;
	r->first_seq = r->info.first_seq;
	r->last_seq = r->info.last_seq;
	if (!r->info.events) {
		r->first_seq = t->segment_count ? t->segments[t->segment_count - 1].first_seq : 1;
		r->last_seq = r->first_seq - 1;
	}
	if (from && until &&
		(from->seq > until->seq ||
			(from->by_time && until->by_time && from->time_ns > until->time_ns)))
		return err_set(err, ERR_USAGE, "the end lies before the beginning");
	if (until && until->seq < r->last_seq)
		r->last_seq = until->seq < r->first_seq ? r->first_seq - 1 : until->seq;
	if (from && from->seq >= r->first_seq)
		r->first_seq = from->seq < r->last_seq ? from->seq + 1 : r->last_seq + 1;
	return 0;
}

/* What the writer has to know before its first segment is begun. */
static void begin_numbers(struct remake *r)
{
	r->seqs.same = r->whole;
	r->seqs.first = r->first_seq;
	r->w->last_seq = r->w->durable_seq = r->whole ? r->first_seq - 1 : r->seqs.state_count;
}

static int remake_choose(struct remake *r, struct err *err)
{
	int rc;

	if ((rc = coverage_load(r->from, &r->coverage, err)) || (rc = remake_registry(r, err)) ||
		(rc = remake_choose_state(r, err)) || (rc = remake_find_begins(r, err)) ||
		(rc = remake_choose_documents(r, err)) || (rc = remake_rows_open(r, err)))
		return rc;
	begin_numbers(r);
	return 0;
}

static int end_segment(struct remake *r, uint64_t *sealed_bytes, struct err *err)
{
	struct tape_writer_stats stats;

	tape_writer_stats(r->w, &stats);
	if (r->o->one_segment || stats.disk_bytes - *sealed_bytes < SEGMENT_BYTES)
		return tape_writer_flush(r->w, err);
	*sealed_bytes = stats.disk_bytes;
	tape_writer_rotate(r->w);
	return tape_writer_flush(r->w, err);
}

static int put_segments(struct remake *r, struct err *err)
{
	uint64_t sealed_bytes = 0;
	int rc = 0;

	for (size_t i = 0; i < r->from->segment_count && !rc; i++) {
		bool last = i + 1 == r->from->segment_count;

		if ((rc = remake_put_events(r, i, err)) || (rc = remake_put_rows(r, i, err)) ||
			(rc = remake_put_documents(r, i, err)))
			return rc;
		rc = last ? 0 : end_segment(r, &sealed_bytes, err);
	}
	return rc;
}

static int put_all(struct remake *r, struct err *err)
{
	int rc = writer_ensure_segment(r->w, err);

	if (rc)
		return rc;
	remake_put_begins(r);
	if ((rc = remake_put_begin_documents(r, err)) || (rc = put_segments(r, err)))
		return rc;
	remake_put_held(r);
	if ((rc = remake_put_gaps(r, err)) || (rc = remake_put_missed(r, err)))
		return rc;
	remake_put_left_out(r);
	return tape_writer_flush(r->w, err);
}

static int write_tape(struct remake *r, const char *to, struct err *err)
{
	const struct tape_writer_options options = {.segment_bytes = UINT64_MAX, .program = r->o->program};
	int rc = tape_writer_open(to, &options, &r->w, err);

	if (rc)
		return rc;
	r->w->copying = r->w->bulk = true;
	r->w->packs_hard = r->o->packs_hard;
	r->w->seed = remake_put_state;
	r->w->seed_context = r;
	rc = remake_choose(r, err);
	if (!rc)
		rc = put_all(r, err);
	if (!rc)
		return tape_writer_close(r->w, err);
	tape_writer_abandon(r->w);
	return rc;
}

static void remake_release(struct remake *r)
{
	coverage_free(r->coverage);
	remake_rows_close(r);
	remake_documents_release(r);
	remake_streams_release(r);
	tape_state_free(r->state);
	free(r->state_wanted);
	free(r->gaps);
	seq_map_release(&r->seqs);
	buf_release(&r->names);
	buf_release(&r->scratch);
}

int remake_into(struct tape *from, const char *folder, const struct remake_options *options,
	struct remake_result *ret, struct err *err)
{
	struct remake r = {.from = from, .o = options, .whole = is_whole(options)};
	int rc = find_range(&r, err);

	tape_set_cache(from, CACHE_BYTES);
	buf_init(&r.names, 8 * LIMIT_NAME_BYTES);
	buf_init(&r.scratch, HOT_SCRATCH_BYTES);
	if (!rc)
		rc = write_tape(&r, folder, err);
	remake_release(&r);
	if (!rc)
		*ret = r.result;
	return rc;
}

static int carry_book(const char *from, const char *folder, const struct remake_hooks *hooks, struct err *err)
{
	const struct audit_rewrite rewrite = {hooks->rewrite_claim, hooks->context};

	return hooks->rewrite_claim ? audit_carry_all(from, folder, &rewrite, err)
				    : audit_carry(&from, 1, folder, false, err);
}

int tape_remake(struct tape *from, const char *to, const struct remake_options *options,
	struct remake_result *ret, struct err *err)
{
	struct remake_options own = *options;
	struct new_tape made;
	int rc = new_tape_begin(to, &made, err);

	if (rc)
		return rc;
	own.one_segment = own.one_segment || made.is_file;
	rc = remake_into(from, made.temporary, &own, ret, err);
	if (!rc)
		rc = carry_book(from->path, made.temporary, &own.hooks, err);
	if (!rc && own.hooks.check)
		rc = own.hooks.check(own.hooks.context, made.temporary, err);
	return new_tape_end(&made, rc, err);
}
