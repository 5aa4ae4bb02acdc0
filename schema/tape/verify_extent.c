/*
 * verify_extent.c: extents against what they describe; verify_blocks.c looks at their objects. After each
 * extent of events the live objects are known, with a hash of their bytes; what the next segment keeps as
 * state must be just these.
 */
#include "schema/base/limits.h"
#include "schema/tape/codec.h"
#include "schema/tape/hot.h"
#include "schema/tape/pack.h"
#include "schema/tape/verify_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void note_damage(struct checked *c, const char *found, const char *expected, const char *what)
{
	c->sound = false;
	verify_report_row(c->v, "extent", c->id, found, expected, "extent %lld: %s", (long long)c->id, what);
}

static void note_number(struct checked *c, const char *what, uint64_t found, uint64_t expected)
{
	char found_text[24], expected_text[24];

	if (found == expected)
		return;
	snprintf(found_text, sizeof(found_text), "%" PRIu64, found);
	snprintf(expected_text, sizeof(expected_text), "%" PRIu64, expected);
	note_damage(c, found_text, expected_text, what);
}

/* ---- index and filter ---- */

/* A column of the extent that is a blob, by itself: SQLite holds no two of them, and none while blocks are
 * checked. The caller finalizes; NULL, and reported, when it cannot be read. */
static sqlite3_stmt *read_blob(struct checked *c, const char *column, struct slice *ret)
{
	char *sql = xasprintf("SELECT %s FROM extent WHERE id = ?", column);
	sqlite3_stmt *row = verify_prepare(c->v, sql);

	free(sql);
	sqlite3_bind_int64(row, 1, c->id);
	if (!row || !verify_step(c->v, row)) {
		sqlite3_finalize(row);
		return NULL;
	}
	*ret = (struct slice){sqlite3_column_blob(row, 0), (size_t)sqlite3_column_bytes(row, 0)};
	return row;
}

static void check_filter(struct checked *c)
{
	struct slice stored;
	struct buf filter;
	sqlite3_stmt *row;

	buf_init(&filter, LIMIT_INDEX_BYTES);
	row = read_blob(c, "filter", &stored);
	if (row && !c->v->is_compact && pack_filter(c->x, &filter, NULL))
		note_damage(c, "", "", "filter cannot be made");
	else if (row && !slice_equal(buf_slice(&filter), stored))
		note_damage(c, "", "", "filter is not that of the objects");
	sqlite3_finalize(row);
	buf_release(&filter);
}

/* Columns: id, first_seq, last_seq, events, objects, min_time_ns, max_time_ns, raw_bytes, blocks,
 * index_raw_bytes, index_xxh64, filter_xxh64. */
static void check_row(struct checked *c, sqlite3_stmt *row)
{
	const struct extent *x = c->x;

	note_number(c, "first event", extent_first_seq(x), (uint64_t)sqlite3_column_int64(row, 1));
	note_number(c, "last event", extent_last_seq(x), (uint64_t)sqlite3_column_int64(row, 2));
	note_number(c, "events in the index", x->event_count, (uint64_t)sqlite3_column_int64(row, 3));
	note_number(c, "objects in the index", x->object_count, (uint64_t)sqlite3_column_int64(row, 4));
	note_number(c, "earliest time", (uint64_t)x->min_time_ns, (uint64_t)sqlite3_column_int64(row, 5));
	note_number(c, "latest time", (uint64_t)x->max_time_ns, (uint64_t)sqlite3_column_int64(row, 6));
	note_number(c, "bytes of objects", x->raw_bytes, (uint64_t)sqlite3_column_int64(row, 7));
	note_number(c, "blocks in the index", c->block_count, (uint64_t)sqlite3_column_int64(row, 8));
	check_filter(c);
}

static bool check_sum(struct checked *c, struct slice bytes, int64_t sum, const char *name)
{
	uint64_t found = codec_hash(bytes), expected = (uint64_t)sum;
	char what[64];

	if (found == expected)
		return true;
	snprintf(what, sizeof(what), "the %s of extent %lld", name, (long long)c->id);
	verify_report_sum(c->v, "extent", c->id, found, expected, what);
	c->sound = false;
	return false;
}

/* Resources are sorted, so the last is the highest. */
static void check_names(struct checked *c)
{
	const struct extent *x = c->x;

	if (x->object_count && !registry_resource(&c->v->registry, x->objects[x->object_count - 1].resource))
		note_damage(c, "", "", "index names a resource that is not there");
	for (size_t i = 0; i < x->event_count; i++) {
		const struct tape_stream *s = registry_stream(&c->v->registry, x->events[i].stream);

		if (s && s->resource == x->objects[x->events[i].object].resource)
			continue;
		note_damage(c, "", "", "index names a stream that is not one of the event's resource");
		return;
	}
}

