/*
 * raw_db.h: the rows of a damaged segment, read off its pages without SQLite, which gives up where a page on
 * the way is damaged. The format of the pages is SQLite's (its documentation, "Database File Format").
 *
 * The tables are walked from their roots as far as pages can be read; what a damaged page hides is looked for
 * on the pages that were not come by. Only such pages as segments have are known: 4096 or 1024 bytes,
 * UTF-8, no reserved bytes. Nothing that is read is trusted.
 */
#ifndef SCHEMA_TAPE_RAW_DB_H
#define SCHEMA_TAPE_RAW_DB_H

#include "schema/tape/format.h"
#include "schema/tape/rows.h"

#define RAW_COLUMNS_MAX 40

struct raw_db;

/* Where a row is, to read it again. */
struct raw_place {
	uint32_t page;
	uint16_t cell;
};

struct raw_row {
	enum table table;
	int64_t id;
	struct raw_place place;
	/* Every page it is on has the sum it was sealed with. Of an open segment, whose pages have none: none
	 * of them was written later by a frame of the log that is damaged. */
	bool intact;
	int column_count;
	struct value values[RAW_COLUMNS_MAX]; /* borrowed until the next row is read */
};

/* Opens a segment's file, and the log of an open one, which is read up to its last whole transaction. */
int raw_open(const char *path, bool sealed, struct raw_db **ret, struct err *err) MUST_CHECK;
void raw_close(struct raw_db *db);

/* Gives every row that can be read, of tables of the format only; of duplicates (an old copy on a page that
 * is not used any more) both, the one in use first. A non-zero return of each stops and is returned. */
int raw_each_row(struct raw_db *db, int (*each)(void *context, const struct raw_row *row), void *context);

/* False if it cannot be read. */
bool raw_read_row(struct raw_db *db, struct raw_place place, enum table table, struct raw_row *ret);

/* Gives back what raw_each_row needed, and the file's descriptor until a row is read again: a tape may have
 * more segments than the process may have files. */
void raw_rest(struct raw_db *db);

/* After raw_each_row: true if rows of the table may be there that were not given, or not as intact. */
bool raw_hides_rows(const struct raw_db *db, enum table table);

/* True if the log may have had transactions that cannot be read. */
bool raw_end_is_damaged(const struct raw_db *db);

/* Pages in which a flipped bit was turned back. */
uint32_t raw_mended_count(const struct raw_db *db);

#endif
