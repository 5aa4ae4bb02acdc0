/*
 * talk.h: one running request and its answer, as the loop sees them: their items for the desk, and the number
 * of bytes that did not fit into the feed.
 */
#ifndef TOOLS_TEE_TALK_H
#define TOOLS_TEE_TALK_H

#include "tools/tee/feed.h"
#include "tools/tee/fields.h"

struct talk {
	struct talk *next; /* in a list of its owner */
	struct feed *feed;
	uint64_t id;
	uint32_t stream;     /* of HTTP/2 */
	bool is_told;        /* the desk knows of it */
	bool is_head;        /* an answer has no body: HEAD */
	bool is_connect;     /* CONNECT */
	bool wants_upgrade;  /* the connection may become something else */
	bool feeds_upgraded; /* ... for example a watch over WebSocket, which is still recorded */
	bool is_answered;    /* the head of the final answer has come */
	uint64_t lost, asked_lost;
};

/* The description of a request, in any version of HTTP; borrowed. */
struct talk_head {
	struct slice method, target;
	const struct field_list *fields; /* as the client sent them */
	const char *version;             /* "1.1" "2" */
};

struct talk *talk_begin(struct feed *f, uint64_t id, uint64_t connection, const struct talk_head *head);
void talk_asked(struct talk *t, struct slice bytes);
void talk_asked_end(struct talk *t);
void talk_answer(struct talk *t, int status, const struct field_list *fields);
void talk_body(struct talk *t, struct slice bytes);

/* Tells the end and frees. code: of HTTP/2, -1 none. */
void talk_end(struct talk *t, enum road_end how, enum road_party by, int64_t code);

#endif
