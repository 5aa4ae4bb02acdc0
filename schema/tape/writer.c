/*
 * writer.c: appending and flushing, see writer.h for the promises and writer_internal.h for the path of an
 * event.
 */
#include "schema/base/limits.h"
#include "schema/tape/audit_keep.h"
#include "schema/tape/hot.h"
#include "schema/tape/segment.h"
#include "schema/tape/writer_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* What the next event may add to what an extent takes in memory: its names and head, and the slots doubled.
 */
#define INDEX_ROOM_BYTES (24u << 20)

#define DEFAULT_SEGMENT_BYTES     (256u << 20)
#define DEFAULT_SMALL_STATE_BYTES (2u << 20)

/* Records are compressed when this many wait, also between flushes: while the caches have them, and a flush has
 * less to do. */
#define COMPRESS_BYTES (256u << 10)

/* So much of it becomes a row of its own: SQLite copies a row twice on its way to the disk. */
#define CHUNK_BYTES (1u << 20)

/* SQLite's log is copied into the database when it has this many pages; by us, not within a commit. */
#define CHECKPOINT_PAGES 1000

/* Wall clock against monotonic: a smaller step than this is the kernel's steady correction, not a step. */
#define CLOCK_STEP_NS (1 * NS_PER_MS)

static void read_boot_id(char to[40])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	to[0] = 0;
	if (!file)
		return;
	if (fgets(to, 40, file))
		to[strcspn(to, "\n")] = 0;
	fclose(file);
}

/* Retention removes whole segments: a tape of a given size wants a good number of them. */
static uint64_t default_segment_bytes(const struct retention *r)
{
	uint64_t eighth = r->max_bytes / 8;

	return r->max_bytes && eighth < DEFAULT_SEGMENT_BYTES ? eighth : DEFAULT_SEGMENT_BYTES;
}

static void set_options(struct tape_writer *w, const struct tape_writer_options *options)
{
	if (options)
		w->options = *options;
	if (!w->options.extent_bytes)
		w->options.extent_bytes =
			retention_extent_bytes(w->options.retention.max_bytes, TAPE_EXTENT_BYTES);
	if (w->options.extent_bytes > LIMIT_HOT_BYTES / 2)
		w->options.extent_bytes = LIMIT_HOT_BYTES / 2;
	if (!w->options.segment_bytes)
		w->options.segment_bytes = default_segment_bytes(&w->options.retention);
	if (w->options.segment_bytes > LIMIT_SEGMENT_BYTES / 4 && w->options.segment_bytes != UINT64_MAX)
		w->options.segment_bytes = LIMIT_SEGMENT_BYTES / 4;
	if (!w->options.small_state_bytes)
		w->options.small_state_bytes = DEFAULT_SMALL_STATE_BYTES;
	if (!w->options.clock)
		w->options.clock = &clock_system;
}

int tape_writer_open(const char *path, const struct tape_writer_options *options, struct tape_writer **ret,
	struct err *err)
{
	struct tape_writer *w;
	struct tape_lock lock;
	int rc = tape_lock_take(path, &lock, err);

	if (rc)
		return rc;
	w = xcalloc(1, sizeof(*w));
	w->lock = lock;
	w->path = segment_tape_path(path);
	w->rows = row_queue_new();
	w->frame = frame_writer_new();
	w->extent = extent_new();
	buf_init(&w->chunk, LIMIT_CHUNK_BYTES);
	buf_init(&w->scratch, 4 * LIMIT_NAME_BYTES);
	set_options(w, options);
	read_boot_id(w->boot_id);
	w->extent_began_ns = clock_mono_ns(w->options.clock);
	writer_make_room(w); /* what a crash left on a full disk cannot be gone on with */
	rc = writer_recover(w, err);
	if (rc) {
		tape_writer_abandon(w);
		return rc;
	}
	w->durable_seq = w->last_seq;
	*ret = w;
	return 0;
}

