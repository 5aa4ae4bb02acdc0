/*
 * listing.h: takes in the pages of one list and compares them with what is known.
 *
 * The first list of a stream gives events of origin `list`. A later one, after a gap, gives only the
 * differences: modified and added objects with origin `relist`, deletions with origin `inferred` and the last
 * known state, a recreated object (another UID under the same name) as a deletion and an addition; each with
 * a row in `missed`. Pages are taken in as they come; when a list has to be begun anew, what was taken in is
 * known by then and not recorded twice.
 */
#ifndef RECORDER_LISTING_H
#define RECORDER_LISTING_H

#include "recorder/gap.h"
#include "recorder/ingest.h"

struct listing {
	struct ingest *ingest;
	struct gap *gap; /* with a row: this is a relist */
	uint32_t resource;
	bool is_first; /* the stream has never had a whole list */
	char *next;    /* the continue token, NULL on the first page */
	char rv[RESUME_RV_BYTES];
	uint64_t unchanged;
	struct tape *reader; /* opened when a deleted object's last state is wanted */
};

/* Before the first page. Borrows `in` and `gap` until the list is complete or begun anew; is_first counts
 * only where no gap is open. */
void listing_begin(struct listing *l, struct ingest *in, struct gap *gap, uint32_t resource, bool is_first);

/* Takes one page. Returns 1 when there are more (next is set), 0 when the list is complete: rv is its
 * resourceVersion, and what it no longer has is recorded as gone. ERR_PROTOCOL for a body that is no list. */
int listing_page(struct listing *l, struct slice body, int64_t time_ns, struct connection *connection,
	struct err *err) MUST_CHECK;

/* The list would be empty, as there is no such resource any more: all that is known is recorded as gone. */
int listing_nothing(struct listing *l, const char *rv, int64_t time_ns, struct err *err) MUST_CHECK;

/* Safe at any time, also twice. */
void listing_release(struct listing *l);

#endif
