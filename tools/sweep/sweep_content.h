/*
 * sweep_content.h: whether two runs left the same of an object, field by field.
 *
 * Of an object of the tape only those fields count that one of the two programs changed: the rest is the version that it
 * happened to write over. What one has changed and the other has found changed is the same. Fields that differ from run
 * to run by themselves do not count, nor does null where the other has nothing, nor what only tells how many states the
 * program has seen: a lower revision in an annotation, and a condition of the status that is absent where it was False.
 */
#ifndef TOOLS_SWEEP_CONTENT_H
#define TOOLS_SWEEP_CONTENT_H

#include "schema/sql/json_diff.h"
#include "tools/sweep/sweep_answer.h"

/* The first field that differs: "spec.replicas", empty for all of the content. Values are JSON, NULL: absent. And another field
 * that does, NULL: none. All owned. */
struct content_difference {
	char *field, *without, *with, *other;
	size_t count; /* of fields that differ */
};

/* *ret is the caller's to release if the result is true. */
bool sweep_content_differs(const struct sweep_measure *m, const struct sweep_effect *without,
	const struct sweep_effect *with, struct content_difference *ret);
void content_difference_release(struct content_difference *d);

/* Calls for each difference that counts, of [without, with], until it returns true; whether it did. */
typedef bool (*content_on_difference)(void *context, const struct json_change *d);
bool sweep_content_each(const struct sweep_measure *m, const struct sweep_effect *const sides[2],
	content_on_difference call, void *context);

/* Adds to what is unsteady what differs between two runs that should be alike: "secrets data[tls.crt]". Of items and members
 * with names that only one of the runs has, the name is chance: "pods spec.volumes[*]". All of a status counts as one
 * field, because it follows from what its writer saw when. */
void sweep_content_learn(
	struct sweep_measure *m, const struct sweep_effect *one, const struct sweep_effect *other);

#endif