bool tape_writer_is_new(const struct tape_writer *w)
{
	return w->is_new;
}

static void close_segment(struct tape_writer *w)
{
	row_statements_release(&w->statements);
	sqlite3_close(w->db);
	w->db = NULL;
}

void tape_writer_discard(struct tape_writer *w)
{
	if (!w)
		return;
	if (w->is_new && tape_writer_check_place(w, NULL) == 0) {
		close_segment(w);
		segment_remove_files(w->path);
		w->segment = 0;
	}
	tape_writer_abandon(w);
}

void tape_writer_abandon(struct tape_writer *w)
{
	if (!w)
		return;
	close_segment(w);
	row_queue_free(w->rows);
	frame_writer_free(w->frame);
	extent_unref(w->extent);
	registry_release(&w->registry);
	buf_release(&w->chunk);
	buf_release(&w->scratch);
	tape_lock_release(w->path, &w->lock, !w->segment);
	free(w->tape_id);
	free(w->path);
	free(w);
}

static bool has_pending(const struct tape_writer *w)
{
	return w->last_seq > w->durable_seq || !row_queue_empty(w->rows);
}

static int writer_finish(struct tape_writer *w, struct err *err)
{
	int rc = tape_writer_flush(w, err);

	if (!rc)
		rc = tape_writer_check_place(w, err);
	if (!rc && w->db)
		rc = writer_seal_extent(w, err);
	if (!rc && w->db)
		rc = writer_seal_segment(w, err);
	return rc;
}

/* Sealing writes all it needs anew, so that a disk which failed once may be asked again. */
int tape_writer_close(struct tape_writer *w, struct err *err)
{
	int rc = writer_finish(w, err);

	if (rc == ERR_IO)
		rc = writer_finish(w, err);
	if (w->misplaced) {
		tape_writer_abandon(w);
		return rc;
	}
	if (rc && !has_pending(w))
		err_suffix(err, rc, "all events are stored, and the next writer of the tape seals them");
	else if (rc && w->last_seq > w->durable_seq)
		err_suffix(err, rc, "the last %ju events are not stored",
			(uintmax_t)(w->last_seq - w->durable_seq));
	tape_writer_abandon(w);
	return rc;
}

static struct slice uncompressed(const struct tape_writer *w)
{
	const struct buf *b = &w->extent->bytes;

	if (b->len == w->compressed_bytes)
		return (struct slice){NULL, 0};
	return (struct slice){b->ptr + w->compressed_bytes, b->len - w->compressed_bytes};
}

/* Only memory can be missing here. The frame is then of no use, and what follows would not be decodable. */
static int compress_pending(struct tape_writer *w, bool flush, struct err *err)
{
	struct slice records = uncompressed(w);
	int rc;

	if (w->frame_broken)
		return err_set(
			err, ERR_FAILED, "tape '%s' cannot go on after a failure to compress", w->path);
	rc = frame_writer_put(w->frame, records, flush, &w->chunk, err);
	if (rc) {
		w->frame_broken = true;
		return rc;
	}
	w->chunk_raw_bytes += records.len;
	w->compressed_bytes += records.len;
	return 0;
}

int writer_end_frame(struct tape_writer *w, struct err *err)
{
	int rc = w->bulk ? 0 : compress_pending(w, false, err);

	if (rc || w->bulk)
		return rc;
	rc = frame_writer_end(w->frame, &w->chunk, err);
	w->frame_broken = rc != 0;
	return rc;
}

static void queue_chunk(struct tape_writer *w)
{
	const struct hot_chunk chunk = {
		.id = w->next_chunk_id,
		.extent = w->extent_id,
		.first_seq = w->chunk_first_seq,
		.events = (int64_t)w->chunk_events,
		.first_time_ns = w->chunk_first_time_ns,
		.raw_bytes = (int64_t)w->chunk_raw_bytes,
		.data = buf_slice(&w->chunk),
	};
	struct value values[] = {
		value_integer(chunk.id),
		value_integer(chunk.extent),
		value_integer((int64_t)chunk.first_seq),
		value_integer(chunk.events),
		value_integer(chunk.first_time_ns),
		value_integer(chunk.raw_bytes),
		value_integer((int64_t)hot_chunk_sum(&chunk)),
		value_blob(chunk.data),
	};

	row_queue_add(w->rows, TABLE_CHUNK, values);
}

