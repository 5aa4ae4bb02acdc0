/* yaml_words.h: texts that a reader of YAML takes for something else if they have no quotes. */
#ifndef SCHEMA_BASE_YAML_WORDS_H
#define SCHEMA_BASE_YAML_WORDS_H

#include "schema/base/buf.h"

/* Null, a truth, a number or a time, by the rules of Go's YAML, which kubectl and API servers print with. */
bool yaml_reads_as_other(struct slice text);

/* A number of JSON as that prints it: "1.0" is "1", "2.5e9" is "2.5e+09". Returns `json` or `to`. */
#define YAML_NUMBER_BYTES 40
struct slice yaml_number(struct slice json, char to[YAML_NUMBER_BYTES]);

#endif