/* The sum of a blob; of the index also its columns, appended to raw. */
static bool check_blob(struct checked *c, const char *column, int64_t sum, int64_t raw_bytes, struct buf *raw)
{
	struct slice bytes;
	sqlite3_stmt *row = read_blob(c, column, &bytes);
	bool sound = row && check_sum(c, bytes, sum, raw ? "index" : "filter");
	struct err err = {0};

	if (sound && raw && unpack_index_bytes(bytes, raw_bytes < 0 ? 0 : (uint64_t)raw_bytes, raw, &err)) {
		note_damage(c, "", "", err.text);
		sound = false;
	}
	sqlite3_finalize(row);
	return sound;
}

static bool decode_index(struct checked *c, sqlite3_stmt *row)
{
	struct err err = {0};
	struct buf raw;
	bool sound;

	if (c->id < 1 || c->id > EXTENT_ID_MAX) {
		note_damage(c, "", "", "it cannot have that number");
		return false;
	}
	buf_init(&raw, LIMIT_INDEX_BYTES);
	sound = check_blob(c, "filter", sqlite3_column_int64(row, 11), 0, NULL);
	sound = check_blob(
			c, "\"index\"", sqlite3_column_int64(row, 10), sqlite3_column_int64(row, 9), &raw) &&
		sound;
	if (sound && unpack_extent(buf_slice(&raw), &c->x, &err)) {
		note_damage(c, "", "", err.text);
		sound = false;
	}
	buf_release(&raw);
	return sound;
}

/* ---- state ---- */

static void check_continues(struct checked *c)
{
	struct verifier *v = c->v;

	if (v->next_seq)
		note_number(c, "first event", extent_first_seq(c->x), v->next_seq);
	v->next_seq = extent_last_seq(c->x) + 1;
	v->result.events += c->x->event_count;
}

/* The last event of each key is what lives on. */
static void take_events(struct verifier *v, const struct extent *x, const uint64_t *hashes)
{
	for (size_t o = 0, end; o < x->object_count; o = end) {
		struct live_object *live;
		size_t last;

		end = live_end_of_key(x, o);
		last = live_last_of_key(x, o, end, UINT64_MAX);
		live = live_map_note(&v->live, x, last);
		if (live)
			live->object_hash = hashes[last];
	}
	if (!v->live.is_full)
		return;
	verify_report_file(v, "more live objects than the file has bytes for");
	live_map_release(&v->live);
	live_map_init(&v->live, v->live_max_bytes);
	v->live_known = false;
}

static void compare_state(struct checked *c)
{
	const struct extent *x = c->x;

	for (size_t i = 0; i < x->event_count; i++) {
		const struct extent_object *o = &x->objects[x->events[i].object];
		struct live_object *live = live_map_find(&c->v->live, o->resource, o->namespace, o->name);
		uint64_t seq = live ? live->seq : 0;

		if (seq == x->events[i].seq && live->object_hash == c->hashes[i] &&
			slice_equal(live_object_uid(live), o->uid) && !live->noted) {
			live->noted = true;
			continue;
		}
		note_number(c, "version of a live object", x->events[i].seq, seq);
		if (seq == x->events[i].seq)
			note_damage(c, "", "", "live object differs from its event");
	}
}

/* Before the first extent of events: everything that lives stands in the state. */
static void check_state_is_whole(struct verifier *v, uint64_t found)
{
	char found_text[24], expected_text[24];

	for (size_t i = 0; i < v->live.bucket_count; i++) {
		for (struct live_object *o = v->live.buckets[i]; o; o = o->next)
			o->noted = false;
	}
	if (!v->live_known || found == v->live.count)
		return;
	snprintf(found_text, sizeof(found_text), "%" PRIu64, found);
	snprintf(expected_text, sizeof(expected_text), "%zu", v->live.count);
	verify_report(v, UINT64_MAX, 0, found_text, expected_text, "bad count of live objects");
}

/* ---- extents ---- */

static void verify_extent_release(struct checked *c)
{
	extent_unref(c->x);
	free(c->hashes);
	free(c->by_block);
	free(c->block_end);
}

static void use_extent(struct checked *c)
{
	struct verifier *v = c->v;

	if (!c->is_state)
		check_continues(c);
	if (!c->sound) {
		v->live_known = false;
		return;
	}
	if (c->is_state && v->live_known)
		compare_state(c);
	else
		take_events(v, c->x, c->hashes);
}

