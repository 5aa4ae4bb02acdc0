/* run_file_internal.h: what run_file.c (the file and its thread) and run_rows.c (rows on their way) share.
 * Nobody else includes it. */
#ifndef SCHEMA_RUN_RUN_FILE_INTERNAL_H
#define SCHEMA_RUN_RUN_FILE_INTERNAL_H

#include "schema/run/run_file.h"
#include "schema/run/run_schema.h"

#include <pthread.h>
#include <sqlite3.h>

enum cell { CELL_NULL, CELL_INTEGER, CELL_TEXT, CELL_BLOB };

struct run_file {
	sqlite3 *db;
	char *path;
	sqlite3_stmt *statements[RUN_STATEMENTS];
	pthread_t thread;
	bool running;
	size_t waiting_max;

	pthread_mutex_t mutex; /* over what follows */
	pthread_cond_t work, room;
	struct buf filling; /* more than waiting_max only by one row */
	bool is_first;      /* the row that is being put: the thread waits for one */
	bool stop;
	struct err failure; /* the first; code 0: none */
};

#endif
