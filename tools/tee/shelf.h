/*
 * shelf.h: the tape's objects of each resource, and the streams in which clients follow it.
 *
 * Several clients may watch one resource, in one namespace or all, with selectors or without. The tape has
 * every version of an object once, and its state is what all of them see together:
 *
 *   - a version is appended when it is newer than that of the tape; an older one that somebody is sent later
 *     changes nothing there
 *   - an object is deleted when a watch without selectors says so, or the last one that had it: one with
 *     selectors also says DELETED of an object that only left its selection
 */
#ifndef TOOLS_TEE_SHELF_H
#define TOOLS_TEE_SHELF_H

#include "recorder/known.h"
#include "schema/base/json_scan.h"
#include "tools/tee/recents.h"
#include "tools/tee/tape_book.h"

struct tee_stream;

/* One resource. */
struct ledger {
	struct shelf *shelf;
	struct ledger *next;
	uint32_t id; /* on the tape */
	char *group, *version, *resource;
	bool redacts;
	struct known *live;         /* what lives on the tape */
	struct tee_stream *streams; /* those that follow it */
};

struct shelf {
	struct tape_book *book;
	struct recents *recents;
	struct ledger *ledgers;
	uint64_t events, repeats; /* appended; found to be there already */
	uint64_t gaps, missed;
};

struct shelf *shelf_new(struct tape_book *book);
void shelf_free(struct shelf *s); /* accepts NULL */

struct ledger *shelf_find(
	const struct shelf *s, struct slice group, struct slice version, struct slice resource);

/* Finds or makes it. kind must not be empty. */
int shelf_ledger(struct shelf *s, const struct tape_resource *resource, struct ledger **ret,
	struct err *err) MUST_CHECK;

/* Where an object that was delivered is on the tape. */
struct placed {
	uint64_t seq;  /* 0: nowhere */
	bool is_exact; /* with just these bytes */
};

struct shelf_object {
	enum event_type type;
	enum event_origin origin;
	int64_t time_ns;
	const struct object_meta *meta;
	struct slice bytes; /* without secrets */
	unsigned flags;     /* enum event_flags */
	struct slice rv;    /* for ORIGIN_INFERRED; else that of meta */
};

/* Appends it in that stream's name. */
int shelf_append(struct ledger *l, struct tee_stream *by, const struct shelf_object *o, uint64_t *ret_seq,
	struct err *err) MUST_CHECK;

/* A delivery of a watch: finds it on the tape, or appends it if it is new. */
int shelf_deliver(struct ledger *l, struct tee_stream *by, const struct shelf_object *o, struct placed *ret,
	struct err *err) MUST_CHECK;

/* Finds it only. */
void shelf_look(const struct ledger *l, const struct shelf_object *o, struct placed *ret);

/* <0, 0, >0; versions that are not numbers count as later. */
int shelf_compare(struct slice a, struct slice b);

#endif
