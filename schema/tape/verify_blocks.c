/*
 * verify_blocks.c: every object of every block of an extent, decoded and looked at again: its identity must
 * be what the index says. That is nearly all of the work, and blocks do not know of each other, so a crew of
 * threads does it:
 *
 *   main thread: reads rows, fills the ring
 *   crew:        check_block
 *   main thread: reports, in the order of rows
 *
 * The ring bounds what is in memory: its stored blocks, and a decoded one for each thread. SQLite and the
 * callbacks see the main thread only. Where there is one processor the main thread checks, too.
 */
#include "schema/base/limits.h"
#include "schema/base/processors.h"
#include "schema/tape/codec.h"
#include "schema/tape/hot.h"
#include "schema/tape/pack.h"
#include "schema/tape/verify_internal.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS_MAX 16
#define RING        (2 * THREADS_MAX)

/* Stored and decoded bytes of the blocks that are under way, or one block. */
#define IN_FLIGHT_BYTES (128u << 20)

/* A block may be nothing but damages. */
#define FINDINGS_MAX 100

/* A larger one's memory is not kept for the next one in its place. */
#define LARGE_BLOCK_BYTES (2u << 20)

/* Events lie in the order of seq and are wanted in that of their objects: waiting for each to come from
 * memory is a seventh of the time. So that many ahead are asked for. __builtin_prefetch is GNU's. */
#define EVENTS_AHEAD 8

/* What is to be reported of a row. */
struct finding {
	const char *table;
	int64_t id;
	char *found, *expected, *what;
};

/* A block on its way. */
struct block_check {
	const struct checked *c; /* hashes: each block writes those of its own events */
	int64_t id;
	uint32_t number, events;
	enum block_kind kind;
	bool kind_known;
	uint64_t raw_bytes, xxh64;
	struct buf data;
	struct finding *findings;
	size_t finding_count; /* of which FINDINGS_MAX are kept */
	uint64_t decoded_bytes;
	uint64_t cost; /* of the crew's bytes */
	bool done;
};

/* Places are counted on and on: filled >= taken >= retired >= filled - RING. */
struct block_crew {
	pthread_t threads[THREADS_MAX];
	size_t thread_count;
	pthread_mutex_t lock;
	pthread_cond_t more, done;
	struct block_check ring[RING];
	uint64_t filled, taken, retired;
	uint64_t bytes; /* of blocks filled and not retired; the main thread's */
	bool end;
};

/* ---- one block, in any thread ---- */

static void verify_blocks_find(struct block_check *b, const char *table, int64_t id, const char *found,
	const char *expected, const char *what)
{
	if (b->finding_count++ >= FINDINGS_MAX)
		return;
	b->findings = xrealloc(b->findings, b->finding_count * sizeof(*b->findings));
	b->findings[b->finding_count - 1] =
		(struct finding){table, id, xstrdup(found), xstrdup(expected), xstrdup(what)};
}

static void find_in_block(struct block_check *b, const char *text)
{
	char *what = xasprintf("block %u of extent %lld: %s", b->number, (long long)b->c->id, text);

	verify_blocks_find(b, "block", b->id, "", "", what);
	free(what);
}

static void find_in_extent(struct block_check *b, const char *found, const char *expected, const char *text)
{
	char *what = xasprintf("extent %lld: %s", (long long)b->c->id, text);

	verify_blocks_find(b, "extent", b->c->id, found, expected, what);
	free(what);
}

static void find_sum(struct block_check *b, uint64_t found)
{
	char found_text[24], expected_text[24], what[80];

	snprintf(found_text, sizeof(found_text), "%016" PRIx64, found);
	snprintf(expected_text, sizeof(expected_text), "%016" PRIx64, b->xxh64);
	snprintf(what, sizeof(what), "bad checksum of block %u of extent %lld", b->number,
		(long long)b->c->id);
	verify_blocks_find(b, "block", b->id, found_text, expected_text, what);
}

