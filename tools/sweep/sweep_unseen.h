/*
 * sweep_unseen.h: what a program could not see in a run with a fault. A gap may hide an object from its first to its
 * last moment, or a state that it has left again by the time the program looks. What the program had done about it
 * without faults it does not do then, however well it is written, so that this is no mistake of its own.
 */
#ifndef TOOLS_SWEEP_UNSEEN_H
#define TOOLS_SWEEP_UNSEEN_H

#include "schema/sql/session.h"
#include "tools/sweep/sweep_answer.h"

/* Of the effects that `ground` has and `answer` lacks, adds to answer->unseen the keys of those that answer to an event
 * of which nothing could be seen in that run: of its object no version that still had what the event changed was the
 * newest one shown for `pace_ns`, in a watch or a list, of a program that was not killed at once, nor is the last one of the tape. A version has that still if it
 * has each word which the event set, as in "phase Running", and part of what it set at all. Of those that both have, it
 * adds the ones with other content if each field that differs answers to such an event. `exact`, the ground's run in
 * lock-step, shows that by the write that gave the field its last value; without it (NULL) such a difference counts.
 * Nothing is added if ground->is_exact does not hold. */
int sweep_unseen_find(const char *tape, const char *run, const char *exact, const struct sweep_ground *ground,
	int64_t pace_ns, struct sweep_answer *answer, struct err *err) MUST_CHECK;

/* Whether anything could be seen of that event in that run, as said above, in a version of its object before that of end_seq.
 * `text` is what answers to it; `undone`: by being no longer there. */
#define SWEEP_NO_END INT64_MAX
int sweep_was_seen(struct sql_session *run, uint64_t seq, uint64_t end_seq, const char *text, bool undone,
	int64_t pace_ns, bool *ret, struct err *err) MUST_CHECK;

#endif
