/* feed.c: see feed.h. Items lie one after the other in blocks; a block is full when the next one does not
 * fit. */
#include "tools/tee/feed.h"

#include "schema/base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define BLOCK_BYTES  ((size_t)256 << 10)
#define SPARE_BLOCKS 4
#define HURRY_BYTES  ((size_t)1 << 20) /* so much is taken at once; less may wait for more to come */
#define REST_NS      (10 * NS_PER_MS)  /* ... for this long: to wake the desk for each event costs more */
#define SMALL_BYTES  16384             /* such an item fits in when the rest does not any more */

struct feed {
	size_t max_bytes;
	void (*room)(void *context);
	void *context;
	int64_t wall_ns, mono_ns;
	pthread_mutex_t mutex; /* over what follows */
	pthread_cond_t filled;
	struct feed_block *first, *last, *spare;
	unsigned spare_count;
	size_t bytes; /* put and not given back */
	bool was_full, waits, hurries, closed;
};

struct feed *feed_new(size_t max_bytes, void (*room)(void *context), void *context)
{
	struct feed *f = xcalloc(1, sizeof(*f));
	pthread_condattr_t attributes;

	f->max_bytes = max_bytes;
	f->room = room;
	f->context = context;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&f->filled, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_mutex_init(&f->mutex, NULL);
	return f;
}

static void free_blocks(struct feed_block *b)
{
	for (struct feed_block *next; b; b = next) {
		next = b->next;
		free(b);
	}
}

void feed_free(struct feed *f)
{
	if (!f)
		return;
	free_blocks(f->first);
	free_blocks(f->spare);
	pthread_cond_destroy(&f->filled);
	pthread_mutex_destroy(&f->mutex);
	free(f);
}

/* ---- the loop ---- */

void feed_set_time(struct feed *f, int64_t wall_ns, int64_t mono_ns)
{
	f->wall_ns = wall_ns;
	f->mono_ns = mono_ns;
}

static size_t text_bytes(const struct feed_entry *e)
{
	size_t n = e->text_count * sizeof(uint32_t);

	for (unsigned i = 0; i < e->text_count; i++)
		n += e->texts[i].len;
	return n;
}

static size_t item_bytes(size_t texts)
{
	size_t n = sizeof(struct feed_item) + texts, odd = n % _Alignof(struct feed_item);

	return odd ? n + _Alignof(struct feed_item) - odd : n;
}

/* With the mutex held. */
static struct feed_block *block_for(struct feed *f, size_t bytes)
{
	struct feed_block *b = f->last;

	if (b && b->cap - b->used >= bytes)
		return b;
	if (f->spare && bytes <= BLOCK_BYTES) {
		b = f->spare;
		f->spare = b->next;
		f->spare_count--;
	} else {
		size_t cap = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;

		b = xmalloc(sizeof(*b) + cap);
		b->cap = cap;
	}
	b->used = 0;
	b->next = NULL;
	if (f->last)
		f->last->next = b;
	else
		f->first = b;
	f->last = b;
	return b;
}

static void write_item(const struct feed *f, const struct feed_entry *e, size_t texts, char *to)
{
	struct feed_item *item = (struct feed_item *)(void *)to;
	char *at = item->data + e->text_count * sizeof(uint32_t);

	item->id = e->id;
	item->other = e->other;
	item->wall_ns = f->wall_ns;
	item->mono_ns = f->mono_ns;
	item->number = e->number;
	item->kind = e->kind;
	item->text_count = e->text_count;
	item->bytes = (uint32_t)texts;
	for (unsigned i = 0; i < e->text_count; i++) {
		uint32_t len = (uint32_t)e->texts[i].len;

		memcpy(item->data + i * sizeof(len), &len, sizeof(len));
		if (len)
			memcpy(at, e->texts[i].ptr, len);
		at += len;
	}
}

/* With the mutex held. Pieces of bodies come in any number; all else is bounded by the requests under way. */
static bool feed_fits(struct feed *f, const struct feed_entry *e, size_t bytes)
{
	bool is_body = e->kind == FEED_BODY || e->kind == FEED_ASKED;
	size_t most = is_body ? f->max_bytes : bytes > SMALL_BYTES ? f->max_bytes : 2 * f->max_bytes;

	if (f->bytes + bytes <= most)
		return true;
	f->was_full = true;
	return e->kind == FEED_END || e->kind == FEED_DISCONNECTED;
}

