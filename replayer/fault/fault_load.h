/*
 * fault_load.h: from what the command line says to faults that can happen: the gaps of the recording, those
 * of a file, and those in the short form.
 */
#ifndef REPLAYER_FAULT_LOAD_H
#define REPLAYER_FAULT_LOAD_H

#include "replayer/fault/fault.h"

struct tape;

struct fault_load_options {
	const char *gaps;  /* "recorded" (as NULL), "none", or a file, which says itself whether recorded ones
			      happen too */
	struct slice text; /* of that file; see fault_file_text */
	const char *const *specs; /* in the short form; beside the others */
	size_t spec_count;
	int64_t seed;             /* 0: the file's */
	int64_t recorded_hold_ns; /* how long the clock waits after a recorded gap for watches; 0: not */
	int64_t hold_ns;          /* and after any other that does not set it */
	bool lenient, goes_on;    /* see struct fault_ground */
	uint64_t begin_seq;       /* where the replay begins */
	int64_t begin_ns;
};

/* Whether it is the name of a file. */
bool fault_is_file(const char *gaps);

/* NULL if nothing can go wrong. ERR_USAGE for an error in them: a sentence with its place. */
int fault_load(
	struct tape *t, const struct fault_load_options *o, struct faults **ret, struct err *err) MUST_CHECK;

#endif
