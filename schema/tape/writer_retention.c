/* writer_retention.c: removing old segments while a tape is written. See retention.h. */
#include "schema/tape/audit_keep.h"
#include "schema/tape/segment.h"
#include "schema/tape/writer_internal.h"

/* Segments are looked at when one was sealed, and that often for their age and for free space. */
#define RETENTION_EVERY_NS (60 * NS_PER_S)

bool writer_retains_now(const struct tape_writer *w)
{
	if (!retention_is_set(&w->options.retention) || w->sealed_segments == 0)
		return false;
	return !w->retained_ns || clock_mono_ns(w->options.clock) - w->retained_ns >= RETENTION_EVERY_NS;
}

/* A book that cannot be written now is no reason to stop: the next removal makes up for it. */
static void prune_book(const struct tape_writer *w)
{
	int64_t pruned = audit_book_prune(w->path, NULL);

	(void)pruned;
}

static int apply(struct tape_writer *w, const struct retention *limits, struct err *err)
{
	struct retention_removed removed;
	int rc = retention_apply(w->path, limits, clock_wall_ns(w->options.clock), &removed, err);

	w->removed.segments += removed.segments;
	w->removed.bytes += removed.bytes;
	w->group.holds_up |= removed.held_up;
	w->removed.forced += removed.forced;
	if (removed.segments)
		prune_book(w);
	return rc;
}

int writer_retain(struct tape_writer *w, struct err *err)
{
	struct retention limits = w->options.retention;

	if (!writer_retains_now(w))
		return 0;
	w->retained_ns = clock_mono_ns(w->options.clock);
	limits.leaves_room = true;
	limits.hold_ns = w->hold_ns;
	return apply(w, &limits, err);
}

void writer_make_room_to_seal(struct tape_writer *w)
{
	const struct segment_file open = {
		.number = w->segment, .path = (char *)sqlite3_db_filename(w->db, "main")};
	struct retention limits = w->options.retention;
	uint64_t beside;

	if (!limits.max_bytes)
		return;
	beside = segment_file_bytes(&open) - writer_open_bytes(w) / 4;
	limits.max_bytes -= beside < limits.max_bytes ? beside : limits.max_bytes - 1;
	limits.hold_ns = w->hold_ns;
	limits.max_age_ns = 0;
	limits.keep_free_bytes = 0;
	(void)!apply(w, &limits, NULL);
}

bool writer_frees_space(struct tape_writer *w)
{
	uint64_t before = w->removed.segments;

	w->retained_ns = 0;
	return writer_retain(w, NULL) == 0 && w->removed.segments > before;
}

void writer_make_room(struct tape_writer *w)
{
	struct retention limits = w->options.retention;
	struct retention_removed *removed = &w->removed;

	limits.max_bytes = 0;
	limits.max_age_ns = 0;
	if (limits.keep_free_bytes)
		(void)!retention_apply(w->path, &limits, 0, removed, NULL);
	w->sealed_segments = removed->segments;
	w->sealed_disk_bytes = removed->bytes;
}