static bool same_identity(const struct event *a, const struct event *b)
{
	return slice_equal(a->namespace, b->namespace) && slice_equal(a->name, b->name) &&
	       slice_equal(a->uid, b->uid) && slice_equal(a->rv, b->rv);
}

static char *identity_text(const struct event *e)
{
	return xasprintf("%.*s/%.*s %.*s", (int)e->namespace.len, e->namespace.ptr, (int)e->name.len,
		e->name.ptr, (int)e->rv.len, e->rv.ptr);
}

static void check_object(struct block_check *b, uint32_t index, struct slice object, struct buf *scratch)
{
	char rv[RV_TEXT_BYTES];
	struct event want, have;
	struct err err = {0};

	extent_event_get(b->c->x, index, rv, &want);
	have = want;
	if (b->c->hashes[index])
		b->c->hashes[index] = codec_hash_for_memory(object);
	if (hot_identify(&have, object, scratch, &err)) {
		find_in_extent(b, "", "", err.text);
	} else if (!same_identity(&want, &have)) {
		char *found = identity_text(&have), *expected = identity_text(&want);

		find_in_extent(b, found, expected, "index and object differ");
		free(found);
		free(expected);
	}
}

static void ask_for_event(const struct checked *c, uint32_t index)
{
	__builtin_prefetch(&c->x->events[index].seq);
	__builtin_prefetch(&c->x->events[index].head); /* its end, perhaps in the next line */
	__builtin_prefetch(&c->hashes[index]);
}

static void check_objects(struct block_check *b, struct block *block)
{
	const struct checked *c = b->c;
	struct buf scratch;
	struct err err = {0};

	buf_init(&scratch, HOT_SCRATCH_BYTES);
	for (uint32_t i = b->number ? c->block_end[b->number - 1] : 0; i < c->block_end[b->number]; i++) {
		const struct extent_event *e = &c->x->events[c->by_block[i]];
		struct slice object;

		if (i + EVENTS_AHEAD < c->block_end[b->number])
			ask_for_event(c, c->by_block[i + EVENTS_AHEAD]);
		if (block_get(block, e->offset, e->length, &object, &err)) {
			find_in_block(b, err.text);
			break;
		}
		check_object(b, c->by_block[i], object, &scratch);
	}
	buf_release(&scratch);
}

static void check_count(struct block_check *b)
{
	const uint32_t *end = b->c->block_end;
	uint32_t expected = end[b->number] - (b->number ? end[b->number - 1] : 0);
	char found_text[24], expected_text[24];

	if (b->events == expected)
		return;
	snprintf(found_text, sizeof(found_text), "%u", b->events);
	snprintf(expected_text, sizeof(expected_text), "%u", expected);
	find_in_extent(b, found_text, expected_text, "events of a block");
}

static int open_block(struct block_check *b, struct block **ret, struct err *err)
{
	uint32_t begin = b->number ? b->c->block_end[b->number - 1] : 0;

	if (!b->kind_known)
		return err_set(err, ERR_CORRUPT, "it is of no known kind");
	return block_open_of(b->c->x, b->c->by_block[begin], b->kind, buf_slice(&b->data), b->events,
		b->raw_bytes, ret, err);
}

static void check_block(struct block_check *b)
{
	uint64_t found = codec_hash(buf_slice(&b->data));
	struct err err = {0};
	struct block *block;

	if (found != b->xxh64) {
		find_sum(b, found);
		return;
	}
	if (open_block(b, &block, &err)) {
		find_in_block(b, err.text);
		return;
	}
	check_count(b);
	b->decoded_bytes = block->bytes.max;
	check_objects(b, block);
	block_free(block);
}

/* ---- the crew ---- */

static void *verify_blocks_work(void *context)
{
	struct block_crew *crew = context;

	pthread_mutex_lock(&crew->lock);
	for (;;) {
		struct block_check *b;

		while (crew->taken == crew->filled && !crew->end)
			pthread_cond_wait(&crew->more, &crew->lock);
		if (crew->taken == crew->filled)
			break;
		b = &crew->ring[crew->taken++ % RING];
		pthread_mutex_unlock(&crew->lock);
		check_block(b);
		pthread_mutex_lock(&crew->lock);
		b->done = true;
		pthread_cond_signal(&crew->done);
	}
	pthread_mutex_unlock(&crew->lock);
	return NULL;
}

