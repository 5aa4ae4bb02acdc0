/* yaml_json.h: a YAML document as JSON. */
#ifndef REPLAYER_YAML_JSON_H
#define REPLAYER_YAML_JSON_H

#include "schema/base/buf.h"

/* On one line; the caller frees. ERR_PROTOCOL when it is no YAML. */
int yaml_to_json(struct slice text, char **ret, struct err *err) MUST_CHECK;

#endif
