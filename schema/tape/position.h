/*
 * position.h: points on a tape as people write them.
 *
 *   5321 or seq:5321        after that event
 *   2026-11-21T08:44:17Z    and the other forms of time_parse: after the last event that had arrived by then;
 *                           "now" is the end of the tape, "-5m" counts from its end, "+30s" from its start
 *   12:03:05                that time (UTC) on the day on which the tape begins, or the day after when the
 *                           tape begins later than that
 *   pods@5321, rv:5321      after the last event of that resource, or of any, with at most that
 *                           resourceVersion
 *   start, end
 *
 * A bare number of more than nine digits is taken for seconds since 1970, as time_parse does.
 */
#ifndef SCHEMA_TAPE_POSITION_H
#define SCHEMA_TAPE_POSITION_H

#include "schema/tape/reader.h"

/* The seq of the last event that counts: 0 when there is none before that point. ERR_USAGE says what is wrong
 * with the text. */
int tape_position_parse(struct tape *t, const char *text, uint64_t *ret_seq, struct err *err) MUST_CHECK;

/* The same with the time that belongs to it: the one named, else that of the last event that counts, else the
 * tape's first. A named time may lie in a silence, long after that event. */
int tape_position_parse_time(
	struct tape *t, const char *text, uint64_t *ret_seq, int64_t *ret_ns, struct err *err) MUST_CHECK;

/* The last event that had arrived at time_ns. */
int tape_position_at_time(struct tape *t, int64_t time_ns, uint64_t *ret_seq, struct err *err) MUST_CHECK;

/* The last event of a resource (0: of any) with a resourceVersion of at most rv. */
int tape_position_at_rv(
	struct tape *t, uint32_t resource, struct slice rv, uint64_t *ret_seq, struct err *err) MUST_CHECK;

#endif
