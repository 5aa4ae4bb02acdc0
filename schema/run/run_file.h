/*
 * run_file.h: one replay as an SQLite file: every request, every delivery, every write and every fault, as
 * plain tables that stock sqlite3 reads too. FORMAT.md, section "The run file", lists the columns.
 *
 * Rows are handed over in memory and written by a thread, one transaction each RUN_TICK_MS: the caller never
 * waits for the disk, unless it is RUN_WAITING_MAX bytes ahead of it. A crash of the program loses at most
 * the last tick. When the disk fails, rows are dropped from then on, and run_file_close says so.
 *
 * Order of calls: open, any number of rows, close. One thread calls.
 */
#ifndef SCHEMA_RUN_RUN_FILE_H
#define SCHEMA_RUN_RUN_FILE_H

#include "schema/base/buf.h"

#include <stdbool.h>

#define RUN_APPLICATION_ID 0x4b545255 /* "KTRU" */
#define RUN_VERSION        1
#define RUN_TICK_MS        100
#define RUN_WAITING_MAX    (64u << 20)

struct run_file;

/* Makes the file, which nobody else may read. Symbolic links are followed. An older run under that name is
 * replaced; ERR_USAGE when it is anything else. */
int run_file_open(const char *path, struct run_file **ret, struct err *err) MUST_CHECK;

/* Writes what is left and closes; freed in any case. The first failure since open, if there was one. NULL is
 * accepted. */
int run_file_close(struct run_file *f, struct err *err) MUST_CHECK;

/* Whether rows are being dropped because the disk failed, and how. */
bool run_file_has_failed(struct run_file *f, struct err *ret);

/* ---- rows ---- */

/* Everything is copied. In every row an empty slice and a time of RUN_NO_TIME are NULL, times are Unix
 * nanoseconds, and `seq` is the event that the replay's position is behind. */
#define RUN_NO_TIME INT64_MIN

/* What is known of the replay as a whole: tape, speed, versions ... A later value replaces an earlier one. */
void run_file_fact(struct run_file *f, const char *name, const char *value);

/* A resource as requests name it. */
struct run_resource {
	struct slice apigroup, version, resource, subresource, namespace, name;
};

struct run_request_row {
	uint64_t id; /* not 0; grows */
	int64_t time_ns, tape_time_ns;
	uint64_t seq;
	struct slice client;       /* User-Agent */
	struct slice method, path; /* with its query */
	struct slice verb; /* get list watch create update patch delete deletecollection; others: method */
	struct run_resource what; /* all empty when the path names none */
	struct slice rv;          /* the resourceVersion it asks for, or its body has */
	/* The last event that this client had been sent, and how long before; 0 and RUN_NO_TIME: none. */
	uint64_t seen_seq;
	uint64_t seen_rv;
	int64_t latency_ns;
	struct slice body; /* of writes; no secrets in it */
};
void run_file_request(struct run_file *f, const struct run_request_row *row);

/* How it went out. */
struct run_answer_row {
	uint64_t request;
	int64_t time_ns, duration_ns;
	int status;             /* HTTP's; 0: it was never answered */
	bool whole;             /* everything was sent; false: cut, by us or by the client */
	uint64_t events, bytes; /* sent to a watch; bytes of the body */
};
void run_file_answer(struct run_file *f, const struct run_answer_row *row);

/* One event was handed to the socket of one watch. */
struct run_delivery_row {
	uint64_t request, seq;
	struct slice type;      /* as it was sent: selectors make an ADDED of a MODIFIED */
	int64_t due_ns, out_ns; /* due_ns RUN_NO_TIME: it was not due but asked for from the past */
};
void run_file_delivery(struct run_file *f, const struct run_delivery_row *row);

/* One request that changed, or tried to change, something. */
struct run_write_row {
	uint64_t request;
	int64_t time_ns, tape_time_ns;
	uint64_t seq;
	struct slice client, verb;
	struct run_resource what;  /* `name` as it ended up: generateName is filled in */
	struct slice policy;       /* overlay absorb reject */
	struct slice content_type; /* of the body: tells the kinds of patches apart */
	bool dry_run;
	struct slice body, object; /* as asked; as answered; no secrets in them */
	int status;
	struct slice reason;  /* of a Status */
	struct slice rv, uid; /* assigned */
};
void run_file_write(struct run_file *f, const struct run_write_row *row);

/* One thing that a fault did. */
struct run_fault_row {
	int64_t time_ns, tape_time_ns;
	uint64_t seq;
	uint64_t rule, episode; /* 0: of no rule */
	struct slice step;      /* begins watch request frame ends nobody */
	struct slice what;      /* rst fin cut goaway error http refuse stall drop ... */
	struct slice detail;    /* the rule in its own words */
	struct run_resource where;
	uint64_t request; /* that it happened to; 0: to none */
};
void run_file_fault(struct run_file *f, const struct run_fault_row *row);

#endif
