/*
 * format.h: the names and numbers of the tape format, versions 1 to 6. FORMAT.md is the specification;
 * change both in the same commit.
 */
#ifndef SCHEMA_TAPE_FORMAT_H
#define SCHEMA_TAPE_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#define FORMAT_VERSION        6          /* the latest */
#define FORMAT_VERSION_WHOLE  1          /* of a segment that begins with the live objects */
#define FORMAT_VERSION_UPON   2          /* ... that builds upon one before it */
#define FORMAT_COMPACT        2          /* more than these: its extents are compact (3 and 4) */
#define FORMAT_BARE           4          /* ... and may have bare packs (5 and 6) */
#define FORMAT_APPLICATION_ID 0x4b545045 /* "KTPE" */
#define FORMAT_PAGE_BYTES     4096
/* Of a sealed segment whose blocks are small: half a page at the end of each is lost. */
#define FORMAT_SMALL_PAGE_BYTES 1024

/* Files of a tape: segments are numbered from 1. */
#define FORMAT_SEALED_NAME "seg-%06u.db"
#define FORMAT_OPEN_NAME   "open-%06u.db"
#define FORMAT_LOCK_NAME   "lock"
#define FORMAT_FILE_ENDING ".ktape" /* of a tape that is one file: a sealed segment */

/* Rows of plain tables and events are numbered without holes: none comes near these, and one more than them
 * is still a number. */
#define FORMAT_ID_MAX  (INT64_C(1) << 48)
#define FORMAT_SEQ_MAX (INT64_C(1) << 62)

#define BLOCK_NUMBER_BITS 24 /* id of a block: extent << 24 | number in the extent */
#define EXTENT_ID_MAX     (((int64_t)1 << (62 - BLOCK_NUMBER_BITS)) - 1)

static inline bool format_builds_upon(int64_t version)
{
	return version > 0 && version % 2 == FORMAT_VERSION_UPON % 2;
}

static inline int64_t block_id(int64_t extent, uint32_t number)
{
	return extent << BLOCK_NUMBER_BITS | number;
}

/* Tables, in the order of enum table. Every row about a moment has after_seq, the seq of the last event
 * before it, so that rows and events have one order. */
enum table {
	TABLE_META,
	TABLE_RESOURCE,
	TABLE_STREAM,
	TABLE_CONNECTION,
	TABLE_MARK,
	TABLE_GAP,
	TABLE_MISSED,
	TABLE_CLOCK,
	TABLE_EPOCH,
	TABLE_DOCUMENT,
	TABLE_CHUNK,
	TABLE_EXTENT,
	TABLE_BLOCK,
	TABLE_COUNT,
};

struct table_format {
	const char *name;
	const char *columns; /* as in CREATE TABLE */
	int column_count;
	/* Of the tables that rows are copied of, what each column is, a letter each: `i` the row's own id,
	 * `q` a seq, `r` `s` `c` `g` the id of a resource, stream, connection or gap, `.` something else. */
	const char *roles;
};
#define FORMAT_COLUMNS_MAX 40

/* Columns that code has to know, by their places. */
enum connection_column {
	CONNECTION_AFTER_SEQ = 1,
	CONNECTION_STREAM = 2,
	CONNECTION_PURPOSE = 3,
	CONNECTION_TARGET = 4,
	CONNECTION_SERVER = 5,
	CONNECTION_BEGIN_NS = 10,
	CONNECTION_DURATION_NS = 12,
	CONNECTION_FIRST_SEQ = 13,
	CONNECTION_LAST_SEQ = 14,
	CONNECTION_END_REASON = 15,
	CONNECTION_RETRY_AFTER_S = 17,
	CONNECTION_CURL_CODE = 18,
	CONNECTION_OS_ERRNO = 19,
	CONNECTION_H2_ERROR = 20,
	CONNECTION_ERROR_STATUS = 21,
	CONNECTION_AUDIT_ID = 23,
	CONNECTION_BYTES = 25,
	CONNECTION_EVENTS = 26,
	CONNECTION_BOOKMARKS = 27,
	CONNECTION_LAST_RV = 28,
	CONNECTION_TAIL = 29,
	CONNECTION_NEXT_ACTION = 30,
	CONNECTION_NEXT_DELAY_NS = 31,
};
enum mark_column {
	MARK_AFTER_SEQ = 1,
	MARK_TIME_NS = 2,
	MARK_KIND = 3,
	MARK_STREAM = 4,
	MARK_CONNECTION = 5,
	MARK_OBJECT = 7
};
/* Of clock and epoch: a row holds until the next one. */
enum held_column { HELD_AFTER_SEQ = 1, HELD_TIME_NS = 2, EPOCH_CLUSTER_UID = 3, CLOCK_BOOT_ID = 4 };
enum gap_column {
	GAP_STREAM = 1,
	GAP_BEGIN_SEQ = 2,
	GAP_END_SEQ = 3,
	GAP_BEGIN_NS = 4,
	GAP_END_NS = 5,
	GAP_DURATION_NS = 6,
	GAP_TO_RV = 8,
	GAP_REASON = 9,
	GAP_HOW_ENDED = 10,
	GAP_CONNECTION_AFTER = 12,
	GAP_UNCHANGED = 17,
};
enum missed_column {
	MISSED_GAP = 1,
	MISSED_RESOURCE = 3,
	MISSED_NAMESPACE = 4,
	MISSED_NAME = 5,
	MISSED_UID = 6,
	MISSED_OLD_UID = 7,
};

extern const struct table_format table_formats[TABLE_COUNT];

#endif
