/* segment_sums.h: the checksums of a segment as SQL functions, for those who change one on purpose:
 * xxh64(blob), and chunk_sum with the columns of a chunk. */
#ifndef TESTS_SEGMENT_SUMS_H
#define TESTS_SEGMENT_SUMS_H

#include "schema/tape/codec.h"
#include "schema/tape/hot.h"

#include <sqlite3.h>

static void sql_xxh64(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct slice bytes = {sqlite3_value_blob(argv[0]), (size_t)sqlite3_value_bytes(argv[0])};

	(void)argc;
	sqlite3_result_int64(context, (int64_t)codec_hash(bytes));
}

static void sql_chunk_sum(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct hot_chunk chunk = {
		.id = sqlite3_value_int64(argv[0]),
		.extent = sqlite3_value_int64(argv[1]),
		.first_seq = (uint64_t)sqlite3_value_int64(argv[2]),
		.events = sqlite3_value_int64(argv[3]),
		.first_time_ns = sqlite3_value_int64(argv[4]),
		.raw_bytes = sqlite3_value_int64(argv[5]),
		.data.ptr = sqlite3_value_blob(argv[6]),
	};

	(void)argc;
	chunk.data.len = (size_t)sqlite3_value_bytes(argv[6]);
	sqlite3_result_int64(context, (int64_t)hot_chunk_sum(&chunk));
}

static inline void segment_sums_register(sqlite3 *db)
{
	sqlite3_create_function(db, "xxh64", 1, SQLITE_UTF8, NULL, sql_xxh64, NULL, NULL);
	sqlite3_create_function(db, "chunk_sum", 7, SQLITE_UTF8, NULL, sql_chunk_sum, NULL, NULL);
}

#endif