/* What came since the last chunk becomes the next one. The extent has its id only in an open segment. */
static int finish_chunk(struct tape_writer *w, struct err *err)
{
	int rc = compress_pending(w, true, err);

	if (rc)
		return rc;
	queue_chunk(w);
	w->next_chunk_id++;
	w->chunk_events = 0;
	w->chunk_raw_bytes = 0;
	buf_clear(&w->chunk);
	return 0;
}

/* Between flushes: what has come is compressed, and cut when it is much. */
static int compress_some(struct tape_writer *w, struct err *err)
{
	if (uncompressed(w).len < COMPRESS_BYTES)
		return 0;
	if (w->db && w->chunk.len >= CHUNK_BYTES)
		return finish_chunk(w, err);
	return compress_pending(w, false, err);
}

static void begin_chunk(struct tape_writer *w, const struct event *e)
{
	w->chunk_first_seq = e->seq;
	w->chunk_first_time_ns = e->time_ns;
	w->last_time_ns = e->time_ns;
}

/* An extent and an object more is the most that we hold when it cannot be flushed or sealed (full disk), and
 * no more than readers take. */
static int check_room(const struct tape_writer *w, size_t more, struct err *err)
{
	const struct extent *x = w->extent;
	size_t index = extent_index_memory(x) + INDEX_ROOM_BYTES;

	if (x->bytes.len + more <= w->options.extent_bytes + LIMIT_OBJECT_BYTES &&
		x->bytes.len + more + index <= LIMIT_HOT_BYTES && index <= LIMIT_EXTENT_MEMORY &&
		x->event_count < LIMIT_EXTENT_EVENTS)
		return 0;
	return err_set(err, ERR_NO_SPACE,
		"tape '%s' holds %zu bytes that it could not store: no more until it can", w->path,
		x->bytes.len);
}

int tape_writer_append(
	struct tape_writer *w, const struct event *e, struct slice object, uint64_t *ret_seq, struct err *err)
{
	struct object_meta meta;
	int rc;

	rc = json_scan_object(object, &meta, err);
	if (rc)
		return rc;
	return tape_writer_append_scanned(w, e, object, &meta, ret_seq, err);
}

/* The extent's bytes are the records as they are compressed: each object is copied once. */
static int put_record(struct tape_writer *w, const struct event *e, struct slice object, struct err *err)
{
	struct extent *x = w->extent;
	size_t before = x->bytes.len;
	int rc;

	if (w->chunk_events == 0)
		begin_chunk(w, e);
	if ((rc = hot_put_head(&x->bytes, e, object.len, w->last_time_ns, err)) ||
		(rc = extent_add(x, e, object, err))) {
		x->bytes.len = before;
		return rc;
	}
	return 0;
}

int tape_writer_append_scanned(struct tape_writer *w, const struct event *e, struct slice object,
	const struct object_meta *scanned, uint64_t *ret_seq, struct err *err)
{
	const struct tape_stream *stream = registry_stream(&w->registry, e->stream);
	bool was_full = tape_writer_is_full(w);
	struct event own = *e;
	int rc;

	if (!stream)
		return err_set(
			err, ERR_USAGE, "event names stream %u, which the tape does not have", e->stream);
	own.seq = w->last_seq + 1;
	own.resource = stream->resource;
	if ((rc = compress_some(w, err)) || (rc = check_room(w, object.len, err)) ||
		(rc = hot_identify_scanned(&own, object, scanned, &w->scratch, err)) ||
		(rc = put_record(w, &own, object, err)))
		return rc;
	w->last_time_ns = own.time_ns;
	w->chunk_events++;
	w->last_seq++;
	writer_group_count(w, own.type, object.len);
	if (ret_seq)
		*ret_seq = own.seq;
	return !was_full && tape_writer_is_full(w) ? writer_end_frame(w, err) : 0;
}

