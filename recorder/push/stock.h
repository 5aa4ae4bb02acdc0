/*
 * stock.h: what the folder of a tape in a store has, compared with its manifest; and a manifest made anew where that one is
 * torn or missing.
 */
#ifndef RECORDER_PUSH_STOCK_H
#define RECORDER_PUSH_STOCK_H

#include "recorder/push/manifest.h"

/* All borrowed. */
struct stock {
	struct s3 *store;
	const struct s3_options *options; /* with which the store was opened */
	const struct s3_place *place;     /* of the tape's folder */
	const char *tape_path;            /* of the tape here */
	/* A sentence about what the store lacks. May be NULL. */
	void (*tell)(void *context, const char *sentence);
	void *context;
};

/* Marks the segments (is_off) and the audit book (its sum becomes "") that differ in the store from what the manifest says, and tells
 * of each; notes the etags of the others. One list, and a request for each segment of which that leaves a doubt. *ret_lost: how many
 * of those marked are not here either. *ret_behind: the folder has others that are not here; the manifest is an older one. */
int stock_check(const struct stock *k, struct manifest *m, uint64_t *ret_lost, bool *ret_behind,
	struct err *err) MUST_CHECK;

/* Adds to an empty manifest what the folder has: segments that are the same as here, those that are not here, as they say of
 * themselves, what lacks between these, and the audit book. ERR_CORRUPT if one that is not here is damaged: then *m is of no
 * use. */
int stock_take(const struct stock *k, struct manifest *m, struct err *err) MUST_CHECK;

#endif
