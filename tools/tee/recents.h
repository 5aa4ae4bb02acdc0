/*
 * recents.h: which of the latest events are on the tape, and under which seq: several watches are sent the
 * same, at different times, and the tape has it once. About 65,000 are remembered.
 */
#ifndef TOOLS_TEE_RECENTS_H
#define TOOLS_TEE_RECENTS_H

#include "schema/tape/event.h"

struct recents;

struct recents *recents_new(void);
void recents_free(struct recents *r);

/* A version of an object, from one event. */
struct recent_key {
	uint32_t resource;
	bool is_deleted;
	struct slice uid, rv;
};

/* The seq, 0 if it is not known. *ret_is_same: it is there with just these bytes. */
uint64_t recents_find(
	const struct recents *r, const struct recent_key *key, struct slice object, bool *ret_is_same);
void recents_add(struct recents *r, const struct recent_key *key, struct slice object, uint64_t seq);

#endif
