/*
 * writer_group.c: which segments begin with the live objects. Where those are many they would be most of the tape
 * if every segment had them, so segments form groups:
 *
 *   base: the whole state, events  <--  events  <--  events        base: the whole state, events  <--  ...
 *
 * A group ends when it holds ten times what its own state takes, so that states are a tenth of a tape at most, and
 * before retention would have to wait for it. Where a state is small, every segment has one.
 */
#include "schema/base/limits.h"
#include "schema/tape/extent_store.h"
#include "schema/tape/reader_internal.h"
#include "schema/tape/state_extents.h"
#include "schema/tape/writer_internal.h"

#include <stdlib.h>
#include <sys/stat.h>

/* JSON of live objects is about eight times what it takes on disk. */
#define STATE_RATIO 8

/* ---- when ---- */

static bool retention_wants_another(const struct tape_writer *w)
{
	const struct retention *r = &w->options.retention;
	int64_t age_ns = time_sub(clock_wall_ns(w->options.clock), w->group.began_ns);

	return w->group.holds_up ||
	       (r->max_bytes && w->group.disk_bytes >= r->max_bytes / TAPE_RETAINED_GROUPS) ||
	       (r->max_age_ns && age_ns >= r->max_age_ns / TAPE_RETAINED_GROUPS);
}

bool writer_group_is_over(const struct tape_writer *w)
{
	const struct segment_group *g = &w->group;

	if (!g->base || !g->live_known || w->copying || g->live_bytes < w->options.small_state_bytes)
		return true;
	return g->disk_bytes >= TAPE_GROUP_STATES * (g->live_bytes / STATE_RATIO) ||
	       retention_wants_another(w);
}

void writer_group_begin(struct tape_writer *w, int64_t now_ns)
{
	struct segment_group *g = &w->group;

	*g = (struct segment_group){.base = w->segment,
		.began_ns = now_ns,
		.live_bytes = g->live_bytes,
		.live_known = g->live_known || (w->segment == 1 && !w->copying)};
}

/* ---- how much lives ---- */

static void count_live(uint64_t *live_bytes, enum event_type type, uint64_t bytes)
{
	if (type == EVENT_ADDED)
		*live_bytes += bytes;
	else if (type == EVENT_DELETED)
		*live_bytes -= bytes < *live_bytes ? bytes : *live_bytes;
}

void writer_group_count(struct tape_writer *w, enum event_type type, size_t bytes)
{
	count_live(&w->group.live_bytes, type, bytes);
}

int writer_group_note(struct tape_writer *w, struct err *err)
{
	if (!w->group.live_known)
		return 0;
	return extent_store_meta(w->db, "live_bytes", value_integer((int64_t)w->group.live_bytes), err);
}

/* ---- the state ---- */

struct state_copy {
	struct state_extents to;
	struct err *err;
};

static int copy_live(void *context, const struct event *e, struct slice object)
{
	struct state_copy *c = context;

	return state_extents_add(&c->to, e, object, c->err);
}

/* Extents of state get the ids before the first one of events. */
static int put_live(struct tape_writer *w, sqlite3 *db, struct tape *t, struct err *err)
{
	struct state_copy c = {.err = err};
	int rc;

	state_extents_init(&c.to, db, &w->extent_id, &writer_seal_options);
	rc = reader_each_live(t, w->durable_seq, copy_live, &c, err);
	if (!rc)
		rc = state_extents_end(&c.to, err);
	state_extents_release(&c.to);
	return rc;
}

/* The sealed segments from `base` on that come before the one that is being made. */
static struct segment_file *list_sealed(const struct tape_writer *w, uint32_t base, size_t *ret_count)
{
	size_t count = w->segment - base;
	struct segment_file *list = xcalloc(count, sizeof(*list));

	for (size_t i = 0; i < count; i++) {
		uint32_t number = base + (uint32_t)i;

		list[i] = (struct segment_file){
			number, true, xasprintf("%s/" FORMAT_SEALED_NAME, w->path, number)};
	}
	*ret_count = count;
	return list;
}

/* What the open extent does not need now is given back: a state is made in that room. */
int writer_put_state(struct tape_writer *w, sqlite3 *db, struct err *err)
{
	struct segment_file *list;
	struct tape *t;
	size_t count;
	int rc;

	tape_writer_trim(w);
	list = list_sealed(w, w->group.base, &count);
	rc = reader_open_segments(list, count, &t, err);
	segment_list_free(list, count);
	if (rc)
		return rc;
	rc = put_live(w, db, t, err);
	tape_close(t);
	return rc;
}

/* ---- going on with a tape ---- */

int writer_group_recover(struct tape_writer *w, const struct segment_file *file, sqlite3 *db, struct err *err)
{
	struct segment_group *g = &w->group;
	int64_t complete = 0, created_ns = 0, live_bytes = -1, state_bytes = 0;
	uint32_t base;
	struct stat st;
	int rc = segment_number(db, "SELECT value FROM meta WHERE key = 'state_complete'", 0, &complete, err);

	if (rc || !complete) /* a writer was killed while it made the segment: it is thrown away */
		return rc;
	if ((rc = segment_base(db, file->number, &base, err)) ||
		(rc = segment_number(
			 db, "SELECT value FROM meta WHERE key = 'created_ns'", 0, &created_ns, err)) ||
		(rc = segment_number(
			 db, "SELECT value FROM meta WHERE key = 'live_bytes'", -1, &live_bytes, err)) ||
		(rc = segment_number(
			 db, "SELECT sum(raw_bytes) FROM extent WHERE kind = 'state'", 0, &state_bytes, err)))
		return rc;
	if (base == file->number)
		*g = (struct segment_group){
			.base = base, .began_ns = created_ns, .live_bytes = (uint64_t)state_bytes};
	if (live_bytes >= 0)
		g->live_bytes = (uint64_t)live_bytes;
	g->live_known = live_bytes >= 0;
	if (file->sealed && stat(file->path, &st) == 0)
		g->disk_bytes += (uint64_t)st.st_size;
	return 0;
}

static int measure(struct tape *t, uint64_t *live_bytes, struct err *err)
{
	struct tape_cursor *cursor;
	struct event e;
	int rc = tape_cursor_open(t, NULL, TAPE_STORED, &cursor, err);

	if (rc)
		return rc;
	while ((rc = tape_cursor_next(cursor, &e, err)) > 0)
		count_live(live_bytes, e.type, e.bytes);
	tape_cursor_close(cursor);
	return rc;
}

void writer_group_measure(struct tape_writer *w, const struct segment_file *last)
{
	uint64_t live_bytes = w->group.live_bytes;
	struct tape *t;

	if (w->group.live_known || last->number != w->segment || reader_open_segments(last, 1, &t, NULL))
		return;
	if (measure(t, &live_bytes, NULL) == 0) {
		w->group.live_bytes = live_bytes;
		w->group.live_known = true;
	}
	tape_close(t);
}
