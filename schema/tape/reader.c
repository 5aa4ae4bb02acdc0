/* reader.c: opening a tape and keeping up with its writer, see reader.h. */
#include "schema/base/limits.h"
#include "schema/tape/reader_internal.h"
#include "schema/tape/tape_lock.h"

#include <stdlib.h>
#include <unistd.h>

#define DEFAULT_CACHE_BYTES (72u << 20) /* an extent and some: what an ordered scan touches */
#define INDEX_CACHE_BYTES   (64u << 20)
#define FEW_CACHE_BYTES     (4u << 20) /* for walks in the order of storage */
#define OPEN_TRIES          10

void reader_close_segment(struct tape *t, struct tape_segment *s)
{
	if (!s->db)
		return;
	sqlite3_finalize(s->read_block);
	sqlite3_close(s->db);
	s->read_block = NULL;
	s->db = NULL;
	for (size_t i = 0; i < t->open_count; i++) {
		if (t->open[i] == (size_t)(s - t->segments))
			t->open[i--] = t->open[--t->open_count];
	}
}

static void close_least_used(struct tape *t)
{
	struct tape_segment *oldest = NULL;

	for (size_t i = 0; i < t->open_count; i++) {
		struct tape_segment *s = &t->segments[t->open[i]];

		if (!oldest || s->used < oldest->used)
			oldest = s;
	}
	if (oldest)
		reader_close_segment(t, oldest);
}

/* Takes the sealed form of a segment if there is one. */
static bool take_sealed_form(struct tape *t, struct tape_segment *s)
{
	char *path = xasprintf("%s/" FORMAT_SEALED_NAME, t->path, s->file.number);

	if (access(path, F_OK)) {
		free(path);
		return false;
	}
	free(s->file.path);
	s->file.path = path;
	s->file.sealed = true;
	return true;
}

/* The writer may seal it while we look: then its open form goes, its log first, and what we opened may be
 * half of it. But the sealed form was there before that. */
static int open_segment(struct tape *t, struct tape_segment *s, struct err *err)
{
	int rc = segment_open(&s->file, false, &s->db, err);

	if (s->file.sealed || !take_sealed_form(t, s))
		return rc;
	if (!rc)
		sqlite3_close(s->db);
	s->db = NULL;
	return segment_open(&s->file, false, &s->db, err);
}

int reader_db(struct tape *t, size_t segment, sqlite3 **ret, struct err *err)
{
	struct tape_segment *s = &t->segments[segment];
	int rc;

	s->used = ++t->tick;
	if (!s->db) {
		if (t->open_count >= MAX_OPEN_SEGMENTS)
			close_least_used(t);
		rc = open_segment(t, s, err);
		if (rc)
			return rc;
		t->open[t->open_count++] = segment;
	}
	*ret = s->db;
	return 0;
}

int reader_prepare(struct tape *t, size_t segment, const char *sql, sqlite3_stmt **ret, struct err *err)
{
	sqlite3 *db;
	int rc = reader_db(t, segment, &db, err);

	return rc ? rc : segment_prepare(db, sql, ret, err);
}

size_t reader_excess(const struct tape *t)
{
	const struct tape_extent *last = t->events.count ? &t->events.items[t->events.count - 1] : NULL;
	const struct extent *hot = last && last->hot ? last->hot->extent : NULL;
	size_t bytes = hot ? hot->bytes.cap + extent_index_memory(hot) : 0;

	return bytes > LIMIT_HOT_BYTES / 2 ? bytes - LIMIT_HOT_BYTES / 2 : 0;
}

/* Of a tape without events that begins with a state: the event after which that was the state. */
static uint64_t last_seq(const struct tape *t)
{
	if (t->events.count)
		return t->events.items[t->events.count - 1].last_seq;
	return t->states.count ? t->segments[t->segment_count - 1].first_seq - 1 : 0;
}

static uint64_t first_seq(const struct tape *t)
{
	if (t->events.count)
		return t->events.items[0].first_seq;
	return t->states.count ? last_seq(t) + 1 : 0;
}

static struct tape *new_tape(void)
{
	struct tape *t = xcalloc(1, sizeof(*t));

	t->cache_max_bytes = DEFAULT_CACHE_BYTES;
	t->indexes_max_bytes = INDEX_CACHE_BYTES;
	buf_init(&t->document_text, 64 * LIMIT_NAME_BYTES);
	buf_init(&t->documents, LIMIT_DOCUMENT_BYTES);
	return t;
}

static int open_once(const char *path, struct tape **ret, bool *ret_outrun, struct err *err)
{
	struct tape *t = new_tape();
	int rc;

	t->path = segment_tape_path(path);
	rc = reader_load(t, err);
	*ret_outrun = rc && t->segment_count && segment_is_gone(t->path, &t->segments[0].file);
	if (rc) {
		tape_close(t);
		return rc;
	}
	*ret = t;
	return 0;
}

/* Retention may take segments that were listed and not opened yet: what it left is the tape. */
int tape_open(const char *path, struct tape **ret, struct err *err)
{
	bool outrun = true;
	int rc = 0;

	for (int i = 0; i < OPEN_TRIES && outrun; i++)
		rc = open_once(path, ret, &outrun, err);
	return rc;
}

