/*
 * recover.h: everything that is intact of a damaged tape, in a new one.
 *
 * It reads the pages directly (raw_db.h), so that a damaged page hides only its own contents. An event is
 * intact if its block and its index are, or if a later segment keeps it as state. Events keep their order. If
 * some are lost, later ones get lower seqs, so that there are no holes, and every row that names a seq is
 * adapted. Each lost run of events becomes a gap row (`reason` lost, `how_ended` recovered) of every stream
 * that may have had them.
 */
#ifndef SCHEMA_TAPE_RECOVER_H
#define SCHEMA_TAPE_RECOVER_H

#include "schema/tape/event.h"

/* Something that is not in the new tape. */
struct tape_loss {
	const char *file;  /* name in the damaged tape's directory; "" if the file is missing */
	const char *why;   /* "bad checksum of block 4 of extent 2" */
	const char *table; /* NULL for events, else whose rows: first and last are ids, 0 if nobody knows
			      which */
	uint64_t first, last;
	const struct event *event;            /* when it is one event and its index is intact, else NULL */
	const struct tape_resource *resource; /* of event */
};

/* All of a tape may be lost: nobody reads more of it one by one. */
#define RECOVER_TOLD_MAX 10000

struct tape_recover_options {
	/* Called for each loss in the order of seqs, then for rows, up to RECOVER_TOLD_MAX; non-zero stops.
	 */
	int (*lost)(void *context, const struct tape_loss *loss);
	/* Bytes of events done; non-zero stops. May be NULL. */
	int (*progress)(void *context, uint64_t done, uint64_t total);
	void *context;
	const char *program;
};

struct tape_recover_result {
	uint64_t events, lost_events, rows, lost_rows, segments;
	uint64_t untold;       /* losses that were only counted */
	uint64_t mended_pages; /* in which a single bit was flipped, and turned back */
	bool rows_unknown;     /* some were reported lost without their ids */
	bool tail_unknown;     /* something is damaged at the end, so that nobody knows what came there */
	/* The segment is missing whose state the first ones build upon: each stream has a gap (`reason` state_lost) from the
	 * first event to the end. */
	bool state_unknown;
};

/*
 * Makes `to`, which must not exist, from `from`, which is only read. ERR_BUSY if a writer holds it, which
 * is then not damaged. On failure, ERR_STOPPED included, nothing is left of `to`.
 */
int tape_recover(const char *from, const char *to, const struct tape_recover_options *options,
	struct tape_recover_result *ret, struct err *err) MUST_CHECK;

#endif
