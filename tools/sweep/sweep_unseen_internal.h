/* sweep_unseen_internal.h: what sweep_unseen.c, of things, and sweep_unseen_field.c, of their fields, share. */
#ifndef TOOLS_SWEEP_UNSEEN_INTERNAL_H
#define TOOLS_SWEEP_UNSEEN_INTERNAL_H

#include "tools/sweep/sweep_unseen.h"

/* The writes to an object, each with what it was before; NULL: it was made. */
#define STEPS                                                                                                                 \
	"WITH w AS (SELECT write, seq, object, status = 201 AND coalesce(subresource, '') = '' AS made FROM writes"           \
	"  WHERE status BETWEEN 200 AND 299 AND coalesce(dry_run, 0) = 0"                                                     \
	"  AND verb NOT LIKE 'delete%%' AND policy = 'overlay' AND json_valid(object) AND resource || iif(apigroup = '', ''," \
	"  '.' || apigroup) || ' ' || iif(coalesce(namespace, '') = '', '', namespace || '/') || name = %Q),"                 \
	" steps AS (SELECT write, seq, object, iif(made, NULL, lag(object) OVER (ORDER BY write)) AS before FROM w)"

/* What was looked into: the run, and the ground's in lock-step. */
struct unseen {
	struct sql_session *run, *exact; /* exact: NULL if the ground has none */
	const struct sweep_ground *ground;
	int64_t pace_ns;
	char *unsteady; /* what differs from run to run by itself, each between newlines; own */
};

/* Whether all that differs in a thing that both have answers to what could not be seen. */
int sweep_unseen_fields(const struct unseen *u, const struct sweep_effect *without,
	const struct sweep_effect *with, bool *ret, struct err *err) MUST_CHECK;

/* Rows of one value: *context, a bool or a uint64_t, is the last one's. */
int sweep_unseen_on_truth(void *context, const struct sql_value *v, size_t count, struct err *err);
int sweep_unseen_on_seq(void *context, const struct sql_value *v, size_t count, struct err *err);

#endif
