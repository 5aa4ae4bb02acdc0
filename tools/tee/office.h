/*
 * office.h: shared by the visits of the desk (visit.h): the tape, the run, their connections, and state from
 * one visit to the next.
 */
#ifndef TOOLS_TEE_OFFICE_H
#define TOOLS_TEE_OFFICE_H

#include "tools/tee/feed.h"
#include "tools/tee/run_book.h"
#include "tools/tee/shelf.h"
#include "tools/tee/tee_stream.h"

/* A client's connection. */
struct socket_note {
	struct socket_note *next;
	uint64_t id; /* of the feed */
	char *server;
	bool tls;
};

/* The pages of a list come with a request each. */
struct parked_list {
	struct parked_list *next;
	char *token; /* by which the next page is asked for */
	struct tee_listing *listing;
};

struct office {
	struct tape_book *book;
	struct shelf *shelf;
	struct run_book *run;
	struct redactor *redactor;
	char *server_path; /* what all requests begin with, "" for nothing */
	struct socket_note *sockets;
	struct parked_list *parked;
	unsigned parked_count;
	size_t collected;        /* bytes of bodies that are kept until they are whole */
	struct buf typed, clean; /* scratch */
	uint64_t requests, deliveries, writes;
	uint64_t lost_bytes; /* passed on and not written down */
	uint64_t unread;     /* what came and could not be made out */
};

void office_init(struct office *o);
void office_release(struct office *o); /* not the books */

/* The result of writing something onto the tape. What a peer's nonsense led to is passed over; after anything
 * else nothing more is written. */
void office_judge(struct office *o, int rc, const struct err *err);

/* Of the last event on the tape. */
uint64_t office_seq(const struct office *o);

void office_connected(struct office *o, const struct feed_item *item);
void office_disconnected(struct office *o, const struct feed_item *item);
void office_unreached(struct office *o, const struct feed_item *item);
const struct socket_note *office_socket(const struct office *o, uint64_t id);

/* Words of the run. */
const char *office_how(int64_t road_end);
const char *office_by(uint64_t road_party);

/* Keeps a listing for its next page; the oldest goes when there are many. */
void office_park(struct office *o, struct slice token, struct tee_listing *listing);
/* The caller has it again; NULL: it is not here. */
struct tee_listing *office_unpark(struct office *o, struct slice token);

/* Appends to a collected body; false if there is no room for it. */
bool office_collect(struct office *o, struct buf *body, struct slice bytes);
void office_uncollect(struct office *o, struct buf *body);

#endif
