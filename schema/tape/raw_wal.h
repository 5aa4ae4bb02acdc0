/*
 * raw_wal.h: SQLite's write-ahead log beside an open segment, as raw_db.c needs it: which page is newer in
 * the log than in the file. Frames count up to the last one of a whole transaction whose sums hold.
 */
#ifndef SCHEMA_TAPE_RAW_WAL_H
#define SCHEMA_TAPE_RAW_WAL_H

#include <stdbool.h>
#include <stdint.h>

struct raw_wal;

/* NULL when there is no log, or nothing whole in it. */
struct raw_wal *raw_wal_open(const char *database_path);
void raw_wal_close(struct raw_wal *w);

/* Size of the database in pages after the last transaction. */
uint32_t raw_wal_pages(const struct raw_wal *w);

/* False when the log does not have the page. */
bool raw_wal_page(const struct raw_wal *w, uint32_t number, uint8_t *to);

#endif
