/*
 * run.h: what happened in this replay: which clients came, what they asked for, what they were sent and how
 * late. Counted as it happens, in bounded memory; told at the end as a report.
 */
#ifndef REPLAYER_RUN_H
#define REPLAYER_RUN_H

#include "replayer/histogram.h"
#include "replayer/wire/http.h"

#define RUN_CLIENTS_MAX 64 /* programs told apart by User-Agent; all others are one */

struct run_file;

/* One program, by its User-Agent. */
struct run_client {
	char *name;
	uint64_t requests, lists, watches, relists; /* relists: lists after its first watch */
	uint64_t events, refused;                   /* refused: answers of 400 and above */
};

struct run {
	int64_t begin_ns; /* monotonic */
	uint64_t requests, watches, events, bookmarks, cut;
	struct histogram late; /* from when an event was due until it was handed to the sockets */
	struct run_client clients[RUN_CLIENTS_MAX];
	size_t client_count;
	uint64_t next_id;
	struct run_file *file; /* NULL: nothing is stored */
};

struct run *run_new(void);
void run_free(struct run *r);

/* The client that sends this request; borrowed for the run's life. */
struct run_client *run_client_of(struct run *r, const struct http_request *request);

/* Events that were due at a time went out to so many watches; both times monotonic. */
void run_delivered(struct run *r, int64_t due_ns, int64_t out_ns, uint64_t watches);

/* The report as JSON, and for people. */
struct run_facts {
	const char *tape;
	uint64_t first_seq, last_seq, seq; /* where it began, was to end, and stands */
	double speed;
	uint64_t connections_cut;
};
int run_report_json(
	const struct run *r, const struct run_facts *f, struct buf *to, struct err *err) MUST_CHECK;
int run_report_text(
	const struct run *r, const struct run_facts *f, struct buf *to, struct err *err) MUST_CHECK;

#endif