static uint64_t check_extent(struct verifier *v, sqlite3_stmt *row, bool is_state)
{
	struct checked c = {.v = v, .id = sqlite3_column_int64(row, 0), .is_state = is_state, .sound = true};
	uint64_t events = 0;

	if (decode_index(&c, row)) {
		c.hashes = xcalloc(c.x->event_count, sizeof(*c.hashes));
		events = c.x->event_count;
		check_names(&c);
		verify_blocks(&c);
		if (!v->stopped)
			note_number(&c, "blocks that are there", c.blocks_found, c.block_count);
		check_row(&c, row);
		use_extent(&c);
	} else {
		v->live_known = false;
		v->next_seq = (uint64_t)sqlite3_column_int64(row, 2) + 1;
	}
	verify_extent_release(&c);
	return events;
}

/* Blocks of extents that are not there: a segment that is open may be about to get theirs. */
static void check_orphans(struct verifier *v)
{
	sqlite3_stmt *rows;

	if (!v->file->sealed)
		return;
	rows = verify_prepare(v, "SELECT id FROM block WHERE id >> 24 NOT IN (SELECT id FROM extent)");
	while (rows && verify_step(v, rows))
		verify_report_row(v, "block", sqlite3_column_int64(rows, 0), "", "",
			"block %lld belongs to no extent", (long long)sqlite3_column_int64(rows, 0));
	sqlite3_finalize(rows);
}

void verify_extents(struct verifier *v, const char *kind)
{
	bool is_state = strcmp(kind, "state") == 0, known = v->live_known;
	uint64_t found = 0;
	sqlite3_stmt *rows = verify_prepare(v,
		"SELECT id, first_seq, last_seq, events, objects, min_time_ns, max_time_ns, raw_bytes, blocks, "
		"index_raw_bytes, index_xxh64, filter_xxh64 FROM extent WHERE kind = ? "
		"ORDER BY id");

	if (is_state && !known) { /* this state is where we begin to know */
		live_map_release(&v->live);
		live_map_init(&v->live, v->live_max_bytes);
	}
	sqlite3_bind_text(rows, 1, kind, -1, SQLITE_STATIC);
	while (rows && verify_step(v, rows))
		found += check_extent(v, rows, is_state);
	sqlite3_finalize(rows);
	if (is_state && known)
		check_state_is_whole(v, found);
	else if (is_state)
		v->live_known = true;
	if (!is_state)
		check_orphans(v);
}

/* ---- chunks ---- */

static void take_hot(struct verifier *v, struct extent *x)
{
	uint64_t *hashes = xcalloc(x->event_count, sizeof(*hashes));

	for (size_t i = 0; i < x->event_count; i++)
		hashes[i] = codec_hash_for_memory(
			(struct slice){x->bytes.ptr + x->events[i].offset, x->events[i].length});
	extent_sort(x);
	take_events(v, x, hashes);
	v->result.events += x->event_count;
	v->result.raw_bytes += x->raw_bytes;
	free(hashes);
}

static void check_hot_extent(struct verifier *v, int64_t id)
{
	struct checked c = {.v = v, .id = id, .sound = true};
	struct hot_reader hot;
	struct err err = {0};

	hot_reader_init(&hot);
	if (hot_reader_load(&hot, v->db, id, &v->registry, &err) < 0) {
		verify_report_row(v, "chunk", hot.last_chunk, "", "", "%s", err.text);
		v->live_known = false;
	}
	if (hot.extent->event_count) {
		if (v->next_seq)
			note_number(&c, "first event in chunks", extent_first_seq(hot.extent), v->next_seq);
		v->next_seq = extent_last_seq(hot.extent) + 1;
		take_hot(v, hot.extent);
	}
	hot_reader_release(&hot);
}

void verify_chunks(struct verifier *v)
{
	sqlite3_stmt *rows = verify_prepare(
		v, "SELECT extent, sum(length(data)) FROM chunk GROUP BY extent ORDER BY extent");
	unsigned count = 0;

	while (rows && verify_step(v, rows)) {
		if (count++)
			verify_report_row(v, "chunk", 0, "", "",
				"chunks of extent %lld: another one is hot too",
				(long long)sqlite3_column_int64(rows, 0));
		check_hot_extent(v, sqlite3_column_int64(rows, 0));
		verify_advance(v, (uint64_t)sqlite3_column_int64(rows, 1));
	}
	sqlite3_finalize(rows);
}