/* A row when the two clocks have moved against each other, and one at the start. */
static void note_clock(struct tape_writer *w)
{
	int64_t mono_ns = clock_mono_ns(w->options.clock), wall_ns = clock_wall_ns(w->options.clock);
	int64_t moved = wall_ns - mono_ns - w->wall_minus_mono_ns;
	struct value values[] = {value_integer(0), value_integer((int64_t)w->last_seq),
		value_integer(wall_ns), value_integer(mono_ns), value_text(w->boot_id)};

	if (w->copying)
		return;
	if (w->clock_known && moved > -CLOCK_STEP_NS && moved < CLOCK_STEP_NS)
		return;
	values[0].integer = ++w->ids[TABLE_CLOCK];
	row_queue_add(w->rows, TABLE_CLOCK, values);
	w->wall_minus_mono_ns = wall_ns - mono_ns;
	w->clock_known = true;
}

static int commit_pending(struct tape_writer *w, struct err *err)
{
	int rc = row_begin(&w->statements, err);

	if (rc)
		return rc;
	rc = row_queue_insert(w->rows, &w->statements, err);
	if (!rc)
		rc = row_commit(&w->statements, err);
	if (rc) {
		sqlite3_exec(w->db, "ROLLBACK", NULL, NULL, NULL);
		return err_prefix(err, rc, "tape '%s'", w->path);
	}
	row_queue_clear(w->rows);
	w->durable_seq = w->last_seq;
	return 0;
}

bool tape_writer_is_full(const struct tape_writer *w)
{
	return w->extent->raw_bytes >= w->options.extent_bytes ||
	       w->extent->event_count >= LIMIT_EXTENT_EVENTS / 2 ||
	       extent_index_memory(w->extent) >= LIMIT_EXTENT_MEMORY / 2;
}

static bool extent_is_full(const struct tape_writer *w)
{
	int64_t age_ns = clock_mono_ns(w->options.clock) - w->extent_began_ns;

	if (w->extent->event_count == 0)
		return false;
	return tape_writer_is_full(w) || (w->options.extent_age_ns && age_ns >= w->options.extent_age_ns);
}

uint64_t writer_open_bytes(const struct tape_writer *w)
{
	struct stat st;

	return w->db && stat(sqlite3_db_filename(w->db, "main"), &st) == 0 ? (uint64_t)st.st_size : 0;
}

static bool segment_is_full(const struct tape_writer *w)
{
	const struct tape_writer_options *o = &w->options;
	uint64_t bytes;

	if (w->rotate_wanted)
		return true;
	if (o->segment_events && w->last_seq - w->segment_first_seq + 1 >= o->segment_events)
		return true;
	if (o->segment_age_ns && clock_mono_ns(o->clock) - w->segment_began_ns >= o->segment_age_ns)
		return true;
	/* What a segment begins with (live objects, documents) must not fill it. */
	bytes = writer_open_bytes(w);
	return bytes >= w->segment_born_bytes && bytes - w->segment_born_bytes >= o->segment_bytes;
}

static int seal_what_is_full(struct tape_writer *w, struct err *err)
{
	bool rotate = segment_is_full(w);
	int rc;

	if (!rotate && !extent_is_full(w))
		return 0;
	rc = writer_seal_extent(w, err);
	if (rc)
		return rc;
	return rotate ? writer_seal_segment(w, err) : 0;
}

