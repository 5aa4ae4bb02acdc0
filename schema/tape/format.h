/*
 * format.h: the names and numbers of the tape format, version 1. FORMAT.md is the specification; whoever
 * changes one changes the other in the same commit.
 */
#ifndef SCHEMA_TAPE_FORMAT_H
#define SCHEMA_TAPE_FORMAT_H

#include <stdint.h>

#define FORMAT_VERSION        1
#define FORMAT_APPLICATION_ID 0x4b545045 /* "KTPE" */
#define FORMAT_PAGE_BYTES     4096
/* Of a sealed segment whose blocks are small: half a page at the end of each is lost. */
#define FORMAT_SMALL_PAGE_BYTES 1024

/* Files of a tape: segments are numbered from 1. */
#define FORMAT_SEALED_NAME "seg-%06u.db"
#define FORMAT_OPEN_NAME   "open-%06u.db"
#define FORMAT_LOCK_NAME   "lock"

/* Rows of plain tables and events are numbered without holes: none comes near these, and one more than them
 * is still a number. */
#define FORMAT_ID_MAX  (INT64_C(1) << 48)
#define FORMAT_SEQ_MAX (INT64_C(1) << 62)

#define BLOCK_NUMBER_BITS 24 /* id of a block: extent << 24 | number in the extent */
#define EXTENT_ID_MAX     (((int64_t)1 << (62 - BLOCK_NUMBER_BITS)) - 1)

static inline int64_t block_id(int64_t extent, uint32_t number)
{
	return extent << BLOCK_NUMBER_BITS | number;
}

/* Tables, in the order of enum table. Every row that tells of time has after_seq, the seq of the last event
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
};

extern const struct table_format table_formats[TABLE_COUNT];

#endif
