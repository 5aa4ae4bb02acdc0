/* sweep_patterns_internal.h: what sweep_patterns.c and sweep_stale.c know of the run without faults. */
#ifndef TOOLS_SWEEP_PATTERNS_INTERNAL_H
#define TOOLS_SWEEP_PATTERNS_INTERNAL_H

#include "tools/sweep/sweep.h"

/* A write of the program. */
struct sweep_own_write {
	uint64_t seq; /* the last event before it */
	char *kind, *resource;
	uint64_t number;   /* of those of its kind after the same event, from 1 */
	bool is_kept;      /* it lies over the tape */
	bool is_farewell;  /* to an object that is being deleted, as where a finalizer is taken away */
	bool is_overtaken; /* the next event that the program is sent is of that object as well */
	bool is_healed;    /* the tape deletes that object later, with whatever is wrong with it */
};

struct sweep_facts {
	struct sweep_own_write *writes;
	size_t write_count;
	uint64_t *sent; /* the events that it was sent, in their order */
	size_t sent_count;
	struct sweep_positions *to;
	unsigned patterns;
	bool own; /* SWEEP_OWN, too */
	bool laid_over;
	struct text_list watched; /* owned */
};

/* SQL: the name of a resource with its group. */
#define RESOURCE "resource || iif(apigroup = '', '', '.' || apigroup)"

/* Borrowed until the next. */
struct sweep_position *sweep_place_add(
	const struct sweep_facts *f, enum sweep_pattern pattern, enum sweep_kind kind, const char *resource);

/* Adds those of SWEEP_STALE. */
int sweep_stale_find(struct sql_session *s, const struct sweep_facts *f, struct err *err) MUST_CHECK;

#endif
