/* history.c: see history.h. */
#include "replayer/world/history.h"

#include "replayer/world/overlay.h"

#include "schema/base/buf.h"

#include <stdlib.h>

void history_init(struct history *h, size_t max, uint64_t floor_rv, uint64_t floor_seq)
{
	*h = (struct history){.max = max, .floor_rv = floor_rv, .floor_seq = floor_seq};
}

void history_release(struct history *h)
{
	free(h->entries);
	h->entries = NULL;
	h->count = h->cap = 0;
}

static struct history_entry *entry(const struct history *h, size_t i)
{
	return &h->entries[(h->first + i) % h->cap];
}

static void drop_oldest(struct history *h)
{
	h->floor_rv = entry(h, 0)->rv;
	h->floor_seq = entry(h, 0)->seq;
	h->first = (h->first + 1) % h->cap;
	h->count--;
	h->base++;
}

static void history_grow(struct history *h)
{
	size_t cap = h->cap ? 2 * h->cap : 64;
	struct history_entry *ring = xmalloc(cap * sizeof(*ring));

	for (size_t i = 0; i < h->count; i++)
		ring[i] = *entry(h, i);
	free(h->entries);
	h->entries = ring;
	h->first = 0;
	h->cap = cap;
}

void history_add(struct history *h, uint64_t rv, uint64_t seq)
{
	uint64_t least = h->count ? entry(h, h->count - 1)->rv : h->floor_rv;

	if (h->count == h->max)
		drop_oldest(h);
	if (h->count == h->cap)
		history_grow(h);
	h->count++;
	*entry(h, h->count - 1) = (struct history_entry){rv > least ? rv : least, seq};
}

void history_reset(struct history *h, uint64_t rv, uint64_t seq)
{
	h->base += h->count;
	h->count = 0;
	h->floor_rv = rv;
	h->floor_seq = seq;
}

void history_drop(struct history *h, uint64_t seq)
{
	size_t i = 0;

	while (i < h->count && entry(h, i)->seq != seq)
		i++;
	for (size_t n = i < h->count ? i + 1 : 0; n; n--)
		drop_oldest(h);
}

uint64_t history_after(const struct history *h, uint64_t rv)
{
	size_t low = 0, high = h->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (entry(h, middle)->rv <= rv)
			low = middle + 1;
		else
			high = middle;
	}
	return h->base + low;
}

const struct history_entry *history_at(const struct history *h, uint64_t number)
{
	if (number < h->base || number >= history_end(h))
		return NULL;
	return entry(h, (size_t)(number - h->base));
}

uint64_t history_rv_seen(const struct history *h, uint64_t seq, uint64_t written)
{
	size_t i = 0;

	while (i < h->count && entry(h, i)->seq <= (overlay_has(entry(h, i)->seq) ? written : seq))
		i++;
	return i ? entry(h, i - 1)->rv : h->floor_rv;
}

uint64_t history_seq_of(const struct history *h, uint64_t rv)
{
	uint64_t after = history_after(h, rv);

	return after == h->base ? h->floor_seq : history_at(h, after - 1)->seq;
}

/* From the newest on, as positions need not rise with versions: what a relist showed is sorted by these. */
uint64_t history_rv_of(const struct history *h, uint64_t seq)
{
	size_t i = h->count;

	while (i > 0 && entry(h, i - 1)->seq > seq)
		i--;
	return i ? entry(h, i - 1)->rv : h->floor_rv;
}
