/* field_walk_internal.h: shared by field_walk.c and field_merge.c. */
#ifndef REPLAYER_FIELD_WALK_INTERNAL_H
#define REPLAYER_FIELD_WALK_INTERNAL_H

#include "replayer/write/field_walk.h"
#include "schema/base/text_map.h"

/* The items of a list with their steps; "" for one that is not distinct. */
struct field_steps {
	char **at;
	const cJSON **items;
	size_t *next; /* the next item of the same step; count: none */
	size_t count;
	struct text_map first; /* of each step, the position of its first item */
};

void field_steps_init(struct field_steps *s, const cJSON *list, const struct field *f);
void field_steps_release(struct field_steps *s);

/* The first item of that step; s->count if there is none. */
size_t field_steps_find(const struct field_steps *s, const char *step);

/* Whether two values (either may be NULL) are compared or merged by their parts. */
bool field_share_parts(const cJSON *a, const cJSON *b, const struct field *f);

#endif
