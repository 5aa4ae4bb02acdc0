/*
 * raw_wal.h: SQLite's write-ahead log beside an open segment, as raw_db.c needs it: which page is newer in
 * the log than in the file. SQLite takes the first frame with a wrong checksum for the log's end. Each
 * checksum starts from the stored one of the frame before, so frames after a damaged one can still be proved;
 * they count up to the last frame of a complete transaction.
 */
#ifndef SCHEMA_TAPE_RAW_WAL_H
#define SCHEMA_TAPE_RAW_WAL_H

#include <stdbool.h>
#include <stdint.h>

struct raw_wal;

/* NULL if there is no log. */
struct raw_wal *raw_wal_open(const char *database_path);
void raw_wal_close(struct raw_wal *w);

/* The highest page in the log that the last transaction left in the database; 0 if there is none. */
uint32_t raw_wal_pages(const struct raw_wal *w);

/* False if the log does not have the page. */
bool raw_wal_page(const struct raw_wal *w, uint32_t number, uint8_t *to);

/* True if a damaged frame has, or may have, a newer form of the page. */
bool raw_wal_is_stale(const struct raw_wal *w, uint32_t number);

/* Pages of damaged frames, as they are: [0, count). */
uint32_t raw_wal_damaged_count(const struct raw_wal *w);
bool raw_wal_damaged_page(const struct raw_wal *w, uint32_t index, uint8_t *to);

/* True if incomplete frames at the log's end may have been transactions. */
bool raw_wal_end_is_damaged(const struct raw_wal *w);

/* True if something is damaged before the last transaction: no crash does that, because each transaction is
 * synced before the next begins. SQLite sees nothing of the log from there on. */
bool raw_wal_is_broken(const struct raw_wal *w, uint64_t *ret_offset, uint64_t *ret_length);

/* True if the log still has the header with which it was read: its writer has not restarted it. */
bool raw_wal_is_current(const struct raw_wal *w);

#endif
