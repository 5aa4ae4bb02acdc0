/* merge.c: see merge.h. The order of things. */
#include "schema/base/limits.h"
#include "schema/tape/audit_carry.h"
#include "schema/tape/merge_internal.h"
#include "schema/tape/new_tape.h"

#include <stdlib.h>

/* Events are read in the order of time, by turns from both. */
#define CACHE_BYTES (160u << 20)

static int open_source(struct merge_source *s, struct tape *t, struct err *err)
{
	int rc;

	s->tape = t;
	tape_set_cache(t, CACHE_BYTES);
	rc = tape_info(t, &s->info, err);
	if (!rc)
		rc = coverage_load(t, &s->coverage, err);
	if (rc)
		return rc;
	s->span = coverage_span(s->coverage);
	s->seqs = xcalloc((size_t)s->info.events + 1, sizeof(*s->seqs));
	s->kept = xcalloc((size_t)s->info.events + 1, sizeof(*s->kept));
	return 0;
}

/* The one that begins first is the first. */
static void put_in_order(struct tape *const tapes[2], struct tape *ordered[2], bool *ret_swapped)
{
	struct tape_info infos[2];

	*ret_swapped = tape_info(tapes[0], &infos[0], NULL) == 0 &&
		       tape_info(tapes[1], &infos[1], NULL) == 0 && infos[0].events && infos[1].events &&
		       infos[1].first_time_ns < infos[0].first_time_ns;
	ordered[0] = tapes[*ret_swapped];
	ordered[1] = tapes[!*ret_swapped];
}

static int check_cluster(const struct merge *m, struct err *err)
{
	if (m->result.common || m->o->is_one_cluster || !m->sources[0].info.events ||
		!m->sources[1].info.events)
		return 0;
	return err_set(err, ERR_USAGE,
		"'%s' and '%s' have no version of an object in common: nothing shows that they are of one cluster",
		m->sources[0].tape->path, m->sources[1].tape->path);
}

static int merge_make(struct merge *m, struct err *err)
{
	int rc = writer_ensure_segment(m->w, err);

	if (rc || (rc = merge_registry(m, err)) || (rc = merge_read(m, err)) ||
		(rc = check_cluster(m, err)) || (rc = merge_read_gaps(m, err)))
		return rc;
	merge_sort(m);
	if ((rc = merge_put_entries(m, err)) || (rc = merge_put_rows(m, err)))
		return rc;
	return tape_writer_flush(m->w, err);
}

static void release(struct merge *m)
{
	merge_rows_release(m);
	merge_events_release(m);
	free(m->entries);
	free(m->times_ns);
	buf_release(&m->names);
}

static int write_tape(struct merge *m, const char *folder, struct err *err)
{
	const struct tape_writer_options options = {.segment_bytes = UINT64_MAX, .program = m->o->program};
	int rc = tape_writer_open(folder, &options, &m->w, err);

	if (rc)
		return rc;
	m->w->copying = m->w->bulk = true;
	rc = merge_make(m, err);
	release(m);
	if (!rc)
		return tape_writer_close(m->w, err);
	tape_writer_abandon(m->w);
	return rc;
}

static int merge(struct merge *m, struct tape *const tapes[2], const char *folder, struct err *err)
{
	int rc = 0;

	buf_init(&m->names, 8 * LIMIT_NAME_BYTES);
	for (size_t i = 0; i < 2 && !rc; i++)
		rc = open_source(&m->sources[i], tapes[i], err);
	if (!rc)
		return write_tape(m, folder, err);
	release(m);
	return rc;
}

static void swap_result(struct merge_result *r)
{
	uint64_t events = r->events[0];

	r->events[0] = r->events[1];
	r->events[1] = events;
	r->shift_ns = -r->shift_ns;
}

int tape_merge(struct tape *const tapes[2], const char *to, const struct merge_options *options,
	struct merge_result *ret, struct err *err)
{
	struct merge m = {.o = options};
	struct tape *ordered[2];
	struct new_tape made;
	bool swapped;
	int rc = new_tape_begin(to, &made, err);

	if (rc)
		return rc;
	put_in_order(tapes, ordered, &swapped);
	rc = merge(&m, ordered, made.temporary, err);
	if (!rc)
		rc = audit_carry(
			(const char *[]){tapes[0]->path, tapes[1]->path}, 2, made.temporary, false, err);
	rc = new_tape_end(&made, rc, err);
	if (swapped)
		swap_result(&m.result);
	if (!rc)
		*ret = m.result;
	return rc;
}
