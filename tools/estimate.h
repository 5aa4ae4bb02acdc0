/*
 * estimate.h: how much disk a day of recording will take, estimated from a sample of some minutes.
 *
 * A tape packs the versions of one object side by side, extent by extent: the first one of an extent takes
 * much, the following ones little, and of these the first one about twice as much as the others, as it shows what changes
 * in the object at all. A short sample has few versions of each object, but the first lists have
 * one of each: their size gives the cost of a first version, and the growth during the sample that of further
 * ones. The number of objects that change in the time of an extent determines how often a first version, and a first change, is
 * needed. Resources with few events are measured together, as a tape packs them. Bookmarks and connections of
 * watches come at rates that are known, and that a short sample cannot show.
 */
#ifndef TOOLS_ESTIMATE_H
#define TOOLS_ESTIMATE_H

#include "schema/base/err.h"

#include <stdint.h>
#include <stdio.h>

struct estimate_options {
	const char *tape_path; /* the sample */
	const char *scratch;   /* a folder for trial tapes; empty afterwards */
	uint64_t first_seq;    /* what came until then is the first lists */
	int64_t begin_ns;      /* wall clock, when they were whole */
	int64_t window_ns;     /* from then on */
	uint64_t extent_bytes, segment_bytes,
		max_bytes; /* of the recording to come, as tape_writer_options; 0: default */
};

/* Prints a table by resource and a sentence of what a day takes. */
int estimate_print(const struct estimate_options *options, FILE *to, struct err *err) MUST_CHECK;

#endif