struct block_crew *block_crew_new(void)
{
	struct block_crew *crew = xcalloc(1, sizeof(*crew));
	size_t wanted = processors(THREADS_MAX);

	pthread_mutex_init(&crew->lock, NULL);
	pthread_cond_init(&crew->more, NULL);
	pthread_cond_init(&crew->done, NULL);
	for (size_t i = 0; i < RING; i++)
		buf_init(&crew->ring[i].data, LIMIT_CHUNK_BYTES);
	while (wanted > 1 && crew->thread_count < wanted &&
		pthread_create(&crew->threads[crew->thread_count], NULL, verify_blocks_work, crew) == 0)
		crew->thread_count++;
	return crew;
}

void block_crew_free(struct block_crew *crew)
{
	if (!crew)
		return;
	pthread_mutex_lock(&crew->lock);
	crew->end = true;
	pthread_cond_broadcast(&crew->more);
	pthread_mutex_unlock(&crew->lock);
	for (size_t i = 0; i < crew->thread_count; i++)
		pthread_join(crew->threads[i], NULL);
	for (size_t i = 0; i < RING; i++)
		buf_release(&crew->ring[i].data);
	pthread_cond_destroy(&crew->done);
	pthread_cond_destroy(&crew->more);
	pthread_mutex_destroy(&crew->lock);
	free(crew);
}

static void verify_blocks_tell(struct checked *c, struct block_check *b)
{
	size_t kept = b->finding_count < FINDINGS_MAX ? b->finding_count : FINDINGS_MAX;

	c->sound = c->sound && !b->finding_count;
	verify_count(c->v, b->finding_count - kept);
	for (size_t i = 0; i < kept; i++) {
		struct finding *f = &b->findings[i];

		if (!c->v->stopped)
			verify_report_row(c->v, f->table, f->id, f->found, f->expected, "%s", f->what);
		free(f->found);
		free(f->expected);
		free(f->what);
	}
	free(b->findings);
	b->findings = NULL;
	b->finding_count = 0;
}

/* Waits for the oldest block and reports it. */
static void retire(struct checked *c)
{
	struct block_crew *crew = c->v->crew;
	struct block_check *b = &crew->ring[crew->retired % RING];

	pthread_mutex_lock(&crew->lock);
	while (!b->done)
		pthread_cond_wait(&crew->done, &crew->lock);
	crew->retired++;
	pthread_mutex_unlock(&crew->lock);
	crew->bytes -= b->cost;
	verify_blocks_tell(c, b);
	c->v->result.raw_bytes += b->decoded_bytes;
	if (!c->v->stopped)
		verify_advance(c->v, b->data.len);
}

static void submit(struct block_crew *crew, struct block_check *b)
{
	if (crew->thread_count == 0) {
		check_block(b);
		b->done = true;
	}
	pthread_mutex_lock(&crew->lock);
	crew->filled++;
	if (crew->thread_count == 0)
		crew->taken++;
	else
		pthread_cond_signal(&crew->more);
	pthread_mutex_unlock(&crew->lock);
}

/* ---- an extent ---- */

static void sort_by_block(struct checked *c)
{
	const struct extent *x = c->x;
	uint32_t *fill;

	for (size_t i = 0; i < x->event_count; i++)
		c->block_count =
			x->events[i].block >= c->block_count ? x->events[i].block + 1 : c->block_count;
	c->block_end = xcalloc(c->block_count + 1, sizeof(*c->block_end));
	fill = xcalloc(c->block_count + 1, sizeof(*fill));
	c->by_block = xcalloc(x->event_count, sizeof(*c->by_block));
	for (size_t i = 0; i < x->event_count; i++)
		c->block_end[x->events[i].block]++;
	for (uint32_t b = 0, sum = 0; b < c->block_count; b++) {
		fill[b] = sum;
		sum += c->block_end[b];
		c->block_end[b] = sum;
	}
	for (size_t i = 0; i < x->event_count; i++) {
		uint32_t index = x->layout[i];

		c->by_block[fill[x->events[index].block]++] = index;
	}
	free(fill);
}

