/* sorted_rows.h: collects all rows, then passes them on in the order of a value of their objects. */
#ifndef TOOLS_SORTED_ROWS_H
#define TOOLS_SORTED_ROWS_H

#include "schema/sql/session.h"
#include "tools/get/json_path.h"

#define SORTED_VALUES_MAX 2 /* texts of a row */

struct sorted_row;

struct sorted_rows {
	const struct json_path *by; /* borrowed */
	struct sorted_row *items;
	size_t count;
	bool key_found; /* some object has the value */
};

/* Keeps a copy of at most SORTED_VALUES_MAX values, which are texts. */
int sorted_rows_add(struct sorted_rows *s, struct slice object, const struct sql_value *values, size_t count,
	struct err *err) MUST_CHECK;

/* Rows of equal keys go in the order in which they came. */
int sorted_rows_give(struct sorted_rows *s, const struct sql_sink *to, struct err *err) MUST_CHECK;

void sorted_rows_release(struct sorted_rows *s);

#endif
