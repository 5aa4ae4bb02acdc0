/*
 * sweep_numbered.h: objects that a program numbers as it makes them, one for each state that it has seen: a revision, a release.
 *
 *   without the fault     web-1 (a)   web-2 (b)   web-3 (c)   web-4 (d)     of which it keeps the last two: c, d
 *   c was not to be seen  web-1 (a)   web-2 (b)   web-3 (d)                                                 b, d
 *
 * Of a state that it could not see it makes none. Later ones have lower numbers then, and earlier ones stay for longer.
 */
#ifndef TOOLS_SWEEP_NUMBERED_H
#define TOOLS_SWEEP_NUMBERED_H

#include "schema/sql/session.h"
#include "tools/sweep/sweep_answer.h"

/* Gives such objects of `answer`, and texts that name them, the numbers of those that have the same content in `ground`, and adds
 * the keys of those that stay for longer to answer->unseen. Only where all this follows from events that could not be seen
 * (sweep_unseen.h): no number is lower by more than these, the last object is the same, and no more of them are left than in
 * `ground`. Objects that differ in nothing but their numbers, as replicas do, are not looked at. `run` is that of `answer`,
 * `exact` the ground's in lock-step. */
int sweep_numbered_find(struct sql_session *run, struct sql_session *exact, const struct sweep_ground *ground,
	int64_t pace_ns, struct sweep_answer *answer, struct err *err) MUST_CHECK;

#endif