/* Whose hashes are wanted: of what lives at the extent's end, or is said to live at its start. */
static void mark_wanted(struct checked *c)
{
	const struct extent *x = c->x;

	if (c->is_state)
		memset(c->hashes, 1, x->event_count * sizeof(*c->hashes));
	for (size_t o = 0, end; o < x->object_count && !c->is_state; o = end) {
		end = live_end_of_key(x, o);
		c->hashes[live_last_of_key(x, o, end, UINT64_MAX)] = 1;
	}
}

/* Waits until there is a place in the ring, and room for a block of that size. */
static struct block_check *make_room(struct checked *c, uint64_t cost)
{
	struct block_crew *crew = c->v->crew;
	size_t ahead = crew->thread_count ? 2 * crew->thread_count : 1;
	struct block_check *b;

	while (crew->filled - crew->retired >= ahead ||
		(crew->filled > crew->retired && crew->bytes + cost > IN_FLIGHT_BYTES))
		retire(c);
	b = &crew->ring[crew->filled % RING];
	b->cost = cost;
	crew->bytes += cost;
	if (b->data.cap > LARGE_BLOCK_BYTES)
		buf_release(&b->data);
	return b;
}

static uint64_t cost_of(sqlite3_stmt *row)
{
	uint64_t raw_bytes = (uint64_t)sqlite3_column_int64(row, 3);

	return (raw_bytes < LIMIT_BLOCK_BYTES ? raw_bytes : LIMIT_BLOCK_BYTES) +
	       (uint64_t)sqlite3_column_bytes(row, 5);
}

/* Columns: id, kind, events, raw_bytes, xxh64, data. */
static void take_row(struct checked *c, sqlite3_stmt *row, uint32_t number)
{
	struct block_crew *crew = c->v->crew;
	struct block_check *b = make_room(c, cost_of(row));

	b->c = c;
	b->id = sqlite3_column_int64(row, 0);
	b->number = number;
	b->kind_known = block_kind_find((struct slice){(const char *)sqlite3_column_text(row, 1),
						(size_t)sqlite3_column_bytes(row, 1)},
		&b->kind);
	b->events = (uint32_t)sqlite3_column_int64(row, 2);
	b->raw_bytes = (uint64_t)sqlite3_column_int64(row, 3);
	b->xxh64 = (uint64_t)sqlite3_column_int64(row, 4);
	b->decoded_bytes = 0;
	b->done = false;
	buf_clear(&b->data);
	if (buf_append(&b->data, sqlite3_column_blob(row, 5), (size_t)sqlite3_column_bytes(row, 5), NULL))
		find_in_block(b, "it exceeds the maximum"); /* and its sum is wrong, too */
	submit(crew, b);
}

void verify_blocks(struct checked *c)
{
	sqlite3_stmt *rows = verify_prepare(c->v,
		"SELECT id, kind, events, raw_bytes, xxh64, data FROM block WHERE id >= ? AND id < ? "
		"ORDER BY id");
	int64_t number = 0;

	sort_by_block(c);
	mark_wanted(c);
	sqlite3_bind_int64(rows, 1, c->id << BLOCK_NUMBER_BITS);
	sqlite3_bind_int64(rows, 2, (c->id + 1) << BLOCK_NUMBER_BITS);
	while (rows && verify_step(c->v, rows)) {
		int64_t found = sqlite3_column_int64(rows, 0) - (c->id << BLOCK_NUMBER_BITS);

		if (found != number || number >= c->block_count)
			break;
		take_row(c, rows, (uint32_t)number++);
	}
	sqlite3_finalize(rows);
	while (c->v->crew->retired < c->v->crew->filled)
		retire(c);
	c->blocks_found = (uint64_t)number;
}
