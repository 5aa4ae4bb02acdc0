/*
 * run.h: what happened in this replay: its clients, their requests, the events that they were sent and how
 * late, the faults that struck them, their writes. It is counted as it happens, in bounded memory, and
 * reported at the end; with a run file (schema/run/run_file.h) it is also stored, row by row.
 *
 *     api_handle          run_request_begin, run_request_end
 *     a watch sends       run_sent
 *     a batch is out      run_delivered
 *     a write is done     run_write
 *     a fault happens     run_fault
 */
#ifndef REPLAYER_RUN_H
#define REPLAYER_RUN_H

#include "replayer/request/api_path.h"
#include "replayer/request/query.h"
#include "replayer/run/histogram.h"
#include "replayer/run/pace.h"
#include "replayer/run/run_words.h"
#include "replayer/wire/exchange.h"
#include "replayer/world/change.h"
#include "schema/run/run_file.h"

#define RUN_CLIENTS_MAX 64 /* programs distinguished by User-Agent; all others are one */

struct faults;
struct player;
struct redactor;
struct world;

/* One program, by its User-Agent. */
struct run_client {
	char *name;
	uint64_t requests, lists, watches, relists; /* relists: lists after its first watch */
	uint64_t events, refused;                   /* refused: answers of 400 and above */
	/* The last event it was sent; seq 0: none yet. */
	uint64_t seen_seq, seen_rv;
	int64_t seen_ns; /* monotonic */
};

/* A request with a row in the run file; lives as long as its exchange, or longer if it is referenced. */
struct run_request {
	struct run *run;
	struct run_client *client;
	uint64_t id;
	int64_t begin_ns; /* monotonic */
	uint64_t events;
	struct buf body; /* as it is stored, until the row of its write has it */
	bool secret;     /* the body held secrets */
	unsigned holders;
};

struct run_pending; /* events handed to watches and not yet known to be out */

struct run {
	int64_t begin_ns; /* monotonic */
	int64_t wall_ns;  /* the same moment, Unix time */
	uint64_t requests, watches, events, bookmarks, cut, writes, faults;
	uint64_t kept_back; /* faults that kept events back until they were over */
	uint64_t work;      /* of the writes, those of neither leases nor Events */
	uint64_t asked;     /* requests for resources, but leases and Events, and for discovery */
	uint64_t in_vain;   /* reads that a fault answered; they are not among these */
	struct {
		int64_t ns;     /* monotonic; 0: never */
		uint64_t asked; /* what that was then */
	} unfinished;           /* the last time of run_is_unfinished */
	struct {
		int64_t ns;                /* monotonic; 0: none */
		uint64_t resource, name;   /* hashes; HASH_EMPTY: it has no name */
	} struck;                          /* what run_is_struck said last, until it is asked for */
	uint64_t restarts, watches_before; /* of the command; watches that had been opened by the last one */
	struct pace pace;                  /* of what is asked */
	size_t under_way;                  /* writes that are being done beside the loop */
	struct histogram late;             /* from when an event was due until it was handed to the sockets */
	struct run_client clients[RUN_CLIENTS_MAX];
	size_t client_count;
	uint64_t next_id;
	struct run_file *file;     /* NULL: nothing is stored */
	bool told_failure;         /* the disk failed, and the user knows */
	bool told_left;            /* what lies over the tape is in the file */
	struct redactor *redactor; /* with the file */
	/* Where the replay is, for rows; NULL until it is open. Borrowed. */
	const struct player *player;
	const struct world *world;
	int64_t due_ns; /* of the event that is being handed to watches; RUN_NO_TIME: to nobody in time */
	struct run_pending *pending;
	size_t pending_count, pending_cap;
};

struct run *run_new(void);
void run_free(struct run *r); /* the file must be closed */

/* The client that sends this request; borrowed for the run's life. */
struct run_client *run_client_of(struct run *r, const struct http_request *request);

/* ---- requests ---- */

/* A request and its meaning. */
struct run_question {
	const struct http_request *request;
	const struct api_path *what;
	const struct query *query;
	enum verb verb;
	struct body *body;
};