/* One that does not succeed is made up for by the next. */
static void checkpoint(struct tape_writer *w)
{
	if (!w->db || w->wal_pages < CHECKPOINT_PAGES)
		return;
	w->wal_pages = 0;
	(void)sqlite3_wal_checkpoint_v2(w->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

/* On a full disk the step is tried once more if room can be made. */
static int with_room(
	struct tape_writer *w, int (*step)(struct tape_writer *w, struct err *err), struct err *err)
{
	struct err full;
	int rc = step(w, &full);

	if (rc == ERR_NO_SPACE && writer_frees_space(w))
		return step(w, err);
	return rc ? err_copy(err, &full) : 0;
}

/* What is due beside making things durable. */
static int tend(struct tape_writer *w, struct err *err)
{
	int rc = 0;

	if (w->db)
		rc = with_room(w, seal_what_is_full, err);
	else
		w->rotate_wanted = false; /* the next segment is a new one anyway */
	if (!rc)
		rc = writer_retain(w, err);
	checkpoint(w); /* also of what was tried in vain */
	return rc;
}

static int commit(struct tape_writer *w, struct err *err)
{
	int rc;

	if (w->last_seq > w->durable_seq)
		note_clock(w);
	rc = writer_ensure_segment(w, err);
	if (rc)
		return rc;
	if (w->chunk_events && (rc = finish_chunk(w, err)))
		return rc;
	return commit_pending(w, err);
}

/* A tape that is not there any more explains every other failure. */
int tape_writer_commit(struct tape_writer *w, struct err *err)
{
	int rc, misplaced;

	if (!has_pending(w))
		return 0;
	rc = with_room(w, commit, err);
	misplaced = tape_writer_check_place(w, err);
	return misplaced ? misplaced : rc;
}

int tape_writer_flush(struct tape_writer *w, struct err *err)
{
	int rc = tape_writer_commit(w, err), misplaced;

	if (rc)
		return rc;
	rc = tend(w, err);
	misplaced = rc ? tape_writer_check_place(w, err) : 0;
	return misplaced ? misplaced : rc;
}

uint64_t tape_writer_pending_bytes(const struct tape_writer *w)
{
	return uncompressed(w).len + w->chunk.len + row_queue_bytes(w->rows);
}

void tape_writer_work(const struct tape_writer *w, struct tape_writer_work *ret)
{
	*ret = (struct tape_writer_work){
		.pending_bytes = tape_writer_pending_bytes(w),
		.memory_bytes = extent_memory(w->extent) + frame_writer_memory(w->frame),
		.extent_bytes = w->options.extent_bytes,
		.takes_long = writer_retains_now(w) || extent_is_full(w) ||
			      (w->db ? segment_is_full(w) || w->wal_pages >= CHECKPOINT_PAGES
				     : w->segment && has_pending(w)),
	};
}

void tape_writer_hold(struct tape_writer *w, int64_t time_ns)
{
	w->hold_ns = time_ns;
}

void tape_writer_trim(struct tape_writer *w)
{
	extent_trim(w->extent);
}

bool tape_writer_object(const struct tape_writer *w, uint64_t seq, struct slice *ret)
{
	const struct extent *x = w->extent;
	size_t at = extent_find_seq(x, seq);

	if (at == x->event_count || x->events[at].seq != seq)
		return false;
	*ret = (struct slice){x->bytes.ptr + x->events[at].offset, x->events[at].length};
	return true;
}

void tape_writer_rotate(struct tape_writer *w)
{
	w->rotate_wanted = true;
}

void tape_writer_stats(const struct tape_writer *w, struct tape_writer_stats *ret)
{
	*ret = (struct tape_writer_stats){
		.last_seq = w->last_seq,
		.durable_seq = w->durable_seq,
		.segments = w->sealed_segments - w->removed.segments + (w->db != NULL),
		.raw_bytes = w->sealed_raw_bytes + w->extent->raw_bytes,
		.disk_bytes = w->sealed_disk_bytes - w->removed.bytes + writer_open_bytes(w),
		.removed_segments = w->removed.segments,
		.forced_segments = w->removed.forced,
		.pending_bytes = tape_writer_pending_bytes(w),
	};
}
