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
#define RUN_VERSION        2          /* older ones are read, too */
#define RUN_TICK_MS        100
#define RUN_WAITING_MAX    (64u << 20)

struct run_file;

/* Makes the file, which nobody else may read. Symbolic links are followed. An older run under that name is
 * replaced; ERR_USAGE if it is anything else. For a run that can be made again: a crash of the machine may take
 * the file with it. */
int run_file_open(const char *path, struct run_file **ret, struct err *err) MUST_CHECK;

/* How many bytes of rows may wait for the disk, instead of RUN_WAITING_MAX. Before the first row. */
void run_file_limit(struct run_file *f, size_t waiting_max);

/* The contents of a run that is continued. */
struct run_past {
	bool is_new; /* nothing: it was made just now */
	uint64_t last_request, last_client, last_socket;
};

/* Goes on with a live run, if the file is one that was made for that tape; else as run_file_open, but that a
 * run of something else is not replaced: ERR_USAGE. */
int run_file_go_on(const char *path, const char *tape_id, struct run_file **ret, struct run_past *ret_past,
	struct err *err) MUST_CHECK;

/* Writes pending rows and closes; frees in any case. Returns the first failure since open, if there was one.
 * NULL is accepted. */
int run_file_close(struct run_file *f, struct err *err) MUST_CHECK;

/* Whether rows are being dropped because the disk failed, and how. */
bool run_file_has_failed(struct run_file *f, struct err *ret);

/* ---- rows ---- */

/* Everything is copied. In every row an empty slice and a time of RUN_NO_TIME are NULL, times are Unix
 * nanoseconds, and `seq` is the last event before the replay's position. */
#define RUN_NO_TIME INT64_MIN

/* Facts about the replay as a whole: tape, speed, versions ... A later value replaces an earlier one. */
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
	/* Of a live run only; 0 and empty: NULL. */
	uint64_t client_id, socket;
	struct slice accept; /* as the client sent it */
};
void run_file_request(struct run_file *f, const struct run_request_row *row);

/* How it went out. */
struct run_answer_row {
	uint64_t request;
	int64_t time_ns, duration_ns;
	int status;             /* HTTP's; 0: it was never answered */
	bool whole;             /* everything was sent; false: cut, by us or by the client */
	uint64_t events, bytes; /* sent to a watch; bytes of the body */
	/* Of a live run only; how empty: none of them is known. */
	struct slice content_type, how, ended_by, audit_id;
	int64_t h2_error, retry_after; /* -1: none */
};
void run_file_answer(struct run_file *f, const struct run_answer_row *row);

/* One event was handed to the socket of one watch. */
struct run_delivery_row {
	uint64_t request, seq;
	struct slice type;      /* as it was sent: selectors make an ADDED of a MODIFIED */
	int64_t due_ns, out_ns; /* due_ns RUN_NO_TIME: it was not due but asked for from the past */
	/* In a live run only: its number among everything that the watch was sent, counted from 1; what it
	 * was. */
	uint64_t number;
	struct slice rv, uid;
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
	struct slice content_type; /* of the body: distinguishes the kinds of patches */
	bool dry_run;
	struct slice body, object; /* as asked; as answered; no secrets in them */
	int status;
	struct slice reason;  /* of a Status */
	struct slice rv, uid; /* assigned */
};
void run_file_write(struct run_file *f, const struct run_write_row *row);

/* ---- rows of a live run: what kubetape tee saw ---- */

/* A program, identified by its User-Agent and its credentials. Only a digest of these is kept. */
struct run_client_row {
	uint64_t id; /* not 0 */
	struct slice client, credential;
	int64_t time_ns;
};
void run_file_client(struct run_file *f, const struct run_client_row *row);

/* A connection of a client. */
struct run_socket_row {
	uint64_t id; /* not 0 */
	int64_t time_ns;
	struct slice peer, server, http_version;
	bool tls;
};
void run_file_socket(struct run_file *f, const struct run_socket_row *row);
void run_file_socket_end(
	struct run_file *f, uint64_t socket, int64_t time_ns, struct slice how, struct slice ended_by);

/* A frame of a watch that is not an event of the tape, or has other bytes than the tape. */
struct run_frame_row {
	uint64_t request, number; /* as that of deliveries */
	int64_t out_ns;
	struct slice type, rv, uid;
	struct slice encoding; /* empty: JSON */
	struct slice body;     /* without what frames it; no secrets in it */
};
void run_file_frame(struct run_file *f, const struct run_frame_row *row);

/* A piece of the answer to a read, as one zstd frame; no secrets in it. Pieces count from 1. */
struct run_piece_row {
	uint64_t request, piece, raw_bytes;
	struct slice data;
};
void run_file_piece(struct run_file *f, const struct run_piece_row *row);

/* A probe's output at a quiet moment on the way: what the program served. */
struct run_probe_row {
	int64_t time_ns;
	uint64_t seq;
	struct slice output;
	int exit_code;
};
void run_file_probe(struct run_file *f, const struct run_probe_row *row);

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
