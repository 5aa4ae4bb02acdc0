/*
 * reader_blocks.c: decoded blocks, the ones used last kept as long as there is room for them. Of a tape that is much
 * larger than that room, a walk in the order of storage, such as a list of all objects, would fill it with blocks that
 * are gone again when the next walk comes to them: of those that walks have passed only a few are kept.
 */
#include "schema/tape/checksum.h"
#include "schema/tape/reader_internal.h"

#include <limits.h>
#include <stdlib.h>

#define READ_ANYHOW  UINT_MAX
#define WALK_EVENTS  16 /* as many in order are no chance */
#define PASSED_SHARE 4  /* of the room */
#define MUCH_LARGER  4  /* a tape, than the room */

static struct cached_block **bucket_of(struct tape *t, size_t segment, int64_t id)
{
	uint64_t key = ((uint64_t)id ^ (uint64_t)segment << 32) * 0x9e3779b97f4a7c15u;

	return &t->buckets[key >> 54];
}

static struct cached_block *find_cached(struct tape *t, size_t segment, int64_t id)
{
	struct cached_block *c = *bucket_of(t, segment, id);

	while (c && (c->id != id || c->segment != segment))
		c = c->next;
	return c;
}

static void unlink_from_order(struct tape *t, struct cached_block *c)
{
	*(c->newer ? &c->newer->older : &t->newest) = c->older;
	*(c->older ? &c->older->newer : &t->oldest) = c->newer;
}

static void put_newest(struct tape *t, struct cached_block *c)
{
	c->newer = NULL;
	c->older = t->newest;
	*(t->newest ? &t->newest->newer : &t->oldest) = c;
	t->newest = c;
}

static size_t cost_of(const struct block *b)
{
	return b->bytes.max + b->data.cap;
}

static void reader_blocks_forget(struct tape *t, struct cached_block *c)
{
	struct cached_block **link = bucket_of(t, c->segment, c->id);

	while (*link != c)
		link = &(*link)->next;
	*link = c->next;
	unlink_from_order(t, c);
	t->cache_bytes -= cost_of(c->block);
	t->passed_bytes -= c->passed ? cost_of(c->block) : 0;
	block_free(c->block);
	free(c);
}

/* Before a block is decoded, so that it and what is kept are not in memory at the same time. */
static void make_room(struct tape *t, uint64_t bytes)
{
	size_t excess = reader_excess(t), max = t->cache_max_bytes;

	max = max > excess ? max - excess : 0;
	while (t->oldest && (bytes > max || t->cache_bytes > max - bytes))
		reader_blocks_forget(t, t->oldest);
}

static bool is_much_larger(const struct tape *t)
{
	uint64_t bytes = 0;

	for (size_t i = t->events.count; i-- > 0 && bytes / MUCH_LARGER <= t->cache_max_bytes;)
		bytes += t->events.items[i].raw_bytes;
	return bytes / MUCH_LARGER > t->cache_max_bytes;
}

/* Before the block `id` is decoded: a walk that was in the one before it has passed that. */
static void pass_block_before(struct tape *t, size_t segment, int64_t id)
{
	struct cached_block *c = find_cached(t, segment, id - 1), *newer;

	if (!c || c->passed || c->in_order == READ_ANYHOW || c->in_order < WALK_EVENTS || !is_much_larger(t))
		return;
	c->passed = true;
	t->passed_bytes += cost_of(c->block);
	for (c = t->oldest; c && t->passed_bytes > t->cache_max_bytes / PASSED_SHARE; c = newer) {
		newer = c->newer;
		if (c->passed)
			reader_blocks_forget(t, c);
	}
}

static void note_read(struct cached_block *c, uint64_t offset)
{
	if (c->in_order == READ_ANYHOW)
		return;
	if (c->in_order && offset < c->latest)
		c->in_order = READ_ANYHOW;
	else
		c->in_order += !c->in_order || offset > c->latest;
	c->latest = offset;
}

static struct cached_block *reader_blocks_remember(
	struct tape *t, size_t segment, int64_t id, struct block *b)
{
	struct cached_block *c = xcalloc(1, sizeof(*c)), **bucket = bucket_of(t, segment, id);

