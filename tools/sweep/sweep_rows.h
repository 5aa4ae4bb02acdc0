/*
 * sweep_rows.h: the events of the tape for the search for places: their objects, whether the program was sent
 * them in the run without gaps, and what they change. See sweep.h.
 */
#ifndef TOOLS_SWEEP_ROWS_H
#define TOOLS_SWEEP_ROWS_H

#include "tools/sweep/sweep.h"

/* One event of the tape. */
struct sweep_row {
	uint64_t seq;
	int64_t time_ns;
	char type; /* of ADDED, MODIFIED, DELETED the first letter */
	bool reached, terminating, wanted;
	bool left, entered; /* the selection of a watch, without being deleted or created */
	char *resource, *object, *uid;
	char *change;          /* "status.phase Running"; NULL: nothing that a program would act on */
	size_t previous, next; /* event of that object, by name; SWEEP_NO_ROW: none */
};
#define SWEEP_NO_ROW SIZE_MAX

struct sweep_rows {
	struct sweep_row *items;
	size_t count, cap;
};

/* Names of resources. */
struct sweep_names {
	char **items;
	size_t count;
};

/* The options, input and output of the search. */
struct sweep_finding {
	const struct sweep_search *what;
	const struct sweep_rows *all;
	const struct sweep_names *watched;
	struct sweep_positions *to;
};

/* All between the first and the last position of the run, linked by object. `s` has the run without gaps. The
 * caller releases, also on failure. */
int sweep_rows_read(struct sql_session *s, const struct sweep_search *what, struct sweep_rows *ret,
	struct err *err) MUST_CHECK;
void sweep_rows_release(struct sweep_rows *rows);

/* The resources that the program watched, on the tape or not. */
int sweep_names_read(struct sql_session *s, struct sweep_names *ret, struct err *err) MUST_CHECK;
void sweep_names_release(struct sweep_names *names);

bool sweep_rows_of_one_resource(const struct sweep_rows *rows, size_t a, size_t b);

/* SWEEP_NO_ROW: none of them is that event. */
size_t sweep_rows_find(const struct sweep_rows *rows, uint64_t seq);

/* The first event later than that one, or the end: the clock does not stop between those of one moment. */
size_t sweep_rows_after(const struct sweep_rows *rows, size_t at);

/* Where the first object of that resource ends that began at `first` or later; `end` when none does. */
size_t sweep_rows_life_end(const struct sweep_rows *rows, size_t first, size_t end);

/* A place that hides what that resource does from the one event to the other; borrowed until the next. */
struct sweep_position *sweep_positions_add(
	const struct sweep_finding *f, enum sweep_kind kind, size_t first, size_t last);

/* The same from the first one to before `end`, until what other resources do in that stretch is over as well, so that
 * they are seen while this one is not. */
struct sweep_position *sweep_positions_add_stretch(
	const struct sweep_finding *f, enum sweep_kind kind, size_t first, size_t end);

/* How many places of that kind and sort there are. */
size_t sweep_positions_alike(
	const struct sweep_positions *p, enum sweep_kind kind, const char *resource, const char *what);

/* ---- sweep_changes.c ---- */

/* Reads the changes of MODIFIED events into the rows. */
int sweep_changes_read(struct sql_session *s, struct sweep_rows *rows, struct err *err) MUST_CHECK;

/* Adds each two and three successive changes of one object, one place for each sort. */
void sweep_changes_find(const struct sweep_finding *f);

/* Adds single changes that come while the program is down, one place for each sort. */
void sweep_changes_find_while_down(const struct sweep_finding *f);

/* ---- sweep_references.c ---- */

/* Adds those of SWEEP_REFERENCE. `s` has the run without gaps. */
int sweep_references_find(struct sql_session *s, const struct sweep_finding *f, struct err *err) MUST_CHECK;

/* ---- sweep_overwrites.c, sweep_unechoed.c ---- */

/* Add those of SWEEP_OVERWRITE, and those of SWEEP_OWN that last until others delete the object. `s` has a run without faults in
 * which each write answers the event before it. */
int sweep_at_writes_find(struct sql_session *s, const struct sweep_search *what, bool laid_over,
	struct sweep_positions *to, struct err *err) MUST_CHECK;
int sweep_overwrites_find(
	struct sql_session *s, const struct sweep_finding *f, bool laid_over, struct err *err) MUST_CHECK;
int sweep_unechoed_find(
	struct sql_session *s, const struct sweep_finding *f, bool laid_over, struct err *err) MUST_CHECK;

#endif
