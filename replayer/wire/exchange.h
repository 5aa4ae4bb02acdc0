/*
 * exchange.h: one request and its answer, over any protocol (HTTP/1.1, HTTP/2, WebSocket).
 *
 *     OPEN --answer--> ANSWERING --finish--> FINISHED --everything sent--> closed
 *       |                  \--break--> BROKEN --everything sent--> aborted --/
 *       \_______________ abort, or the peer goes away ____________________/
 *
 * A handler gets an OPEN exchange. It answers with a head, pushes pieces of the body, and finishes. Pieces
 * wait in a queue of references until the socket takes them; pushing never calls back. An owner that produces
 * a long or endless body is called when the queue has drained, so that it never makes more than the client
 * reads. After `closed` the exchange is gone.
 */
#ifndef REPLAYER_EXCHANGE_H
#define REPLAYER_EXCHANGE_H

#include "replayer/wire/blob.h"
#include "replayer/wire/http.h"

/* Below this many waiting bytes an owner is asked for more. */
#define EXCHANGE_LOW_BYTES (64u << 10)

enum exchange_state { EXCHANGE_OPEN, EXCHANGE_ANSWERING, EXCHANGE_FINISHED, EXCHANGE_BROKEN };

/* How the body is marked off. */
enum exchange_framing {
	FRAMING_CHUNKS, /* HTTP/1.1 chunks */
	FRAMING_NONE,   /* the bytes as they are: by Content-Length, HTTP/2, or an upgraded connection */
};

/* How an answer is broken off. */
enum exchange_abort {
	ABORT_FIN,    /* the connection is closed without the end mark */
	ABORT_RST,    /* the connection is reset */
	ABORT_STREAM, /* HTTP/2: only this stream is reset; elsewhere as ABORT_RST */
	ABORT_GOAWAY, /* HTTP/2: the connection says so and is closed; elsewhere as ABORT_FIN */
};

#define EXCHANGE_ABORT_CODE 2 /* the default code for HTTP/2: INTERNAL_ERROR */

struct exchange;

/* The callbacks of an owner; each may be NULL. */
struct exchange_owner {
	/* Less than EXCHANGE_LOW_BYTES wait and the answer is not finished. May push, finish or abort. Before
	 * the answer only after exchange_go_on: it may answer then, or call exchange_go_on again. */
	void (*drained)(void *owner);
	/* Bytes from the peer on an upgraded connection. */
	void (*received)(void *owner, struct slice bytes);
	/* The answer is out, or the peer is gone, or it was aborted. */
	void (*closed)(void *owner);
};

/* The callbacks of the protocol that carries an exchange. */
struct exchange_carrier {
	/* Sends the head; length < 0: not known, the body ends with finish. Returns the body's framing. */
	enum exchange_framing (*head)(struct exchange *x, int status, const struct http_header *headers,
		size_t count, int64_t length);
	void (*wake)(struct exchange *x);  /* there is something to send, or it is BROKEN */
	void (*go_on)(struct exchange *x); /* ask the owner again when others had their turn */
	/* code: of an HTTP/2 stream's reset. */
	void (*abort)(struct exchange *x, enum exchange_abort how, uint32_t code);
	void (*freeze)(struct exchange *x, uint64_t by); /* see conn_freeze */
	bool (*is_frozen)(struct exchange *x);
};

/* Bytes on their way, and what keeps them alive (NULL for constants). */
struct exchange_piece {
	struct blob *blob;
	struct slice bytes;
};

/* Bytes of answers that were made as a whole and wait to be sent; those of the parent, too. Answers of owners
 * that are asked for more bound themselves. */
struct exchange_account {
	size_t bytes;
	struct exchange_account *parent; /* NULL: none */
};

struct exchange {
	enum exchange_state state;
	enum exchange_framing framing;
	bool head_only;                /* the request was a HEAD: the body is not sent */
	bool is_prepared;              /* OPEN: the owner takes several turns until it answers */
	enum exchange_abort break_how; /* of BROKEN */
	uint32_t break_code;
	const struct exchange_carrier *carrier;
	const struct exchange_owner *owner;
	void *owner_context;
	struct exchange_piece *pieces; /* a ring */
	uint32_t first, count, cap;
	size_t waiting_bytes;
	struct exchange_account *account;       /* NULL: nobody counts */
	const struct http_header *more_headers; /* borrowed; sent with the answer, after its own */
	size_t more_header_count;
	int status;          /* of the answer; 0 before it */
	uint64_t body_bytes; /* queued so far */
	/* An observer is called once, at the end: `whole` if all of the answer was sent. */
	void (*over)(void *context, const struct exchange *x, bool whole);
	void *over_context;
};

/* ---- for handlers ---- */

/* Sets the owner. Without an owner the answer must be complete when the handler returns. */
void exchange_own(struct exchange *x, const struct exchange_owner *owner, void *context);

/* Sends the head; length: of the body, negative if it is not known before the end. The exchange must be
 * OPEN. */
void exchange_answer(
	struct exchange *x, int status, const struct http_header *headers, size_t count, int64_t length);

/* Queues a piece of the body; the exchange takes its own reference. */
void exchange_push(struct exchange *x, struct blob *b);

/* Queues bytes that are sent as they are, without chunk framing. */
void exchange_push_raw(struct exchange *x, struct blob *b);

/* For an owner that was asked for more, or has yet to answer, and has used up its time: it is called again
 * after others had their turn, whether it has pushed something or not. */
void exchange_go_on(struct exchange *x);

/* The body is whole; nothing may be pushed any more. */
void exchange_finish(struct exchange *x);

/* Aborts at once, in any state; drops waiting data and calls the owner. */
void exchange_abort(struct exchange *x, enum exchange_abort how);

/* Aborts when everything that is queued is out; nothing may be pushed any more. */
void exchange_break(struct exchange *x, enum exchange_abort how, uint32_t code);

/* Simulates a network that passes nothing: the whole connection stands still, until server_thaw was called
 * for all the bits of `by`. */
void exchange_freeze(struct exchange *x, uint64_t by);
bool exchange_is_frozen(struct exchange *x);

static inline size_t exchange_waiting(const struct exchange *x)
{
	return x->waiting_bytes;
}

/* ---- for carriers ---- */

void exchange_init(
	struct exchange *x, const struct exchange_carrier *carrier, struct exchange_account *account);

/* Drops waiting data and calls the owner. Safe to call twice. */
void exchange_release(struct exchange *x);

/* The first pieces, at most `max`; returns how many. */
size_t exchange_peek(const struct exchange *x, struct slice *ret, size_t max);

/* It was finished, and all of the body is out. */
static inline bool exchange_is_all_sent(const struct exchange *x)
{
	return x->state == EXCHANGE_FINISHED && x->count == 0;
}

/* Everything is out that goes out before it is aborted. */
static inline bool exchange_is_due_to_abort(const struct exchange *x)
{
	return x->state == EXCHANGE_BROKEN && x->count == 0;
}

/* n bytes from the front are sent. */
void exchange_sent(struct exchange *x, size_t n);

/* Asks the owner for more if it is time. True if something may have been added. */
bool exchange_refill(struct exchange *x);

#endif
