/*
 * json_path.h: templates of kubectl's jsonpath (https://kubernetes.io/docs/reference/kubectl/jsonpath/): text, and in
 * braces what to print of a document. A field that is missing gives nothing, as with `kubectl get`.
 */
#ifndef TOOLS_JSON_PATH_H
#define TOOLS_JSON_PATH_H

#include "schema/base/buf.h"

struct json_path;

/* ERR_USAGE describes an error in it. */
int json_path_parse(const char *template, struct json_path **ret, struct err *err) MUST_CHECK;
/* One path, as kubectl takes it for columns and for sorting: {.a.b}, .a.b or a.b. */
int json_path_parse_relaxed(struct slice path, struct json_path **ret, struct err *err) MUST_CHECK;
void json_path_free(struct json_path *p); /* accepts NULL */

/* Values are raw JSON, borrowed from the document and the path. The caller frees items. */
struct json_values {
	struct slice *items;
	size_t count;
};

/* The values that a template without text and ranges finds. ERR_FAILED for an index that an array does not
 * have, and for a comparison that makes no sense. */
int json_path_find(const struct json_path *p, struct slice document, struct json_values *ret,
	struct err *err) MUST_CHECK;

/* Appends what the template prints. */
int json_path_print(
	const struct json_path *p, struct slice document, struct buf *to, struct err *err) MUST_CHECK;

#endif
