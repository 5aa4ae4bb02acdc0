/*
 * run_reader.h: a run file, read from beginning to end by programs that know nothing of SQLite. The file may
 * still be written to; only rows that were committed when it is opened are read.
 */
#ifndef SCHEMA_RUN_RUN_READER_H
#define SCHEMA_RUN_RUN_READER_H

#include "schema/run/run_file.h"

struct run_reader;

/* Whether the path may be that of a run: opening anything but a file (a pipe) can wait for ever.
 * ERR_NOT_FOUND, or ERR_CORRUPT. */
int run_path_check(const char *path, struct err *err) MUST_CHECK;

/* ERR_NOT_FOUND, or ERR_CORRUPT if it is not a run of a known version. */
int run_reader_open(const char *path, struct run_reader **ret, struct err *err) MUST_CHECK;
void run_reader_close(struct run_reader *r); /* NULL is accepted */

/* A row of the table `run`, borrowed until the reader is closed; NULL if it is not there. */
const char *run_reader_fact(const struct run_reader *r, const char *name);

/* A row of `writes`. */
struct run_written {
	uint64_t write;
	struct run_write_row row; /* slices borrowed until the next call */
};

/* The rows of `writes` in the order in which they were made: 1, 0 at the end. */
int run_reader_next_write(struct run_reader *r, struct run_written *ret, struct err *err) MUST_CHECK;

/* Begins again with the first one. */
void run_reader_rewind(struct run_reader *r);

#endif
