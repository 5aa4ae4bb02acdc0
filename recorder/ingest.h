/*
 * ingest.h: puts one object of a stream on the tape: removes secrets, gives list items the kind and
 * apiVersion that lists leave out, appends the event and updates what is known.
 */
#ifndef RECORDER_INGEST_H
#define RECORDER_INGEST_H

#include "recorder/connection.h"
#include "recorder/known.h"
#include "schema/base/json_scan.h"

struct ingest {
	struct recorder_context *x;
	struct known *known;
	uint32_t stream;
	struct tape_resource resource; /* borrowed */
	bool redacts;
	uint64_t events, bytes;  /* put by this run */
	struct buf typed, clean; /* scratch */
};

/* The contents of `resource` must live as long as it. */
void ingest_init(struct ingest *in, struct recorder_context *x, uint32_t stream,
	const struct tape_resource *resource, bool redacts);
void ingest_release(struct ingest *in);

struct ingest_object {
	enum event_type type;
	enum event_origin origin;
	int64_t time_ns;
	const struct object_meta *meta; /* of the bytes */
	struct slice bytes;
	struct slice list_kind, list_api_version; /* set for a list item: its list */
	struct slice rv;                          /* for ORIGIN_INFERRED; else that of meta */
};

/* Appends and notes it as known, or as gone when it is DELETED; counts it for the
 * connection (may be NULL). */
int ingest_put(struct ingest *in, const struct ingest_object *object, struct connection *connection,
	struct err *err) MUST_CHECK;

#endif
