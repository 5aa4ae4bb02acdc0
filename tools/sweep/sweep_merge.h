/*
 * sweep_merge.h: one sweep over many machines. The fault itself, not its place in a list, decides its part,
 * so that no fault is silently left out if machines disagree about the list. The reports of all machines make
 * one.
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

/* The options that every part of a sweep has to have alike, as "--max=100"; owned. */
void sweep_asked_list(const struct option_row *options, const void *values, struct text_list *to);
/* What a report says of them, and of its command; owned. */
void sweep_asked_read(const cJSON *report, struct text_list *asked, struct text_list *command);

/* A report, and its parts. */
struct sweep_merged {
	struct sweep_report report;
	struct sweep_positions positions;
	struct sweep_measure measure;
	struct text_list ignored, asked, command;
	struct sweep_answer without;
	struct sweep_try *tries;
	size_t count;
	size_t fetched; /* out of a store */
};

/* Merges the results of shards: folders with a sweep.json, or s3://BUCKET/PREFIX; a place without a report
 * stands for those below it. Files in a store are fetched to folders in `into`, or stay there if that is
 * NULL. Faults that no shard tried stay untried. ERR_USAGE if they are of different tapes, were asked for
 * different things, or disagree about the command's result without faults. The caller releases in any case. */
int sweep_merge(const struct text_list *places, const char *into, struct sweep_merged *ret,
	struct err *err) MUST_CHECK;
void sweep_merged_release(struct sweep_merged *m);

/* ERR_USAGE if a report was asked for something else than those before; another command is told on stderr. */
int sweep_asked_check(
	const struct sweep_merged *m, const cJSON *report, const char *folder, struct err *err) MUST_CHECK;

#endif
