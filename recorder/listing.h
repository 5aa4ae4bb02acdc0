/*
 * listing.h: reads the pages of one list and compares them with what is known.
 *
 * The first list of a stream gives events of origin `list`. A later one, after a gap, gives only the
 * differences: modified and added objects with origin `relist`, deletions with origin `inferred` and the last
 * known state, a recreated object (another UID under the same name) as a deletion and an addition; each with
 * a row in `missed`. Items are processed as they arrive, so that no page is ever held as a whole. If a page
 * breaks off, or a list has to be restarted, the items so far are known and not recorded twice.
 */
#ifndef RECORDER_LISTING_H
#define RECORDER_LISTING_H

#include "recorder/gap.h"
#include "recorder/ingest.h"
#include "schema/base/json_list.h"

/* The list's subject; strings are borrowed. */
struct listing_target {
	uint32_t resource;
	const char *kind, *api_version; /* of items that do not say */
};

struct listing {
	struct ingest *ingest;
	struct gap *gap; /* with a row: this is a relist */
	struct listing_target target;
	bool is_first; /* the stream has never had a whole list */
	bool is_stuck; /* the pages lead nowhere: the list has to be asked for in another way */
	char *next;    /* the continue token, NULL on the first page */
	char rv[RESUME_RV_BYTES];
	uint64_t unchanged;
	unsigned idle_pages; /* in a row, that had nothing new */
	struct tape *reader; /* opened when a deleted object's last state is wanted */

	/* The page that is being read. */
	struct json_list page;
	struct connection *connection;
	int64_t time_ns;    /* of its last bytes */
	uint64_t new_count; /* items that this list did not have before */
};

/* Once. Borrows `in` and `gap` for its life. */
void listing_init(struct listing *l, struct ingest *in, struct gap *gap, const struct listing_target *target);
void listing_release(struct listing *l);

/* Before the first page. is_first counts only where no gap is open. */
void listing_begin(struct listing *l, bool is_first);

/* Before each page; the connection is borrowed until its end. */
void listing_page_begin(struct listing *l, struct connection *connection);

/* Takes bytes of the page, which arrived at that time. ERR_PROTOCOL if it is not a list, ERR_TOO_LARGE for an
 * item that is; else what the tape fails with. */
int listing_page_bytes(struct listing *l, struct slice bytes, int64_t time_ns, struct err *err) MUST_CHECK;

/* After the last byte. Returns 1 if there are more pages (next is set), 0 if the list is complete: rv is its
 * resourceVersion, and objects that it no longer has are recorded as gone. ERR_PROTOCOL for an incomplete
 * page, and for pages that form a loop. */
int listing_page_end(struct listing *l, int64_t time_ns, struct err *err) MUST_CHECK;

/* The resource no longer exists, so the list would be empty: records all known objects as gone. */
int listing_nothing(struct listing *l, const char *rv, int64_t time_ns, struct err *err) MUST_CHECK;

/* Drops the list, if one is running; the next one starts from the beginning. */
void listing_stop(struct listing *l);

#endif
