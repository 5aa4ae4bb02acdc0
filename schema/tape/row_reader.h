/*
 * row_reader.h: the rows of a plain table, segment by segment, each of them once.
 *
 * A connection or a gap that outlived its segment is repeated, in its later form, in a following one: the
 * last form is given, by the segment that has it. A segment begins with copies of marks, documents and other
 * rows: the first copy is given.
 */
#ifndef SCHEMA_TAPE_ROW_READER_H
#define SCHEMA_TAPE_ROW_READER_H

#include "schema/tape/reader_internal.h"
#include "schema/tape/rows.h"

struct row_repeated;

struct row_reader {
	struct tape *tape;
	enum table table;
	struct row_repeated *again; /* sorted, where the later row counts */
	size_t again_count;
	int64_t highest; /* id in the segments read so far */
};

int row_reader_open(struct tape *t, enum table table, struct row_reader *ret, struct err *err) MUST_CHECK;
void row_reader_close(struct row_reader *r); /* also after row_reader_open has failed */

/* To be called for each segment once, in order. The row has its id as column 0 and then `columns`; a non-zero
 * return of take stops and is returned. */
int row_reader_segment(struct row_reader *r, size_t segment, const char *columns,
	int (*take)(void *context, sqlite3_stmt *row), void *context, struct err *err) MUST_CHECK;

/* The same rows as values in the order of the table's columns, which are borrowed for the call. */
int row_reader_values(struct row_reader *r, size_t segment, int (*take)(void *context, struct value *values),
	void *context, struct err *err) MUST_CHECK;

#endif
