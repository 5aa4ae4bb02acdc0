/* yaml_json.h: a YAML document as JSON. */
#ifndef REPLAYER_YAML_JSON_H
#define REPLAYER_YAML_JSON_H

#include "schema/base/buf.h"

/* The first document on one line, in memory and time that grow with the text; the caller frees. Plain scalars
 * that are not a number, word or null of JSON are texts. ERR_PROTOCOL if it is not YAML, or has aliases;
 * ERR_TOO_LARGE if it is nested more than JSON_TREE_DEPTH_MAX levels deep. */
int yaml_to_json(struct slice text, char **ret, struct err *err) MUST_CHECK;

/* Like it; after a failure *ret_line is the line of the error, from 1, or 0 if it is not known. */
int yaml_to_json_line(struct slice text, char **ret, size_t *ret_line, struct err *err) MUST_CHECK;

#endif
