/*
 * coverage.h: what a tape can know: from when to when each stream was watched. What was not seen is unknown,
 * which is not the same as absent.
 *
 * Most of it is in the rows of a tape: marks (lists that are complete), gaps, connections. Two things are
 * inferred from them:
 *   - A stream that a later recording left out has a gap from the end of its last watch to the end of the
 *     tape. No row says so; coverage_each_gap adds one, with id 0.
 * - A gap that a recorder left when it was stopped begins where its own watch ended, whatever the last thing
 * on the tape was. For an imported stream the tape may not say when it was watched: it is "untold".
 *
 * A coverage is a snapshot of the tape at coverage_load: it borrows nothing and knows nothing newer.
 */
#ifndef SCHEMA_TAPE_COVERAGE_H
#define SCHEMA_TAPE_COVERAGE_H

#include "schema/tape/reader.h"

/* From the first thing on a tape to the last: events and everything that is known of the watches. A watch
 * that went on in silence is longer than the events. All zero of a tape that has nothing. */
struct tape_span {
	uint64_t first_seq, last_seq;
	int64_t begin_ns, end_ns;
	bool live; /* a recorder holds the tape: it has no end yet */
};

enum coverage_state {
	COVERAGE_WATCHED,
	COVERAGE_UNLISTED, /* before its first list was complete, at until_ns; INT64_MAX: it never was */
	COVERAGE_GAP,      /* not watched from since_ns to until_ns; INT64_MAX: to the end */
	COVERAGE_LEFT,     /* the same for good: later recordings do not follow it any more */
	COVERAGE_UNTOLD,   /* the tape does not say when it was watched */
	COVERAGE_STATE_COUNT,
};

/* The knowledge about one stream at one position. */
struct coverage_answer {
	enum coverage_state state;
	int64_t since_ns, until_ns;
	uint64_t gap;       /* its id; 0: none, or one without a row */
	const char *reason; /* of the gap, "" for others; lives as long as the coverage */
};

/* "watched" "unlisted" "gap" "left" "untold": the words that SQL and JSON have. */
const char *coverage_state_name(enum coverage_state state);

struct coverage;

int coverage_load(struct tape *t, struct coverage **ret, struct err *err) MUST_CHECK;
void coverage_free(struct coverage *c); /* accepts NULL */

struct tape_span coverage_span(const struct coverage *c);

/* At a time, or, without by_time, right after an event that arrived at that time. */
struct coverage_point {
	uint64_t seq;
	int64_t time_ns;
	bool by_time;
};
struct coverage_answer coverage_at(
	const struct coverage *c, uint32_t stream, const struct coverage_point *point);

/* Every interval in which a stream was not watched, even those without a row, as tape_each_gap gives them.
 * The tape is the one from which the coverage was loaded. */
int coverage_each_gap(const struct coverage *c, struct tape *t,
	int (*each)(void *context, const struct tape_gap *gap), void *context, struct err *err) MUST_CHECK;

/* How many streams of the tape are in each state at its end. Adds to ret. */
void coverage_count_states(const struct coverage *c, struct tape *t, size_t ret[COVERAGE_STATE_COUNT]);

/* The number of streams that are untold, and of gaps without a row. */
size_t coverage_untold_count(const struct coverage *c);
size_t coverage_left_count(const struct coverage *c);

#endif
