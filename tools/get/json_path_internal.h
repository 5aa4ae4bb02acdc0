/* json_path_internal.h: the parts of a template, for json_path.c and json_path_parse.c alone. */
#ifndef TOOLS_JSON_PATH_INTERNAL_H
#define TOOLS_JSON_PATH_INTERNAL_H

#include "tools/get/json_path.h"

enum path_kind {
	PATH_VALUE, /* a text, number or word, as JSON */
	PATH_FIELD,
	PATH_SLICE, /* [3], [-1], [0:2:1] */
	PATH_WILDCARD,
	PATH_RECURSIVE,
	PATH_FILTER, /* left, operator, right */
	PATH_UNION,  /* each of several lists */
	PATH_LIST,   /* in sequence, the contents of a pair of braces */
	PATH_RANGE,  /* lists[0] is the range, lists[1] the body for each item */
};

struct path_bound {
	bool known;
	long value;
};

struct path_node;

struct path_list {
	struct path_node *items;
	size_t count;
};

enum path_operator { PATH_EXISTS, PATH_EQ, PATH_NE, PATH_LE, PATH_GE, PATH_LT, PATH_GT };

struct path_node {
	enum path_kind kind;
	char *text; /* of values and fields */
	struct path_bound bounds[3];
	bool is_index; /* one bound alone */
	enum path_operator op;
	struct path_list *lists;
	size_t list_count;
};

struct json_path {
	struct path_list root;
};

void path_list_release(struct path_list *l);

#endif
