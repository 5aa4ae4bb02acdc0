/* reader.c: opening a tape and keeping up with its writer, see reader.h. */
#include "schema/base/limits.h"
#include "schema/tape/reader_internal.h"

#include <stdlib.h>
#include <sys/stat.h>

/* Databases held open at once; a tape may have more segments than the process may have files. */
#define MAX_OPEN_SEGMENTS 64

#define DEFAULT_CACHE_BYTES (96u << 20) /* an extent and a half: what an ordered scan touches */

static void close_segment(struct tape *t, struct tape_segment *s)
{
	if (!s->db)
		return;
	sqlite3_finalize(s->read_block);
	sqlite3_close(s->db);
	s->read_block = NULL;
	s->db = NULL;
	t->open_count--;
}

static void close_least_used(struct tape *t)
{
	struct tape_segment *oldest = NULL;

	for (size_t i = 0; i < t->segment_count; i++) {
		struct tape_segment *s = &t->segments[i];

		if (s->db && s->file.sealed && (!oldest || s->used < oldest->used))
			oldest = s;
	}
	if (oldest)
		close_segment(t, oldest);
}

/* The writer may have sealed it since we looked: then it has another name, and no writer. */
static int open_segment(struct tape *t, struct tape_segment *s, struct err *err)
{
	struct segment_file *list;
	size_t count;
	int failed = segment_open(&s->file, false, &s->db, err);

	if (!failed || s->file.sealed)
		return failed;
	if (segment_list(t->path, &list, &count, err))
		return err->code;
	for (size_t i = 0; i < count; i++) {
		if (list[i].number == s->file.number && list[i].sealed) {
			free(s->file.path);
			s->file = (struct segment_file){list[i].number, true, xstrdup(list[i].path)};
			failed = segment_open(&s->file, false, &s->db, err);
		}
	}
	segment_list_free(list, count);
	return failed;
}

sqlite3 *reader_db(struct tape *t, size_t segment, struct err *err)
{
	struct tape_segment *s = &t->segments[segment];

	s->used = ++t->tick;
	if (s->db)
		return s->db;
	if (t->open_count >= MAX_OPEN_SEGMENTS)
		close_least_used(t);
	if (open_segment(t, s, err))
		return NULL;
	t->open_count++;
	return s->db;
}

static struct tape_extent *add_extent(struct tape *t)
{
	t->extents = xrealloc(t->extents, (t->extent_count + 1) * sizeof(*t->extents));
	t->extents[t->extent_count] = (struct tape_extent){0};
	return &t->extents[t->extent_count++];
}

static uint64_t last_sealed_seq(const struct tape *t)
{
	for (size_t i = t->extent_count; i-- > 0;) {
		if (!t->extents[i].is_state)
			return t->extents[i].last_seq;
	}
	return 0;
}

static int check_extent(
	const struct tape *t, const struct tape_extent *x, uint64_t previous_last, struct err *err)
{
	const char *path = t->segments[x->segment].file.path;

	if (x->id < 1 || x->events == 0 || x->events > LIMIT_EXTENT_EVENTS || x->first_seq == 0 ||
		x->last_seq < x->first_seq || x->last_seq - x->first_seq >= INT64_MAX ||
		x->last_seq - x->first_seq + 1 < x->events ||
		(!x->is_state && x->last_seq - x->first_seq + 1 != x->events))
		return err_set(err, ERR_CORRUPT,
			"extent %lld of '%s' makes no sense: %llu events from %llu to %llu", (long long)x->id,
			path, (unsigned long long)x->events, (unsigned long long)x->first_seq,
			(unsigned long long)x->last_seq);
	if (!x->is_state && previous_last && x->first_seq != previous_last + 1)
		return err_set(err, ERR_CORRUPT, "extent %lld of '%s' begins at event %llu, expected %llu",
			(long long)x->id, path, (unsigned long long)x->first_seq,
			(unsigned long long)previous_last + 1);
	return 0;
}

