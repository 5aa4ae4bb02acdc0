/*
 * bench_verify.c: proving that a tape is what was written, beside SQLite's own check of the same rows in a
 * plain table (which looks at the structure and the indexes; no payload has a checksum there).
 */
#include "tests/bench/bench.h"

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
	double quick[BENCH_ROUNDS], full[BENCH_ROUNDS], rival[BENCH_ROUNDS];
	struct tape_verify_result result = {0};
	double stored_mb, raw_mb;

	for (int i = 0; i < BENCH_ROUNDS; i++) {
		quick[i] = verify_s(b, true, &result);
		full[i] = verify_s(b, false, &result);
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
				.ours = stored_mb / bench_median(full, BENCH_ROUNDS)});
	bench_report(b, &(struct bench_row){.what = "the same, MB of JSON, against integrity_check",
				.unit = "MB/s",
				.goal = ">= 500",
				.ours = raw_mb / bench_median(full, BENCH_ROUNDS),
				.rival = raw_mb / bench_median(rival, BENCH_ROUNDS),
				.rival_name = "SQLite table, uncompressed"});
}