bool feed_put(struct feed *f, const struct feed_entry *e)
{
	size_t texts = text_bytes(e), bytes = item_bytes(texts);
	struct feed_block *b;
	bool fit, was_empty;

	pthread_mutex_lock(&f->mutex);
	fit = feed_fits(f, e, bytes);
	was_empty = !f->first;
	if (fit) {
		b = block_for(f, bytes);
		write_item(f, e, texts, b->bytes + b->used);
		b->used += bytes;
		f->bytes += bytes;
	}
	if (f->waits && (was_empty || (f->hurries && f->bytes > HURRY_BYTES))) {
		f->waits = false;
		pthread_cond_signal(&f->filled);
	}
	pthread_mutex_unlock(&f->mutex);
	return fit;
}

bool feed_is_full(struct feed *f)
{
	bool full;

	pthread_mutex_lock(&f->mutex);
	full = f->bytes >= f->max_bytes - f->max_bytes / 8;
	f->was_full |= full;
	pthread_mutex_unlock(&f->mutex);
	return full;
}

bool feed_has_room(struct feed *f)
{
	bool has_room;

	pthread_mutex_lock(&f->mutex);
	has_room = f->bytes < f->max_bytes / 2;
	pthread_mutex_unlock(&f->mutex);
	return has_room;
}

void feed_close(struct feed *f)
{
	pthread_mutex_lock(&f->mutex);
	f->closed = true;
	pthread_cond_signal(&f->filled);
	pthread_mutex_unlock(&f->mutex);
}

/* ---- the desk ---- */

bool feed_is_closed(struct feed *f)
{
	bool closed;

	pthread_mutex_lock(&f->mutex);
	closed = f->closed;
	pthread_mutex_unlock(&f->mutex);
	return closed;
}

static struct timespec timespec_of(int64_t ns)
{
	return (struct timespec){ns / NS_PER_S, ns % NS_PER_S};
}

/* With the mutex held. False when the time has come. */
static bool wait_until(struct feed *f, int64_t mono_ns)
{
	struct timespec until = timespec_of(mono_ns);

	f->waits = true;
	return pthread_cond_timedwait(&f->filled, &f->mutex, &until) != ETIMEDOUT;
}

struct feed_block *feed_take(struct feed *f, int64_t until_mono_ns, bool *ret_closed)
{
	struct feed_block *taken;
	int64_t rest_ns;

	pthread_mutex_lock(&f->mutex);
	while (!f->first && !f->closed && wait_until(f, until_mono_ns))
		;
	rest_ns = clock_mono_ns(&clock_system) + REST_NS;
	f->hurries = true;
	while (f->first && f->bytes < HURRY_BYTES && !f->closed && wait_until(f, rest_ns))
		;
	f->waits = f->hurries = false;
	taken = f->first;
	f->first = f->last = NULL;
	*ret_closed = f->closed;
	pthread_mutex_unlock(&f->mutex);
	return taken;
}

void feed_give_back(struct feed *f, struct feed_block *b)
{
	bool has_room;

	pthread_mutex_lock(&f->mutex);
	f->bytes -= b->used;
	has_room = f->was_full && f->bytes < f->max_bytes / 2;
	f->was_full &= !has_room;
	if (b->cap == BLOCK_BYTES && f->spare_count < SPARE_BLOCKS) {
		b->next = f->spare;
		f->spare = b;
		f->spare_count++;
		b = NULL;
	}
	pthread_mutex_unlock(&f->mutex);
	free(b);
	if (has_room)
		f->room(f->context);
}

const struct feed_item *feed_next(const struct feed_block *b, size_t *at)
{
	const struct feed_item *item = (const struct feed_item *)(const void *)(b->bytes + *at);

	if (*at >= b->used)
		return NULL;
	*at += item_bytes(item->bytes);
	return item;
}

struct slice feed_text(const struct feed_item *item, unsigned index)
{
	const char *at = item->data + item->text_count * sizeof(uint32_t);
	uint32_t len = 0;

	if (index >= item->text_count)
		return (struct slice){NULL, 0};
	for (unsigned i = 0; i <= index; i++) {
		at += len;
		memcpy(&len, item->data + i * sizeof(len), sizeof(len));
	}
	return (struct slice){len ? at : NULL, len};
}