int reader_open_segments(const struct segment_file *list, size_t count, struct tape **ret, struct err *err)
{
	struct tape *t = new_tape();
	int rc = 0;

	t->path = xstrdup(list[0].path);
	t->cache_max_bytes = t->indexes_max_bytes = FEW_CACHE_BYTES;
	t->segments = xcalloc(count, sizeof(*t->segments));
	for (size_t i = 0; i < count && !rc; i++) {
		t->segments[t->segment_count++].file =
			(struct segment_file){list[i].number, list[i].sealed, xstrdup(list[i].path)};
		rc = reader_load_segment(t, i, err);
	}
	if (rc) {
		tape_close(t);
		return rc;
	}
	*ret = t;
	return 0;
}

int reader_open_sealed(const char *path, uint32_t number, struct tape **ret, struct err *err)
{
	const struct segment_file file = {number, true, (char *)path};

	return reader_open_segments(&file, 1, ret, err);
}

void tape_close(struct tape *t)
{
	if (!t)
		return;
	reader_release_blocks(t);
	reader_release_extents(&t->events);
	reader_release_extents(&t->states);
	reader_release_indexes(t);
	for (size_t i = 0; i < t->segment_count; i++) {
		reader_close_segment(t, &t->segments[i]);
		free(t->segments[i].file.path);
	}
	registry_release(&t->registry);
	buf_release(&t->document_text);
	buf_release(&t->documents);
	free(t->segments);
	free(t->path);
	free(t);
}

int tape_refresh(struct tape *t, struct err *err)
{
	uint64_t before = last_seq(t);
	int rc;

	rc = reader_load(t, err);
	return rc ? rc : last_seq(t) > before;
}

void tape_set_cache(struct tape *t, size_t bytes)
{
	t->cache_max_bytes = bytes;
}

void tape_set_index_cache(struct tape *t, size_t bytes)
{
	t->indexes_max_bytes = bytes;
}

void tape_give_back(struct tape *t)
{
	reader_release_blocks(t);
	reader_forget_indexes(t);
}

bool tape_rest(struct tape *t)
{
	bool rests = t->tick == t->rest_tick && (t->newest || t->indexes.count || t->filters.count);

	t->rest_tick = t->tick;
	if (rests)
		tape_give_back(t);
	return rests;
}

static uint64_t file_bytes(const struct tape *t)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < t->segment_count; i++)
		sum += segment_file_bytes(&t->segments[i].file);
	return sum;
}

/* An object has its uid, its rv and the rest of its first version on disk: a quarter of what it takes here.
 */
size_t reader_state_bytes(const struct tape *t)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < t->segment_count; i++)
		bytes += segment_allocated_bytes(&t->segments[i].file);
	return bytes > LIMIT_STATE_BYTES / 4 ? 4 * bytes : LIMIT_STATE_BYTES;
}

/* Ids above 0 of one segment. */
static int find_ids(struct tape *t, size_t segment, enum table table, struct id_range *ret, struct err *err)
{
	const struct id_range *known = reader_ids(t, segment, table);
	const char *name = table_formats[table].name;
	char *sql, *sql_max;
	sqlite3 *db;
	int rc;

	*ret = known ? *known : no_ids();
	if (known && known->lowest > 0)
		return 0;
	sql = xasprintf("SELECT min(id) FROM %s WHERE id > 0", name);
	sql_max = xasprintf("SELECT max(id) FROM %s WHERE id > 0", name);
	if (!(rc = reader_db(t, segment, &db, err)) &&
		!(rc = segment_number(db, sql, INT64_MAX, &ret->lowest, err)))
		rc = segment_number(db, sql_max, INT64_MIN, &ret->highest, err);
	free(sql);
	free(sql_max);
	return rc;
}

/* Ids are given without holes; a row may stand in two segments. */
static int count_ids(struct tape *t, enum table table, uint64_t *ret, struct err *err)
{
	int64_t lowest = INT64_MAX, highest = 0;

	for (size_t i = 0; i < t->segment_count; i++) {
		struct id_range ids;
		int rc = find_ids(t, i, table, &ids, err);

		if (rc)
			return rc;
		lowest = ids.lowest < lowest ? ids.lowest : lowest;
		highest = ids.highest > highest ? ids.highest : highest;
	}
	*ret = highest ? (uint64_t)highest - (uint64_t)lowest + 1 : 0;
	return 0;
}

int tape_info(struct tape *t, struct tape_info *ret, struct err *err)
{
	struct tape_info info = {
		.segments = t->segment_count, .last_seq = last_seq(t), .disk_bytes = file_bytes(t)};
	int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
	int rc;

	for (size_t i = 0; i < t->events.count; i++) {
		const struct tape_extent *x = &t->events.items[i];

		info.raw_bytes += x->raw_bytes;
		first_ns = x->min_time_ns < first_ns ? x->min_time_ns : first_ns;
		last_ns = x->max_time_ns > last_ns ? x->max_time_ns : last_ns;
	}
	info.first_seq = first_seq(t);
	info.events = info.first_seq ? info.last_seq - info.first_seq + 1 : 0;
	info.first_time_ns = info.events ? first_ns : 0;
	info.last_time_ns = info.events ? last_ns : 0;
	info.open = t->segment_count && !t->segments[t->segment_count - 1].file.sealed;
	if ((rc = count_ids(t, TABLE_GAP, &info.gaps, err)) ||
		(rc = count_ids(t, TABLE_CONNECTION, &info.connections, err)))
		return rc;
	*ret = info;
	return 0;
}

/* A lock of our own is held for no longer than it takes to look. */
const char *tape_path_of(const struct tape *t)
{
	return t->path;
}

bool tape_has_writer(const struct tape *t)
{
	int fd = -1, rc = tape_lock_share(t->path, &fd, NULL);

	if (fd >= 0)
		close(fd);
	return rc == ERR_BUSY;
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
