/*
 * yaml_out.h: JSON as block style YAML, as kubectl prints objects. The order of members stays; texts that
 * YAML could take for something else are quoted, those of several lines become literal blocks.
 */
#ifndef SCHEMA_BASE_YAML_OUT_H
#define SCHEMA_BASE_YAML_OUT_H

#include "schema/base/buf.h"

#include <stdio.h>

/* Writes the value as lines that begin in column `indent`. ERR_PROTOCOL when it is not JSON. */
int yaml_out(FILE *to, struct slice json, unsigned indent, struct err *err) MUST_CHECK;

#endif
