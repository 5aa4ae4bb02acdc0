/*
 * get_output.h: the forms in which `get` prints whole objects, as kubectl does: json, yaml, jsonpath and
 * custom-columns. It gathers objects, and prints one object, or a List of them.
 */
#ifndef TOOLS_GET_OUTPUT_H
#define TOOLS_GET_OUTPUT_H

#include "schema/base/buf.h"

struct get_output;

#define GET_OUTPUT_WORDS "table|wide|name|yaml|json|jsonpath=TEMPLATE|custom-columns=COLUMNS"

/* NULL in *ret for table, wide and name, which are not in this module. ERR_USAGE for anything that is not one
 * of GET_OUTPUT_WORDS. `managed`: with metadata.managedFields. */
int get_output_new(const char *words, bool managed, struct get_output **ret, struct err *err) MUST_CHECK;
void get_output_free(struct get_output *o); /* accepts NULL */

int get_output_add(struct get_output *o, struct slice object, struct err *err) MUST_CHECK;

/* Prints to stdout. `alone`: not a list, because one object was asked for by name. */
int get_output_print(struct get_output *o, bool alone, struct err *err) MUST_CHECK;

#endif
