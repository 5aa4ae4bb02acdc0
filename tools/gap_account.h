/*
 * gap_account.h: the gaps of a tape with all that belongs to each: the watch that broke, the attempts until
 * it resumed, and what the relist showed.
 */
#ifndef TOOLS_GAP_ACCOUNT_H
#define TOOLS_GAP_ACCOUNT_H

#include "schema/tape/gap_words.h"
#include "schema/tape/reader.h"

#define GAP_ATTEMPT_WORDS 12 /* different outcomes that are listed; the rest is "other" */

struct gap_attempt {
	char *purpose, *reason; /* "watch", "refused" */
	uint64_t count;
};

struct gap_missed {
	char *change, *namespace, *name, *uid, *old_uid, *rv, *old_rv;
	const struct tape_resource *resource; /* the tape's; NULL unknown */
};

struct gap_account {
	struct tape_gap gap; /* owns its texts; id 0: it has no row (coverage.h) */
	const struct tape_stream *stream;
	const struct tape_resource *resource;
	bool known_before; /* the connection before it is on the tape */
	int64_t watched_ns;
	uint64_t watched_events; /* if they are known */
	bool knows_events;
	struct gap_attempt attempts[GAP_ATTEMPT_WORDS];
	size_t attempt_count;
	struct gap_missed *missed;
	size_t missed_count;
};

struct gap_accounts {
	struct gap_account *items; /* in the order in which they began */
	size_t count;
	size_t untold_count;   /* streams for which the tape does not say when they were watched */
	size_t unlisted_count; /* ... and that were never listed */
};

int gap_accounts_read(struct tape *t, struct gap_accounts *ret, struct err *err) MUST_CHECK;
void gap_accounts_release(struct gap_accounts *a);

/* Whether the tape does not know something: a gap hid changes or never ended, or a stream is untold or
 * was never listed. */
bool gap_accounts_lack_something(const struct gap_accounts *a);

/* Whether something was missed, or nobody can say because it never ended. */
bool gap_hid_something(const struct gap_account *a);

#endif
