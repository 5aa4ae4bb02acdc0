/*
 * json_places.h: the children of containers by name or index, for a patch that visits many of them. The
 * largest of the recently visited containers are kept as tables, so that a step costs the same whatever their
 * size; all changes of them go through here.
 */
#ifndef REPLAYER_JSON_PLACES_H
#define REPLAYER_JSON_PLACES_H

#include "replayer/json/json_index.h"

#include <stddef.h>

#define JSON_PLACES_KEPT 8

struct json_place_table {
	cJSON *container; /* NULL: unused */
	struct json_index members;
	cJSON **items; /* of an array */
	size_t count, cap;
};

/* All zero is the beginning. */
struct json_places {
	struct json_place_table kept[JSON_PLACES_KEPT];
	size_t next; /* the one to be replaced */
};

void json_places_release(struct json_places *p);

/* How many items an array has. */
size_t json_places_count(struct json_places *p, cJSON *array);

/* A member of an object, or an item of an array; NULL if there is none. */
cJSON *json_places_member(struct json_places *p, cJSON *object, const char *name);
cJSON *json_places_item(struct json_places *p, cJSON *array, size_t at);

/* Sets a member, in its place or at the end; inserts an item before the one at `at` (count: at the end). Both
 * take ownership of the value. */
void json_places_set(struct json_places *p, cJSON *object, const char *name, cJSON *value);
void json_places_insert(struct json_places *p, cJSON *array, size_t at, cJSON *value);

/* Takes a child out of its container; the caller has it then. at: of an item. */
void json_places_detach(struct json_places *p, cJSON *container, cJSON *child, size_t at);

/* The value and all that is in it are about to be freed. */
void json_places_forget(struct json_places *p, const cJSON *value);

#endif
