/* custom_columns.h: objects as rows of chosen columns: "NAME:.metadata.name,NODE:.spec.nodeName". */
#ifndef TOOLS_CUSTOM_COLUMNS_H
#define TOOLS_CUSTOM_COLUMNS_H

#include "schema/base/buf.h"

#include <stdio.h>

struct custom_columns;

/* ERR_USAGE describes an error in the text. */
int custom_columns_new(const char *text, struct custom_columns **ret, struct err *err) MUST_CHECK;
void custom_columns_free(struct custom_columns *c); /* accepts NULL */

/* Takes a row, which is printed with the others: columns are as wide as their widest cell. */
int custom_columns_add(struct custom_columns *c, struct slice object, struct err *err) MUST_CHECK;
void custom_columns_print(struct custom_columns *c, FILE *to);

#endif
