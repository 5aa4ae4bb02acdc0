/*
 * bench.h: measuring beside a rival. Each figure and its rival's are taken in turns in one process on one
 * CPU, several times, and compared by their medians, because the machine has other things to do as well.
 */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include "schema/base/buf.h"

#define BENCH_ROUNDS 5

/* The stream under test: NDJSON in memory, and its lines without their line feeds. */
struct bench {
	struct slice stream;
	struct slice *lines;
	size_t line_count;
	const char *work_dir; /* where tapes and tables may be made */
	const char *stream_path;
	int64_t *times_ns;     /* of each line, when the stream is a tape's; else NULL */
	const char *recording; /* the tape that the stream is of, else NULL */
	char *tape;            /* made by bench_ingest, read by bench_read */
	uint64_t event_count;  /* on it: bookmarks are none */
	struct buf rows;       /* bench.json so far */
	unsigned row_count;
};

/* Adds a row to the table and to bench.json. rival 0: there is none. */
struct bench_row {
	const char *what, *unit, *rival_name;
	double ours, rival;
	const char *goal; /* what is promised, for the table; NULL: nothing */
};
void bench_report(struct bench *b, const struct bench_row *row);

double bench_median(double *values, size_t count);
int64_t bench_wall_ns(void);
int64_t bench_cpu_ns(void); /* of this process, all threads */
double bench_mb_per_s(uint64_t bytes, int64_t ns);

/* Stays on the last CPU; off: anywhere, as the children that feed us should. */
void bench_pin(bool on);

/* Of a file, or of the files in a directory. Removing what is not there is fine. */
uint64_t bench_disk_bytes(const char *path);
void bench_remove(const char *path);

/* Ends the program with the sentence. */
void bench_check(int rc, const struct err *err);

/* Makes an NDJSON stream of a tape's events, and notes their times. */
void bench_write_stream(struct bench *b, const char *tape_path, const char *stream_path);

/* The parts, in the order of the table. */
void bench_scan(struct bench *b);
void bench_ingest(struct bench *b);
void bench_cold_lookups(struct bench *b, const char *tape_path, uint64_t events); /* ... too */
void bench_repack(struct bench *b, double zstd3_bytes);                           /* a part of bench_ingest */
void bench_read(struct bench *b);
void bench_verify(struct bench *b, const char *table_path); /* a part of bench_read */

#endif
