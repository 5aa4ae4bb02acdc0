/*
 * position.h: points on a tape as people write them.
 *
 *   every form of moment.h  after the last event that had arrived by then
 *   5321 or seq:5321        after that event; a bare number of more than nine digits is a time (seconds
 *                           since 1970)
 *   pods@5321, rv:5321      after the last event of that resource, or of any, with at most that
 *                           resourceVersion
 *   start, end              before the first event, after the last
 */
#ifndef SCHEMA_TAPE_POSITION_H
#define SCHEMA_TAPE_POSITION_H

#include "schema/base/moment.h"
#include "schema/tape/coverage.h"

enum position_place {
	POSITION_ON_TAPE,
	POSITION_BEFORE, /* before the tape begins */
	POSITION_AFTER,  /* after it ends */
};

struct tape_position {
	uint64_t seq;    /* of the last event that counts; 0: there is none before that point */
	int64_t time_ns; /* the time named, else that of the last event that counts, else the tape's first */
	bool by_time;    /* a time was named. It may lie in a silence, long after that event */
	bool is_end;     /* the end of the tape was named */
	enum position_place place;
	uint64_t days; /* a time of day: on how many days it lies within the tape; 1 for all others */
	int64_t set_back_ns; /* by so much the recorder's clock was set back, and showed this time twice; 0: it did not */
	struct tape_span span;
};

/* ERR_USAGE says what is wrong with the text. A position outside the tape is not an error: `place` says so,
 * and the state there is a guess. */
int tape_position_find(
	struct tape *t, const char *text, struct tape_position *ret, struct err *err) MUST_CHECK;

/* A sentence about what had to be guessed: that the position lies outside the tape, and from when to when the
 * tape goes, that a time of day lies on several days, or that the clock showed it twice. False if nothing had. */
#define POSITION_REMARK_BYTES 400
bool tape_position_remark(const struct tape_position *p, const char *text, char to[POSITION_REMARK_BYTES]);

/* The origins of relative times: the tape's first and last event, or its span if it has none, and the
 * clock. */
int tape_position_frame(struct tape *t, struct moment_frame *ret, struct err *err) MUST_CHECK;

/* The same position to ask a coverage of. */
struct coverage_point tape_position_point(const struct tape_position *p, const struct coverage *c);

/* The last event that had arrived at time_ns. */
int tape_position_at_time(struct tape *t, int64_t time_ns, uint64_t *ret_seq, struct err *err) MUST_CHECK;

/* The last event of a resource (0: of any) with a resourceVersion of at most rv. */
int tape_position_at_rv(
	struct tape *t, uint32_t resource, struct slice rv, uint64_t *ret_seq, struct err *err) MUST_CHECK;

#endif
