/*
 * go_json.h: errors in a text that should be JSON, in the words of Go's encoding/json, which API servers pass
 * on to their clients.
 */
#ifndef REPLAYER_GO_JSON_H
#define REPLAYER_GO_JSON_H

#include "schema/base/buf.h"

#include <cjson/cJSON.h>

/* NULL if the text is JSON; else the first problem, which the caller frees: "unexpected end of JSON input",
 * "invalid character 'x' after top-level value". */
char *go_json_problem(struct slice text);

/* How Go calls the type of a value: "string", "number", "bool", "array", "object". */
const char *go_json_type(const cJSON *value);

#endif
