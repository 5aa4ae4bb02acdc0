/*
 * run_seen.h: what one program read in a live run (kubetape tee): each read that it made, its answer, and
 * every frame of its watches with its arrival time. Bodies are read when they are asked for; all else is in
 * memory.
 */
#ifndef SCHEMA_RUN_RUN_SEEN_H
#define SCHEMA_RUN_RUN_SEEN_H

#include "schema/base/buf.h"

#include <stdbool.h>

struct run_seen;

/* How an answer ended, and by whose doing. */
enum seen_end {
	SEEN_OPEN,     /* it did not, as far as the server is concerned: the client left, or the tee ended */
	SEEN_COMPLETE, /* with its end mark */
	SEEN_FIN,      /* the connection ended without one */
	SEEN_RESET,    /* the connection was reset */
	SEEN_RST_STREAM, /* HTTP/2, with a code */
	SEEN_GOAWAY,     /* the connection went after GOAWAY */
};

struct seen_frame {
	uint64_t seq; /* of the tape, whose bytes it has; 0: it is a row of `frames` */
	int64_t row;  /* that row */
	int64_t out_ns;
	uint64_t rv;    /* resourceVersion; 0: none, or no number */
	uint64_t event; /* the tape's, also if the bytes are not its own; 0: none */
	char type;      /* A, M or D: the type that the watch was sent, for a frame that is on the tape */
};

struct seen_request {
	uint64_t id;
	int64_t time_ns, end_ns; /* end_ns: INT64_MAX while it is open */
	const char *path, *accept, *content_type;
	uint64_t rv;    /* the version that it asks for, as that of a frame */
	int status;     /* 0: it was never answered */
	bool is_watch;  /* and was accepted: it has frames; else it has an answer */
	bool has_holes; /* part of what came is not in the run */
	enum seen_end end;
	int64_t h2_error, retry_after; /* -1: none */
	struct seen_frame *frames;     /* in their order */
	size_t frame_count;
};

/* Loads everything about clients with that text in their User-Agent ("": all clients). ERR_NOT_FOUND,
 * ERR_CORRUPT; ERR_USAGE if it is not a live run, was made for another tape than that of tape_id, or has no
 * such client. */
int run_seen_open(const char *path, const char *tape_id, const char *client, struct run_seen **ret,
	struct err *err) MUST_CHECK;
void run_seen_close(struct run_seen *s); /* accepts NULL */

/* In the order in which they were made. Borrowed. */
const struct seen_request *run_seen_requests(const struct run_seen *s, size_t *ret_count);

/* The bytes of a row of `frames`, without what frames them, appended. */
struct seen_text {
	const char *type;     /* "": none; borrowed until the next call */
	const char *encoding; /* "" JSON, "protobuf", "cbor"; "part": the front of a frame that never became
				 whole */
};
int run_seen_frame(struct run_seen *s, const struct seen_frame *frame, struct seen_text *ret, struct buf *to,
	struct err *err) MUST_CHECK;

/* The body that a request was answered with, piece by piece: `take` is given zstd frames, each with how many
 * bytes it holds. A failure of `take` is the call's. */
struct seen_taker {
	int (*take)(void *context, struct slice packed, size_t raw_bytes, struct err *err);
	void *context;
};
int run_seen_answer(struct run_seen *s, const struct seen_request *r, const struct seen_taker *taker,
	struct err *err) MUST_CHECK;

#endif
