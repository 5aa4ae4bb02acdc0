/*
 * merge.h: one tape out of two recordings of one cluster. An event that both have is on the new tape once.
 * What one did not see comes from the other one's watch, in its place. A gap, or a part of one, in which the
 * other one watched the same has `how_ended` filled, and does not count as a gap for coverage.
 *
 * Order: events that watches saw are in the order of the resourceVersions of their resource, everything else
 * in that of time. The clocks of the two are compared by the events that both saw; times of the second tape
 * are moved by the difference, if it is more than delivery can explain.
 *
 * If the one ends before the other one begins, the streams that both follow have a gap. An object that a list
 * after such a time lacks was deleted (origin inferred).
 */
#ifndef SCHEMA_TAPE_MERGE_H
#define SCHEMA_TAPE_MERGE_H

#include "schema/tape/reader.h"

struct merge_options {
	/* The two need not have an object version in common, which would prove it. */
	bool is_one_cluster;
	/* How many of the events are done; non-zero stops. May be NULL. */
	int (*progress)(void *context, uint64_t done, uint64_t total);
	void *context;
	const char *program;
};

struct merge_result {
	uint64_t events[2]; /* on the new tape, of each */
	uint64_t common;    /* versions that both have */
	uint64_t deletions; /* concluded from a list after a time that neither saw */
	uint64_t gaps, filled, partly;
	bool secrets_differ; /* one version of a Secret has other bytes on the one than on the other: digests under two keys */
	int64_t shift_ns; /* by how much the second one's clock was ahead; 0: too little to count */
};

/* Makes `to`, which must not exist. ERR_USAGE if nothing shows that it is one cluster; ERR_TOO_LARGE for more than
 * MERGE_EVENTS_MAX events, which are ordered in memory. On failure nothing is left of `to`. */
#define MERGE_EVENTS_MAX 50000000
int tape_merge(struct tape *const tapes[2], const char *to, const struct merge_options *options,
	struct merge_result *ret, struct err *err) MUST_CHECK;

#endif