	*c = (struct cached_block){.segment = segment, .id = id, .block = b, .next = *bucket};
	*bucket = c;
	put_newest(t, c);
	t->cache_bytes += cost_of(b);
	return c;
}

void reader_release_blocks(struct tape *t)
{
	while (t->oldest)
		reader_blocks_forget(t, t->oldest);
}

/* Columns: kind, events, raw_bytes, xxh64, data. x has an event in it at index. */
static int decode_block(struct tape *t, sqlite3_stmt *row, const struct extent *x, size_t index,
	struct block **ret, struct err *err)
{
	struct slice kind_name = {
		(const char *)sqlite3_column_text(row, 0), (size_t)sqlite3_column_bytes(row, 0)};
	enum block_kind kind;
	struct slice data = {sqlite3_column_blob(row, 4), (size_t)sqlite3_column_bytes(row, 4)};

	if (checksum_expect(codec_hash(data), (uint64_t)sqlite3_column_int64(row, 3), err))
		return ERR_CORRUPT;
	if (!block_kind_find(kind_name, &kind))
		return err_set(
			err, ERR_CORRUPT, "kind '%.*s' is not known", (int)kind_name.len, kind_name.ptr);
	make_room(t, (uint64_t)sqlite3_column_int64(row, 2));
	return block_open_of(x, (uint32_t)index, kind, data, (uint32_t)sqlite3_column_int64(row, 1),
		(uint64_t)sqlite3_column_int64(row, 2), ret, err);
}

static int read_block(struct tape *t, const struct tape_extent *entry, const struct extent *x, size_t index,
	struct block **ret, struct err *err)
{
	struct tape_segment *s = &t->segments[entry->segment];
	uint32_t number = x->events[index].block;
	sqlite3 *db;
	int rc = reader_db(t, entry->segment, &db, err);

	if (!rc && !s->read_block)
		rc = segment_prepare(db,
			"SELECT kind, events, raw_bytes, xxh64, data FROM block WHERE id = ?", &s->read_block,
			err);
	if (rc)
		return rc;
	sqlite3_bind_int64(s->read_block, 1, block_id(entry->id, number));
	switch (sqlite3_step(s->read_block)) {
	case SQLITE_ROW: rc = decode_block(t, s->read_block, x, index, ret, err); break;
	case SQLITE_DONE: rc = err_set(err, ERR_CORRUPT, "it is not there"); break;
	default: rc = segment_failed(db, err, "cannot read it");
	}
	sqlite3_reset(s->read_block);
	if (rc)
		err_prefix(
			err, rc, "'%s' block %u of extent %lld", s->file.path, number, (long long)entry->id);
	return rc;
}

/* The block of the event of x at index. */
static int get_block(struct tape *t, const struct tape_extent *entry, const struct extent *x, size_t index,
	struct block **ret, struct err *err)
{
	int64_t id = block_id(entry->id, x->events[index].block);
	struct cached_block *c = find_cached(t, entry->segment, id);
	int rc;

	if (c) {
		unlink_from_order(t, c);
		put_newest(t, c);
		note_read(c, x->events[index].offset);
		*ret = c->block;
		return 0;
	}
	pass_block_before(t, entry->segment, id);
	rc = read_block(t, entry, x, index, ret, err);
	if (rc)
		return rc;
	note_read(reader_blocks_remember(t, entry->segment, id, *ret), x->events[index].offset);
	return 0;
}

int reader_object(struct tape *t, const struct tape_extent *entry, const struct extent *x, size_t index,
	struct slice *ret, struct err *err)
{
	const struct extent_event *e = &x->events[index];
	struct block *b = NULL;
	int rc;

	if (x->bytes.len) { /* of a hot extent, which may have been sealed since x was taken */
		*ret = (struct slice){x->bytes.ptr + e->offset, e->length};
		return 0;
	}
	rc = get_block(t, entry, x, index, &b, err);
	if (rc)
		return rc;
	return block_get(b, e->offset, e->length, ret, err);
}