static int load_extents(struct tape *t, size_t segment, sqlite3 *db, struct err *err)
{
	struct tape_segment *s = &t->segments[segment];
	sqlite3_stmt *rows = segment_prepare(db,
		"SELECT id, kind = 'state', first_seq, last_seq, events, raw_bytes, min_time_ns, max_time_ns "
		"FROM extent "
		"WHERE id > ? ORDER BY id",
		err);
	int step, failed = 0;

	if (!rows)
		return err->code;
	sqlite3_bind_int64(rows, 1, s->last_extent);
	while (!failed && (step = sqlite3_step(rows)) == SQLITE_ROW) {
		uint64_t previous_last = last_sealed_seq(t);
		struct tape_extent *x = add_extent(t);

		*x = (struct tape_extent){
			.segment = segment,
			.id = sqlite3_column_int64(rows, 0),
			.is_state = sqlite3_column_int(rows, 1) != 0,
			.first_seq = (uint64_t)sqlite3_column_int64(rows, 2),
			.last_seq = (uint64_t)sqlite3_column_int64(rows, 3),
			.events = (uint64_t)sqlite3_column_int64(rows, 4),
			.raw_bytes = (uint64_t)sqlite3_column_int64(rows, 5),
			.min_time_ns = sqlite3_column_int64(rows, 6),
			.max_time_ns = sqlite3_column_int64(rows, 7),
		};
		s->last_extent = x->id;
		failed = check_extent(t, x, previous_last, err);
		t->extent_count -= failed != 0;
	}
	if (!failed && step != SQLITE_DONE)
		failed = segment_failed(db, err, "cannot read '%s'", s->file.path);
	sqlite3_finalize(rows);
	return failed;
}

static int check_hot(const struct tape *t, const struct tape_segment *s, struct err *err)
{
	uint64_t last = last_sealed_seq(t), expected = last ? last + 1 : s->first_seq;

	if (t->hot.extent->event_count == 0 || extent_first_seq(t->hot.extent) == expected)
		return 0;
	return err_set(err, ERR_CORRUPT, "chunks of '%s' begin at event %llu, expected %llu", s->file.path,
		(unsigned long long)extent_first_seq(t->hot.extent), (unsigned long long)expected);
}

/* Sees extents and chunks in one snapshot, so that an extent is either hot or sealed. */
static int load_segment(struct tape *t, size_t segment, struct err *err)
{
	struct tape_segment *s = &t->segments[segment];
	sqlite3 *db = reader_db(t, segment, err);
	int64_t has_state = 0, first_seq = 0;
	int failed;

	if (!db || segment_exec(db, "BEGIN", err))
		return err->code;
	failed = registry_load(&t->registry, db, err);
	if (!failed)
		failed = load_extents(t, segment, db, err);
	if (!failed && t->hot.extent_id && (int64_t)t->hot.extent_id <= s->last_extent) {
		hot_reader_release(&t->hot);
		hot_reader_init(&t->hot);
	}
	if (!failed && segment + 1 == t->segment_count) {
		failed = hot_reader_load(&t->hot, db, &t->registry, err);
		failed = failed < 0 ? failed : 0;
	}
	if (!failed)
		failed = segment_number(
				 db, "SELECT value FROM meta WHERE key = 'first_seq'", 1, &first_seq, err) ||
			 segment_number(db, "SELECT value FROM meta WHERE key = 'state_complete'", 0,
				 &has_state, err);
	s->first_seq = (uint64_t)first_seq;
	s->has_state = has_state != 0;
	if (!failed)
		failed = check_hot(t, s, err);
	sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	return failed;
}

/* The open segment that we knew may have been sealed since: its file has another name, and the old one is
 * gone from the directory. Extents and blocks keep their ids. */
