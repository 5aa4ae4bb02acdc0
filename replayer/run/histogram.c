/* histogram.c: see histogram.h. Values below HISTOGRAM_PARTS have a bucket each; above, each doubling is
 * divided into HISTOGRAM_PARTS / 2 buckets of equal width. */
#include "replayer/run/histogram.h"

#include <stddef.h>

#define HALF (HISTOGRAM_PARTS / 2)

static size_t bucket_of(uint64_t value)
{
	unsigned shift = 0;
	size_t index;

	while (value >> shift >= HISTOGRAM_PARTS)
		shift++;
	index = shift * HALF + (size_t)(value >> shift);
	return index < HISTOGRAM_BUCKETS ? index : HISTOGRAM_BUCKETS - 1;
}

/* The largest value that belongs there. */
static uint64_t top_of(size_t bucket)
{
	unsigned shift = bucket < HISTOGRAM_PARTS ? 0 : (unsigned)(bucket / HALF - 1);
	uint64_t part = bucket - (size_t)shift * HALF;

	return ((part + 1) << shift) - 1;
}

void histogram_add(struct histogram *h, int64_t ns, uint64_t times)
{
	h->buckets[bucket_of(ns > 0 ? (uint64_t)ns : 0)] += times;
	h->count += times;
	if (times && ns > h->max_ns)
		h->max_ns = ns;
}

int64_t histogram_at(const struct histogram *h, double part)
{
	uint64_t wanted = (uint64_t)((double)h->count * part), seen = 0;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += h->buckets[i];
		if (h->buckets[i] && seen >= wanted)
			return (int64_t)top_of(i) < h->max_ns ? (int64_t)top_of(i) : h->max_ns;
	}
	return 0;
}
