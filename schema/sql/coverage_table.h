/* coverage_table.h: shared by tables of a position: the position itself, and what is known there. */
#ifndef SCHEMA_SQL_COVERAGE_TABLE_H
#define SCHEMA_SQL_COVERAGE_TABLE_H

#include "schema/sql/vtab.h"
#include "schema/tape/position.h"

/* A text is read as a position, a number is a seq, NULL (the pointer) the end. ERR_USAGE for anything else. A
 * remark about it is kept for the caller that runs the statement. */
int position_of_value(
	const struct scan *s, sqlite3_value *value, struct tape_position *ret, struct err *err) MUST_CHECK;

/* The sentence about a position that is compared in another way than with =: it would silently be no row. ERR_USAGE. */
int position_not_equal(struct err *err) MUST_CHECK;

/* Kept with the table until the tape has grown; coverage_drop_cache is then the kind's drop_cache. */
int coverage_of_table(struct table *t, const struct coverage **ret, struct err *err) MUST_CHECK;
void coverage_drop_cache(struct table *t);

/* The word of the state, or "outside" of a position outside the tape. */
const char *certainty_word(const struct tape_position *p, const struct coverage_answer *a);

#endif
