/*
 * bench_verify.c: proving that a tape is what was written, beside SQLite's own check of the same rows in a
 * plain table (which looks at the structure and the indexes; no payload has a checksum there).
 */
#include "tests/bench/bench.h"

#include "schema/tape/pack.h"
#include "schema/tape/segment.h"
#include "schema/tape/verify.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static int fail_at_damage(void *context, const struct tape_damage *d)
{
	(void)context;
	fprintf(stderr, "bench: %s: %s\n", d->file, d->what);
	exit(EXIT_FAILURE);
}

static double verify_s(struct bench *b, bool quick, struct tape_verify_result *ret)
{
	struct tape_verify_options options = {.quick = quick, .damaged = fail_at_damage};
	int64_t start_ns = bench_cpu_ns();
	struct err err;

	bench_check(tape_verify(b->tape, &options, ret, &err), &err);
	return (double)(bench_cpu_ns() - start_ns) / 1e9;
}

/* On all processors. */
static double verify_wall_s(struct bench *b)
{
	struct tape_verify_options options = {.damaged = fail_at_damage};
	struct tape_verify_result result;
	int64_t start_ns;
	struct err err;

	bench_pin(false);
	start_ns = bench_wall_ns();
	bench_check(tape_verify(b->tape, &options, &result, &err), &err);
	start_ns = bench_wall_ns() - start_ns;
	bench_pin(true);
	return (double)start_ns / 1e9;
}

/* Columns: kind, events, raw_bytes, data. Decodes a block; returns the time that this took. */
static int64_t decode_row(sqlite3_stmt *row, const struct extent *x, uint32_t index)
{
	struct slice data = {sqlite3_column_blob(row, 3), (size_t)sqlite3_column_bytes(row, 3)}, last;
	uint64_t raw_bytes = (uint64_t)sqlite3_column_int64(row, 2);
	enum block_kind kind = BLOCK_PACK;
	struct block *block;
	int64_t start_ns;
	struct buf names;
	struct err err;

	block_kind_find(slice_of((const char *)sqlite3_column_text(row, 0)), &kind);
	buf_init(&names, 1 << 20);
	bench_check(pack_names(x, index, &names, &err), &err);
	start_ns = bench_cpu_ns();
	bench_check(block_open(kind, data, (uint32_t)sqlite3_column_int64(row, 1), raw_bytes,
			    buf_slice(&names), &block, &err),
		&err);
	bench_check(block_get(block, raw_bytes - 1, 1, &last, &err), &err);
	block_free(block);
	start_ns = bench_cpu_ns() - start_ns;
	buf_release(&names);
	return start_ns;
}

/* Of one extent. Columns: id, index, index_raw_bytes. */
static int64_t decode_extent(sqlite3 *db, sqlite3_stmt *row)
{
	struct slice index = {sqlite3_column_blob(row, 1), (size_t)sqlite3_column_bytes(row, 1)};
	sqlite3_stmt *blocks;
	int64_t took_ns = 0;
	struct extent *x;
	struct err err;
	bool *seen;

	bench_check(segment_prepare(db,
			    "SELECT kind, events, raw_bytes, data FROM block WHERE id = (? << 24) + ?",
			    &blocks, &err),
		&err);
	bench_check(unpack_index(index, (uint64_t)sqlite3_column_int64(row, 2), &x, &err), &err);
	seen = xcalloc(x->event_count, sizeof(*seen)); /* by block; each has an event */
	for (uint32_t i = 0; i < x->event_count; i++) {
		if (seen[x->events[i].block])
			continue;
		seen[x->events[i].block] = true;
		sqlite3_bind_int64(blocks, 1, sqlite3_column_int64(row, 0));
		sqlite3_bind_int64(blocks, 2, x->events[i].block);
		bench_check(sqlite3_step(blocks) == SQLITE_ROW ? 0 : -1, NULL);
		took_ns += decode_row(blocks, x, i);
		sqlite3_reset(blocks);
	}
	free(seen);
	sqlite3_finalize(blocks);
	extent_unref(x);
	return took_ns;
}

