/* road_internal.h: shared by road.c, h1_road.c and h2_road.c alone. */
#ifndef TOOLS_TEE_ROAD_INTERNAL_H
#define TOOLS_TEE_ROAD_INTERNAL_H

#include "tools/tee/h1_body.h"
#include "tools/tee/road.h"
#include "tools/tee/talk.h"

struct h2_road;

enum h1_state {
	H1_IN_HEAD,
	H1_IN_BODY,
	H1_WAITING, /* of a client that asked for an upgrade */
};

/* One direction of HTTP/1.1. */
struct h1_lane {
	enum h1_state state;
	struct buf head; /* as far as it has come */
	size_t scanned;
	struct h1_body body;
};

struct road {
	struct road_options o;
	enum road_protocol protocol;
	bool has_client_ended; /* and how */
	enum road_end client_end;
	struct field_list fields; /* of the head at hand */
	/* HTTP/1.1: requests in order. The last one's body is being sent, the first one is being answered. */
	struct h1_lane requests, answers;
	struct talk *first, *last;
	struct talk *upgraded; /* whose connection this has become; NULL: nobody's, or nobody reads it */
	struct h2_road *h2;    /* HTTP/2, NULL otherwise */
};

struct talk *road_begin_talk(struct road *r, const struct talk_head *head);

/* Stops reading a connection with HTTP/1.1: running requests end unread. ERR_PROTOCOL if that is not allowed,
 * because the tee uses its own identity. */
int road_give_up(struct road *r, const char *why, struct err *err) MUST_CHECK;

/* ---- h1_road.c ---- */

void h1_road_init(struct road *r);
void h1_road_release(struct road *r);
int h1_road_request(struct road *r, struct slice *in, struct buf *out, struct err *err) MUST_CHECK;
int h1_road_answer(struct road *r, struct slice *in, struct err *err) MUST_CHECK;
void h1_road_end(struct road *r, enum road_party by, enum road_end how);

/* ---- h2_road.c ---- */

void h2_road_open(struct road *r);
void h2_road_free(struct road *r);
int h2_road_request(struct road *r, struct slice *in, struct buf *out, struct err *err) MUST_CHECK;
void h2_road_answer(struct road *r, struct slice *in);
void h2_road_end(struct road *r, enum road_party by, enum road_end how);

#endif
