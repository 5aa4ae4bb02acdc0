/*
 * sweep_recorded.h: the program's own work on the tape, which was recorded while it ran. In the runs that are laid over the
 * tape, the tape leaves that to the program: it neither adds the program's finalizers nor takes them away
 * (replayer/write/finalizer_hold.h), does not make what the program makes, nor delete what it deletes
 * (replayer/write/awaited.h), nor bind pods. What both write to objects of others is left to it only if one of these shows
 * that the program ran.
 */
#ifndef TOOLS_SWEEP_SWEEP_RECORDED_H
#define TOOLS_SWEEP_SWEEP_RECORDED_H

#include "schema/sql/session.h"
#include "tools/cli/options.h"

/* All owned. */
struct sweep_recorded {
	struct text_list finalizers; /* that both the program and the tape take away */
	struct text_list released;   /* finalizers that the program adds and others take away */
	struct text_list added;      /* finalizers that both add to objects of others */
	struct text_list made;       /* objects that both make, as rules of --await */
	struct text_list deleted;    /* ... those of them that the program deletes */
	struct text_list ended;      /* objects that were there, or others make, and both delete */
	struct text_list ways;       /* in which both change objects of others, as such rules */
	struct text_list bare;       /* resources of which the tape does not tell who wrote what */
	struct text_list schedulers; /* whose pods both put on nodes */
	char *awaited;               /* the file with them, for --await @FILE; NULL: none */
};

/* Of the session's run, into an empty one; the caller releases, also after a failure. */
int sweep_recorded_read(struct sql_session *s, struct sweep_recorded *ret, struct err *err) MUST_CHECK;
void sweep_recorded_release(struct sweep_recorded *r);

/* Adds the finalizers that another run has shown. */
void sweep_recorded_hold(struct sweep_recorded *r, const struct sweep_recorded *other);

/* Adds the objects and ways that another run has shown, to the file in that folder as well. After sweep_recorded_hold. */
int sweep_recorded_await(struct sweep_recorded *r, const struct sweep_recorded *other, const char *folder,
	struct err *err) MUST_CHECK;

/* Whether the program ran when the tape was recorded. */
bool sweep_recorded_program_ran(const struct sweep_recorded *r);

/* All of it. */
size_t sweep_recorded_count(const struct sweep_recorded *r);

/* Says on stderr what the tape leaves to the command. */
void sweep_recorded_tell(const struct sweep_recorded *r);

#endif
