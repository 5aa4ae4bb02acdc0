/*
 * field_set.h: sets of fields, in the form FieldsV1 of managedFields: an object for each step of a path,
 * named "f:NAME" (a member), "k:{...}" (an item by its keys), "v:VALUE" (an item by its value) or "i:N".
 * There "{}" is a field of the set, and so is an object with "."; here every field of the set has ".".
 */
#ifndef REPLAYER_FIELD_SET_H
#define REPLAYER_FIELD_SET_H

#include "replayer/json/json_tree.h"

/* A path from the root, its last step first; NULL is the root. */
struct field_path {
	const struct field_path *up;
	const char *step;
};

enum field_set_operation { FIELD_SET_UNION, FIELD_SET_DIFFERENCE, FIELD_SET_INTERSECTION };

/* From and to FieldsV1; anything that is not a set becomes an empty one. The caller frees all sets with
 * cJSON_Delete. */
cJSON *field_set_decode(const cJSON *fields);
cJSON *field_set_encode(const cJSON *set);

bool field_set_is_empty(const cJSON *set);

/* That very field, not one below it. */
bool field_set_has(const cJSON *set);
void field_set_mark(cJSON *set);

/* The fields below a step; the second makes it when there are none. */
cJSON *field_set_below(const cJSON *set, const char *step);
cJSON *field_set_step(cJSON *set, const char *step);

/* Adds a field. For code that walks an object: a path that comes again does so before any path beside it. */
void field_set_append(cJSON *set, const struct field_path *path);

/* A new set. Of a difference, fields stay when only one above them goes. */
cJSON *field_set_combine(const cJSON *a, const cJSON *b, enum field_set_operation operation);

/* The same in place of a set, which is freed. */
void field_set_change(cJSON **set, const cJSON *by, enum field_set_operation operation);

/* The paths of all fields as people read them,
 * ".spec.containers[name=\"web\"].image", as an array of texts. */
cJSON *field_set_paths(const cJSON *set);

#endif
