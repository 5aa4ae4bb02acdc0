/*
 * counter.h: which resources of a recording take their resourceVersions from one counter, as all in one etcd
 * do. A list of these shows the counter, not only the resource's own last version: that is how the API server
 * lists. Others (Events in an etcd of their own, aggregated APIs) have counters that do not matter here.
 *
 * The first lists decide: each showed the counter at a moment between its request and its end, and those
 * moments have an order.
 */
#ifndef REPLAYER_COUNTER_H
#define REPLAYER_COUNTER_H

#include "replayer/world/marks.h"

/* For each resource id below marks->resource_count: whether it takes part. The caller frees. */
int counter_find(struct tape *tape, const struct marks *marks, bool **ret, struct err *err) MUST_CHECK;

#endif
