/*
 * histogram.h: how often which duration occurred, in bounded memory: buckets that grow with the value, so
 * that any percentile is right within 1.6 %. Durations below 0 count as 0.
 */
#ifndef REPLAYER_HISTOGRAM_H
#define REPLAYER_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_PARTS   128 /* buckets for each doubling */
#define HISTOGRAM_BUCKETS (HISTOGRAM_PARTS * 58)

struct histogram {
	uint64_t buckets[HISTOGRAM_BUCKETS];
	uint64_t count;
	int64_t max_ns;
};

void histogram_add(struct histogram *h, int64_t ns, uint64_t times);

/* The duration that the given part (0.99) of all did not exceed; 0 if there are none. */
int64_t histogram_at(const struct histogram *h, double part);

#endif