static void follow_seal(struct tape *t, const struct segment_file *file)
{
	struct tape_segment *s = t->segment_count ? &t->segments[t->segment_count - 1] : NULL;

	if (!s || s->file.number != file->number || s->file.sealed || !file->sealed)
		return;
	close_segment(t, s);
	free(s->file.path);
	s->file = (struct segment_file){file->number, true, xstrdup(file->path)};
}

/* Brings the list of segments up to date; what we knew keeps its place. */
static int merge_segments(struct tape *t, struct segment_file *list, size_t count, struct err *err)
{
	uint32_t last = t->segment_count ? t->segments[t->segment_count - 1].file.number : 0;

	for (size_t i = 0; i < count; i++) {
		follow_seal(t, &list[i]);
		if (list[i].number <= last)
			continue;
		if (last && list[i].number != last + 1)
			return err_set(err, ERR_CORRUPT, "tape '%s' has segment %u but not segment %u",
				t->path, list[i].number, last + 1);
		last = list[i].number;
		t->segments = xrealloc(t->segments, (t->segment_count + 1) * sizeof(*t->segments));
		t->segments[t->segment_count++] = (struct tape_segment){
			.file = {list[i].number, list[i].sealed, xstrdup(list[i].path)},
		};
	}
	return 0;
}

static uint64_t last_seq(const struct tape *t)
{
	return t->hot.extent->event_count ? extent_last_seq(t->hot.extent) : last_sealed_seq(t);
}

static int load_new(struct tape *t, struct err *err)
{
	size_t first_to_load = t->segment_count ? t->segment_count - 1 : 0;
	struct segment_file *list;
	size_t count;
	int failed = segment_list(t->path, &list, &count, err);

	if (failed)
		return failed;
	failed = merge_segments(t, list, count, err);
	segment_list_free(list, count);
	for (size_t i = first_to_load; i < t->segment_count && !failed; i++) {
		if (i > first_to_load && t->hot.extent_id) {
			hot_reader_release(&t->hot); /* of the segment before, which is all sealed now */
			hot_reader_init(&t->hot);
		}
		failed = load_segment(t, i, err);
	}
	return failed;
}

static struct tape *new_tape(void)
{
	struct tape *t = xcalloc(1, sizeof(*t));

	t->cache_max_bytes = DEFAULT_CACHE_BYTES;
	buf_init(&t->document_text, 64 * LIMIT_NAME_BYTES);
	hot_reader_init(&t->hot);
	return t;
}

int tape_open(const char *path, struct tape **ret, struct err *err)
{
	struct err local;
	struct tape *t = new_tape();

	err = err ? err : &local;
	t->path = segment_tape_path(path);
	if (load_new(t, err)) {
		tape_close(t);
		return err->code;
	}
	*ret = t;
	return 0;
}

int reader_open_sealed(const char *path, uint32_t number, struct tape **ret, struct err *err)
{
	struct tape *t = new_tape();

	t->path = xstrdup(path);
	t->segments = xcalloc(1, sizeof(*t->segments));
	t->segments[t->segment_count++].file = (struct segment_file){number, true, xstrdup(path)};
	if (load_segment(t, 0, err)) {
		tape_close(t);
		return err->code;
	}
	*ret = t;
	return 0;
}

void tape_close(struct tape *t)
{
	if (!t)
		return;
	reader_release_blocks(t);
	for (size_t i = 0; i < t->extent_count; i++) {
		extent_unref(t->extents[i].index);
		free(t->extents[i].filter);
	}
	for (size_t i = 0; i < t->segment_count; i++) {
		close_segment(t, &t->segments[i]);
		free(t->segments[i].file.path);
	}
	hot_reader_release(&t->hot);
	registry_release(&t->registry);
	buf_release(&t->document_text);
	free(t->extents);
	free(t->segments);
	free(t->path);
	free(t);
}

int tape_refresh(struct tape *t, struct err *err)
{
	struct err local;
	uint64_t before = last_seq(t);
	int failed;

	err = err ? err : &local;
	failed = load_new(t, err);
	return failed ? failed : last_seq(t) > before;
}

