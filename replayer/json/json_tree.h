/*
 * json_tree.h: JSON that is to be changed, as a tree of cJSON nodes. Unlike cJSON's own parser this one knows
 * a maximum depth, lets the last of equal members count as Go does, and keeps what a node cannot hold
 * (numbers of more than 15 digits, strings with a NUL) as the raw text that it was.
 */
#ifndef REPLAYER_JSON_TREE_H
#define REPLAYER_JSON_TREE_H

#include "schema/base/buf.h"

#include <cjson/cJSON.h>

#define JSON_TREE_DEPTH_MAX 250

/* The caller frees with cJSON_Delete. ERR_PROTOCOL if it is not JSON, ERR_TOO_LARGE if it is too deep. */
int json_tree_parse(struct slice json, cJSON **ret, struct err *err) MUST_CHECK;

/* The same; appends to `duplicates`, an array, the places of members that are there twice:
 * "spec.ports[0].name". */
int json_tree_parse_strict(struct slice json, cJSON **ret, cJSON *duplicates, struct err *err) MUST_CHECK;

/* Whether the text is a number as JSON writes them: -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? */
bool json_tree_is_number(struct slice s);

/* Appends it without white space. */
int json_tree_print(const cJSON *tree, struct buf *to, struct err *err) MUST_CHECK;

/* The value of a path of members, NULL if there is none: json_tree_at(o, "metadata", "name", NULL). */
cJSON *json_tree_at(const cJSON *tree, ...) __attribute__((sentinel));

/* The text of a member, "" when it is not there or no string. */
const char *json_tree_text(const cJSON *object, const char *name);

/* Sets a member in its place, or at the end; takes ownership of the value. NULL removes it. */
void json_tree_set(cJSON *object, const char *name, cJSON *value);
void json_tree_set_text(cJSON *object, const char *name, const char *value);

/* The member, which becomes an object if it is not one. */
cJSON *json_tree_object(cJSON *object, const char *name);

/* Whether two trees say the same, whatever the order of members, in time that grows with their size. NULL
 * equals NULL. */
bool json_tree_equal(const cJSON *a, const cJSON *b);

#endif
