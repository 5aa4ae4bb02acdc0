/*
 * sweep_merge.h: one sweep over many machines. Each takes its part of the faults by what they are, not by where they stand
 * in a list, so that machines which disagree about the list leave none out unseen; and the reports of all make one.
 */
#ifndef TOOLS_SWEEP_MERGE_H
#define TOOLS_SWEEP_MERGE_H

#include "replayer/json/json_tree.h"
#include "tools/sweep/sweep_report.h"

/* The part I of N, from 0; count 0: all of it. */
struct sweep_shard {
	uint64_t index, count;
};

/* "2/8"; "index/8" is the part of this pod of an Indexed Job. ERR_USAGE. */
int sweep_shard_parse(const char *text, struct sweep_shard *ret, struct err *err) MUST_CHECK;
bool sweep_shard_has(const struct sweep_shard *shard, const struct sweep_try *t);

/* The sweep.json that a sweep has left in its folder, or at its s3://BUCKET/PREFIX; the caller deletes. */
int sweep_report_read(const char *place, cJSON **ret, struct err *err) MUST_CHECK;

/* A report, and what it is made of. */
struct sweep_merged {
	struct sweep_report report;
	struct sweep_positions positions;
	struct sweep_measure measure;
	struct sweep_answer without;
	struct sweep_try *tries;
	size_t count;
	size_t fetched; /* out of a store */
};

/* Of what shards left: folders with a sweep.json, or s3://BUCKET/PREFIX; a place that has none stands for those below it. What
 * lies in a store is fetched to folders in `into`, or stays there if that is NULL. What no shard tried stays untried.
 * ERR_USAGE if they are of different tapes, or disagree about what the command comes to without faults. The caller
 * releases in any case. */
int sweep_merge(const struct text_list *places, const char *into, struct sweep_merged *ret,
	struct err *err) MUST_CHECK;
void sweep_merged_release(struct sweep_merged *m);

#endif
