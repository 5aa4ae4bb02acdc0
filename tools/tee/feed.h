/*
 * feed.h: the queue from the road to the desk, which writes down what happens: copies, in order, with their
 * times. The loop puts and never waits; the desk's thread takes.
 *
 * The queue has a maximum, and taken items count until they are given back. When it is full, it refuses
 * pieces of bodies, and the caller decides: it loses them and says so later (FEED_LOST), or it stops reading
 * until there is room. Small items about beginnings and ends still fit.
 */
#ifndef TOOLS_TEE_FEED_H
#define TOOLS_TEE_FEED_H

#include "schema/base/buf.h"

enum feed_kind {
	FEED_CONNECTED,    /* id: connection; texts: enum feed_connected */
	FEED_DISCONNECTED, /* id: connection; number: enum road_end; other: enum road_party */
	FEED_UNREACHED,    /* the server could not be reached; id: connection; text: a sentence */
	FEED_REQUEST,      /* id: request; other: connection; texts: enum feed_request */
	FEED_ASKED,        /* id: request; text: a piece of its body */
	FEED_ASKED_END,    /* id: request; its body is whole */
	FEED_ANSWER,       /* id: request; number: status; texts: enum feed_answer */
	FEED_BODY,         /* id: request; text: a piece of the answer's body */
	FEED_LOST,         /* id: request; number: bytes of the answer's body that did not fit in; other: 1 of
			      the request's */
	FEED_END,          /* id: request; number: enum road_end; other: enum road_party; text: 4 bytes, the
			      code of HTTP/2, or none */
};

/* protocol: "" if the first bytes will show it */
enum feed_connected { CONNECTED_PEER, CONNECTED_PROTOCOL, CONNECTED_SERVER, CONNECTED_TLS, CONNECTED_TEXTS };

enum feed_request {
	REQUEST_METHOD,
	REQUEST_TARGET,
	REQUEST_AGENT,
	REQUEST_AUTHORIZATION,
	REQUEST_ACCEPT, /* as the client sent it */
	REQUEST_CONTENT_TYPE,
	REQUEST_UPGRADE,
	REQUEST_VERSION, /* "1.1" "2" */
	REQUEST_TEXTS,
};

enum feed_answer {
	ANSWER_CONTENT_TYPE,
	ANSWER_CONTENT_ENCODING,
	ANSWER_RETRY_AFTER,
	ANSWER_AUDIT_ID,
	ANSWER_DATE,
	ANSWER_ETAG,
	ANSWER_TEXTS,
};

/* How an answer, or a connection, ended; and which side ended it. */
enum road_end {
	ROAD_COMPLETE,   /* with its end mark; a connection: with the TLS goodbye, if there is TLS */
	ROAD_RST_STREAM, /* HTTP/2, with a code */
	ROAD_GOAWAY,     /* the connection went after GOAWAY, with that code */
	ROAD_FIN,        /* the connection ended without an end mark */
	ROAD_RESET,      /* the connection was reset */
	ROAD_UNREAD,     /* unknown: the bytes were not HTTP, and passed unread from there on */
};
enum road_party { PARTY_SERVER, PARTY_CLIENT, PARTY_TEE };

#define FEED_TEXTS_MAX 8

struct feed_item {
	uint64_t id, other;
	int64_t wall_ns, mono_ns, number;
	uint32_t kind, text_count, bytes; /* bytes: of what follows */
	char data[];                      /* text_count lengths of 4 bytes, then the texts */
};

/* Borrowed from the item. */
struct slice feed_text(const struct feed_item *item, unsigned index);

/* The items. Texts are copied. */
struct feed_entry {
	enum feed_kind kind;
	uint64_t id, other;
	int64_t number;
	struct slice texts[FEED_TEXTS_MAX];
	unsigned text_count;
};

struct feed;

/* `room` is called, from the desk's thread, when it has become less than half full after it was full. */
struct feed *feed_new(size_t max_bytes, void (*room)(void *context), void *context);
void feed_free(struct feed *f);

/* ---- the loop ---- */

/* The time of items that are put from now on. */
void feed_set_time(struct feed *f, int64_t wall_ns, int64_t mono_ns);

/* False if it does not fit in. */
bool feed_put(struct feed *f, const struct feed_entry *e);

/* Little more than small items will fit in. */
bool feed_is_full(struct feed *f);

/* It is less than half full. */
bool feed_has_room(struct feed *f);

/* No item will follow. */
void feed_close(struct feed *f);

/* ---- the desk ---- */

bool feed_is_closed(struct feed *f);

struct feed_block {
	struct feed_block *next;
	size_t used, cap;
	char bytes[];
};

/* Waits for something, but not beyond that monotonic time. Takes all items, in order; NULL: none. Give the
 * blocks back one by one. *ret_closed: nothing will follow. */
struct feed_block *feed_take(struct feed *f, int64_t until_mono_ns, bool *ret_closed);
void feed_give_back(struct feed *f, struct feed_block *b);

/* The item at *at, which is moved after it; NULL at the end of the block. */
const struct feed_item *feed_next(const struct feed_block *b, size_t *at);

#endif
