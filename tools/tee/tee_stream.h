/*
 * tee_stream.h: a stream of the tape as clients follow it: one resource in one namespace or all, with
 * selectors or without. It is watched while any client has a watch of it.
 *
 *              first list                    a watch is there              the last one ends
 *     NEW ------------------> LISTED -----------------------> WATCHED ---------------------> UNWATCHED
 *                                ^                               ^                           |     |
 *                                |                               +---- a watch goes on ------+     |
 *                                +---------------- a list shows what was missed -------------------+
 *
 * A time of more than a second without a watch, or one that hides something, is a gap of the tape.
 */
#ifndef TOOLS_TEE_TEE_STREAM_H
#define TOOLS_TEE_TEE_STREAM_H

#include "tools/tee/shelf.h"

/* Its selection; "" for everything. Strings are copied. */
struct tee_stream_spec {
	const char *namespace, *labels, *fields;
};

/* Finds or makes it. */
int tee_stream_get(struct ledger *l, const struct tee_stream_spec *spec, struct tee_stream **ret,
	struct err *err) MUST_CHECK;
void tee_streams_free(struct ledger *l);

uint32_t tee_stream_id(const struct tee_stream *s);

/* It selects by nothing that an object can change, so that objects that it calls deleted are deleted. */
bool tee_stream_is_whole(const struct tee_stream *s);

/* Whether another stream of the resource has that object. */
bool tee_streams_have(const struct ledger *l, const struct tee_stream *but, struct slice namespace,
	struct slice name, struct slice uid);

/* ---- watches ---- */

/* A watch was accepted; from_rv: where it resumes, "" from the present state. */
void tee_stream_opened(struct tee_stream *s);
/* It has proved to be a watch: it delivers, or is open for a while without an ERROR. */
int tee_stream_settled(
	struct tee_stream *s, struct slice from_rv, uint64_t connection, struct err *err) MUST_CHECK;
/* An attempt was refused. */
int tee_stream_refused(struct tee_stream *s, struct err *err) MUST_CHECK;
void tee_stream_closed(struct tee_stream *s, const char *reason, uint64_t connection);

/* An event of a watch. */
int tee_stream_event(
	struct tee_stream *s, const struct shelf_object *o, struct placed *ret, struct err *err) MUST_CHECK;

/* A bookmark or an ERROR. */
int tee_stream_mark(struct tee_stream *s, const struct tape_mark *mark, struct err *err) MUST_CHECK;

/* Some of what a watch was sent was not written down. */
int tee_stream_lost(struct tee_stream *s, uint64_t connection, struct err *err) MUST_CHECK;

/* ---- lists ---- */

struct tee_listing;

/* A list begins; NULL if it brings nothing new, because a client watches. is_watch: a watch sends it, and a
 * bookmark that the caller puts as a mark ends it. */
struct tee_listing *tee_stream_list(struct tee_stream *s, bool is_watch, struct err *err);

/* An item of it: with kind and apiVersion, without secrets. */
int tee_listing_item(struct tee_listing *l, const struct object_meta *meta, struct slice bytes,
	unsigned flags, int64_t time_ns, struct err *err) MUST_CHECK;

/* The last event that it has brought to the tape until now; 0: none. */
void tee_listing_events(const struct tee_listing *l, uint64_t *ret_first_seq, uint64_t *ret_last_seq);

/* It is complete, as of that version: objects that it lacks are gone. Frees. */
int tee_listing_end(struct tee_listing *l, struct slice rv, uint64_t connection, int64_t time_ns,
	struct err *err) MUST_CHECK;

/* Nothing more comes of it. Frees; accepts NULL. */
void tee_listing_drop(struct tee_listing *l);

/* ---- time ---- */

/* Writes gaps that now deserve a row; call it now and then. */
int tee_streams_tick(struct shelf *s, int64_t now_mono_ns, struct err *err) MUST_CHECK;

/* ---- a tape that is continued ---- */

/* The tape's knowledge about the stream. */
struct tee_stream_past {
	bool is_listed;
	struct slice rv;
	int64_t last_ns; /* wall clock of the last thing on the tape */
	uint64_t last_seq;
	const char *reason; /* its last watch ended for that */
	uint64_t connection;
	const struct tape_gap *open; /* a gap that was open already; NULL: none */
};
int tee_stream_resume(struct tee_stream *s, const struct tee_stream_past *past, struct err *err) MUST_CHECK;
struct known *tee_stream_view(struct tee_stream *s);

#endif
