/*
 * json_index.h: the members of one object by name. cJSON walks a list for each name it is asked for, which
 * for all members of a large object takes time that grows with their square; a client decides how many there
 * are. An index costs nothing for objects of few members, which are walked.
 *
 * Code that changes an indexed object by other functions than these must add and remove the members here,
 * too. Names must be unique.
 */
#ifndef REPLAYER_JSON_INDEX_H
#define REPLAYER_JSON_INDEX_H

#include "schema/base/text_map.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

#define JSON_INDEX_LEAST 24 /* members; fewer are walked */

struct json_index {
	const cJSON *object;
	size_t count;        /* of the members, while they are walked */
	bool is_mapped;      /* ... which they no longer are */
	struct text_map map; /* to cJSON nodes */
};

/* `object` may be NULL, or no object: then nothing is found. It must outlive the index. */
void json_index_init(struct json_index *x, const cJSON *object);
void json_index_release(struct json_index *x);

/* NULL if there is none. */
cJSON *json_index_find(const struct json_index *x, const char *name);

/* The member was added to the object, or is about to be taken out of it. */
void json_index_add(struct json_index *x, cJSON *member);
void json_index_remove(struct json_index *x, const cJSON *member);

/* As json_tree_set on the indexed object, which is given once more to be changed. */
void json_index_set(struct json_index *x, cJSON *object, const char *name, cJSON *value);

#endif