/* Stores the request and follows its exchange to the end. NULL without a run file. */
struct run_request *run_request_begin(
	struct run *r, struct run_client *client, struct exchange *x, const struct run_question *q);

/* For a write that may outlast the exchange. NULL is held and released, too. */
struct run_request *run_request_hold(struct run_request *q);
void run_request_release(struct run_request *q);

/* Its body as it may be stored: as JSON if it came as protobuf, and without secrets; empty if that is not
 * possible, and for NULL. Valid until the row of its write is stored. */
struct slice run_request_body(const struct run_request *request);

/* ---- deliveries ---- */

/* An event was queued for the watch of that request (NULL: nothing is stored). A version that follows an event of
 * the tape counts as that event. */
void run_sent(struct run *r, struct run_client *client, struct run_request *request, const struct change *c,
	enum event_type type);

/* The same of an event that is on its way already. */
struct run_event {
	uint64_t seq, rv;
	enum event_type type;
};
void run_told(
	struct run *r, struct run_client *client, struct run_request *request, const struct run_event *e);

/* The queued data are sent. */
void run_flushed(struct run *r, int64_t out_ns);

/* Events that were due at a time went out to this many watches; both times monotonic. */
void run_delivered(struct run *r, int64_t due_ns, int64_t out_ns, uint64_t watches);

/* ---- writes and faults ---- */

/* Counts and stores one. Times and position of the row are filled in here, and so is the client if a request
 * is given (NULL: it has no row). The bodies must be free of secrets. */
void run_write(struct run *r, struct run_request *request, struct run_write_row *row);
/* Not leases and Events, which programs write without end. */
bool run_is_work(struct slice resource);

/* A further request is expected: after a write that was not done, or whose answer does not say that it was, the program
 * tries again; after discovery it asks for the kind that it has found, or fails and tries again. */
void run_is_unfinished(struct run *r);

/* The same of a write that a fault refused or left unanswered, until that very object is asked for or written again: other
 * work of the program may go on meanwhile. Of an object whose path has no name yet, it is empty. */
void run_is_struck(struct run *r, struct slice resource, struct slice name);

/* Every request that is work is told here. */
void run_asked(struct run *r, const struct api_path *what, enum verb verb);
void run_fault(struct run *r, const struct run_request *request, struct run_fault_row *row);

/* ---- the whole ---- */

struct run_facts {
	const char *tape;
	const char *secrets_key;           /* for the tape without one (redact.h); NULL: nobody keeps it */
	uint64_t first_seq, last_seq, seq; /* its beginning, intended end, and present position */
	double speed;
	bool rebased; /* the times in objects are moved to the present */
	uint64_t connections_cut;
	const struct faults *faults; /* NULL: none; those of the recording are not reported */
};

/* From now on everything is stored in that file. `seq` of the facts is not looked at. */
int run_store_begin(struct run *r, const char *path, const struct run_facts *f, struct err *err) MUST_CHECK;

/* The program was asked to end: its later writes do not count. */
void run_store_quiet(struct run *r);

/* Which objects lie over the tape (run_left.h): as the program was asked to end, or else at the end. Only the first time. */
void run_store_left(struct run *r);

/* The probe's output and exit code: at the end, or on the way, at the present position. */
void run_store_probe(struct run *r, const char *text, int exit_code);
void run_store_probe_on_the_way(struct run *r, const char *text, int exit_code);

/* The program's memory when it is quiet at the end; that it had to be killed there. */
void run_store_memory(struct run *r, uint64_t bytes);
void run_store_killed(struct run *r);

/* Closes the file, if there is one; every exchange must be over. `ended_by` as FORMAT.md says. A failure is
 * the first of any write. */
int run_store_end(
	struct run *r, uint64_t seq, int exit_code, const char *ended_by, struct err *err) MUST_CHECK;

/* The report: as JSON into a file (out_file.h), and for people. */
int run_report_write(
	const struct run *r, const struct run_facts *f, const char *path, struct err *err) MUST_CHECK;
int run_report_text(
	const struct run *r, const struct run_facts *f, struct buf *to, struct err *err) MUST_CHECK;

#endif
