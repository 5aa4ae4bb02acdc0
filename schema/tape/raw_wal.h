/*
 * raw_wal.h: SQLite's write-ahead log beside an open segment, as raw_db.c needs it: which page is newer in
 * the log than in the file. SQLite takes the first frame whose sum does not hold for the log's end. Each sum
 * begins with that of the frame before, as it is written there, so what comes behind a damaged frame can
 * still be proved; it counts up to the last frame of a whole transaction.
 */
#ifndef SCHEMA_TAPE_RAW_WAL_H
#define SCHEMA_TAPE_RAW_WAL_H

#include <stdbool.h>
#include <stdint.h>

struct raw_wal;

/* NULL when there is no log. */
struct raw_wal *raw_wal_open(const char *database_path);
void raw_wal_close(struct raw_wal *w);

/* Up to which page the log has some that the last transaction left in the database; 0 when there is none. */
uint32_t raw_wal_pages(const struct raw_wal *w);

/* False when the log does not have the page. */
bool raw_wal_page(const struct raw_wal *w, uint32_t number, uint8_t *to);

/* True when a damaged frame has, or may have, a newer form of the page. */
bool raw_wal_is_stale(const struct raw_wal *w, uint32_t number);

/* Pages of damaged frames, as they are: [0, count). */
uint32_t raw_wal_damaged_count(const struct raw_wal *w);
bool raw_wal_damaged_page(const struct raw_wal *w, uint32_t index, uint8_t *to);

/* True when frames at the log's end, of which nothing whole is left, may have been transactions. */
bool raw_wal_end_is_damaged(const struct raw_wal *w);

/* True when something is damaged in front of the last transaction: no crash does that, for each transaction
 * is synced before the next begins. SQLite sees nothing of the log from there on. */
bool raw_wal_is_broken(const struct raw_wal *w, uint64_t *ret_offset, uint64_t *ret_length);

/* True when the log still has the header that it was read under: its writer has not begun it again. */
bool raw_wal_is_current(const struct raw_wal *w);

#endif