void tape_set_cache(struct tape *t, size_t bytes)
{
	t->cache_max_bytes = bytes;
}

static uint64_t file_bytes(const struct tape *t)
{
	static const char *const suffixes[] = {"", "-wal"};
	uint64_t sum = 0;

	for (size_t i = 0; i < t->segment_count; i++) {
		for (size_t k = 0; k < 2; k++) {
			char *path = xasprintf("%s%s", t->segments[i].file.path, suffixes[k]);
			struct stat st;

			sum += stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
			free(path);
		}
	}
	return sum;
}

/* Ids are given without holes; a row may stand in two segments. */
static int count_ids(struct tape *t, const char *table, uint64_t *ret, struct err *err)
{
	int64_t lowest = INT64_MAX, highest = 0;

	for (size_t i = 0; i < t->segment_count; i++) {
		char *sql = xasprintf("SELECT min(id) FROM %s WHERE id > 0", table),
		     *sql_max = xasprintf("SELECT max(id) FROM %s WHERE id > 0", table);
		sqlite3 *db = reader_db(t, i, err);
		int64_t low = INT64_MAX, high = 0;
		int failed = !db || segment_number(db, sql, INT64_MAX, &low, err) ||
			     segment_number(db, sql_max, 0, &high, err);

		free(sql);
		free(sql_max);
		if (failed)
			return err->code;
		lowest = low < lowest ? low : lowest;
		highest = high > highest ? high : highest;
	}
	*ret = highest ? (uint64_t)highest - (uint64_t)lowest + 1 : 0;
	return 0;
}

int tape_info(struct tape *t, struct tape_info *ret, struct err *err)
{
	struct err local;
	const struct extent *hot = t->hot.extent;
	struct tape_info info = {
		.segments = t->segment_count, .last_seq = last_seq(t), .disk_bytes = file_bytes(t)};
	int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;

	err = err ? err : &local;
	for (size_t i = 0; i <= t->extent_count; i++) {
		const struct tape_extent *x = i < t->extent_count ? &t->extents[i] : NULL;

		if (x ? x->is_state : hot->event_count == 0)
			continue;
		info.first_seq = info.first_seq ? info.first_seq : x ? x->first_seq : extent_first_seq(hot);
		info.raw_bytes += x ? x->raw_bytes : hot->raw_bytes;
		first_ns = (x ? x->min_time_ns : hot->min_time_ns) < first_ns
				   ? (x ? x->min_time_ns : hot->min_time_ns)
				   : first_ns;
		last_ns = (x ? x->max_time_ns : hot->max_time_ns) > last_ns
				  ? (x ? x->max_time_ns : hot->max_time_ns)
				  : last_ns;
	}
	info.events = info.first_seq ? info.last_seq - info.first_seq + 1 : 0;
	info.first_time_ns = info.events ? first_ns : 0;
	info.last_time_ns = info.events ? last_ns : 0;
	info.open = t->segment_count && !t->segments[t->segment_count - 1].file.sealed;
	if (count_ids(t, "gap", &info.gaps, err) || count_ids(t, "connection", &info.connections, err))
		return err->code;
	*ret = info;
	return 0;
}

const struct tape_resource *tape_resource_at(const struct tape *t, size_t index)
{
	return index < t->registry.resource_count ? &t->registry.resources[index] : NULL;
}

const struct tape_resource *tape_resource_by_id(const struct tape *t, uint32_t id)
{
	return registry_resource(&t->registry, id);
}

const struct tape_stream *tape_stream_at(const struct tape *t, size_t index)
{
	return index < t->registry.stream_count ? &t->registry.streams[index] : NULL;
}

const struct tape_stream *tape_stream_by_id(const struct tape *t, uint32_t id)
{
	return registry_stream(&t->registry, id);
}
