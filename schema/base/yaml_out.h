/*
 * yaml_out.h: JSON as block style YAML, byte for byte as kubectl and API servers print objects: members by
 * name, numbers in names by value; texts as yaml_text.h has it.
 */
#ifndef SCHEMA_BASE_YAML_OUT_H
#define SCHEMA_BASE_YAML_OUT_H

#include "schema/base/buf.h"

#include <stdio.h>

/* Writes the value as lines that begin in column `indent`. ERR_PROTOCOL if it is not JSON. */
int yaml_out(FILE *to, struct slice json, unsigned indent, struct err *err) MUST_CHECK;

#endif
