/*
 * push_account.h: what a database had of a tape, and somebody removed. Its own account goes with its rows; what was noted beside
 * the tape (push_note.h) does not.
 */
#ifndef RECORDER_PUSH_PUSH_ACCOUNT_H
#define RECORDER_PUSH_PUSH_ACCOUNT_H

#include "recorder/push/manifest.h"

/* How many of the segments that the database at that URL had are neither in it (`m`) nor here, where the first one is
 * `first_here`. *ret_first: the first that it ever had; 0: not known. */
uint64_t push_account(const char *tape_path, const char *url, const struct manifest *m, uint32_t first_here,
	uint32_t *ret_first);

/* A sentence about so many, which the caller frees. */
char *push_account_tell(const char *url, uint64_t missing);

#endif