/* The floor: nobody can look at objects without decoding their blocks. */
static double decode_s(struct bench *b)
{
	struct segment_file *list;
	int64_t took_ns = 0;
	struct err err;
	size_t count;

	bench_check(segment_list(b->tape, &list, &count, &err), &err);
	for (size_t i = 0; i < count; i++) {
		sqlite3_stmt *rows;
		sqlite3 *db;

		bench_check(segment_open(&list[i], false, &db, &err), &err);
		bench_check(
			segment_prepare(db, "SELECT id, \"index\", index_raw_bytes FROM extent ORDER BY id",
				&rows, &err),
			&err);
		while (sqlite3_step(rows) == SQLITE_ROW)
			took_ns += decode_extent(db, rows);
		sqlite3_finalize(rows);
		sqlite3_close(db);
	}
	segment_list_free(list, count);
	return (double)took_ns / 1e9;
}

static double integrity_check_s(const char *path)
{
	int64_t start_ns = bench_cpu_ns();
	sqlite3 *db;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
		sqlite3_exec(db, "PRAGMA integrity_check", NULL, NULL, NULL) != SQLITE_OK) {
		fprintf(stderr, "bench: %s\n", sqlite3_errmsg(db));
		exit(EXIT_FAILURE);
	}
	sqlite3_close(db);
	return (double)(bench_cpu_ns() - start_ns) / 1e9;
}

void bench_verify(struct bench *b, const char *table_path)
{
	double quick[BENCH_ROUNDS], full[BENCH_ROUNDS], wall[BENCH_ROUNDS], floor[BENCH_ROUNDS],
		rival[BENCH_ROUNDS];
	struct tape_verify_result result = {0};
	double stored_mb, raw_mb;

	for (int i = 0; i < BENCH_ROUNDS; i++) {
		quick[i] = verify_s(b, true, &result);
		full[i] = verify_s(b, false, &result);
		wall[i] = verify_wall_s(b);
		floor[i] = decode_s(b);
		rival[i] = integrity_check_s(table_path);
	}
	stored_mb = (double)result.stored_bytes / 1e6;
	raw_mb = (double)result.raw_bytes / 1e6;
	bench_report(b, &(struct bench_row){.what = "verify --quick: sums of every page, MB stored",
				.unit = "MB/s",
				.goal = ">= 500",
				.ours = stored_mb / bench_median(quick, BENCH_ROUNDS)});
	bench_report(b, &(struct bench_row){.what = "verify: every object decoded and identified, MB stored",
				.unit = "MB/s",
				.goal = ">= 500",
				.ours = stored_mb / bench_median(full, BENCH_ROUNDS),
				.rival = stored_mb / bench_median(floor, BENCH_ROUNDS),
				.rival_name = "decompression of the blocks alone"});
	bench_report(b, &(struct bench_row){.what = "the same, MB of JSON",
				.unit = "MB/s",
				.ours = raw_mb / bench_median(full, BENCH_ROUNDS),
				.rival = raw_mb / bench_median(floor, BENCH_ROUNDS),
				.rival_name = "decompression of the blocks alone"});
	bench_report(b, &(struct bench_row){.what = "the same on all processors, by the clock",
				.unit = "MB/s",
				.ours = raw_mb / bench_median(wall, BENCH_ROUNDS),
				.rival = raw_mb / bench_median(full, BENCH_ROUNDS),
				.rival_name = "verify on one"});
	bench_report(b, &(struct bench_row){.what = "verify, MB of JSON, against integrity_check",
				.unit = "MB/s",
				.goal = ">= 500",
				.ours = raw_mb / bench_median(full, BENCH_ROUNDS),
				.rival = raw_mb / bench_median(rival, BENCH_ROUNDS),
				.rival_name = "SQLite table, uncompressed"});
}
