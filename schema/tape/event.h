/*
 * event.h: what a tape holds, as the writer takes it and the reader gives it.
 *
 * An *event* is one object that was delivered, listed or concluded. Everything else that happened to the
 * watches (connections, bookmarks, gaps, clock steps, documents) is a *row*. Events are numbered from 1
 * without holes (seq, the arrival order); every row says after which seq it was written, so that events and
 * rows have one order.
 */
#ifndef SCHEMA_TAPE_EVENT_H
#define SCHEMA_TAPE_EVENT_H

#include "schema/base/buf.h"

enum event_type { EVENT_ADDED = 0, EVENT_MODIFIED = 1, EVENT_DELETED = 2 };

enum event_origin {
	ORIGIN_LIST = 0,     /* an item of the first list of a stream */
	ORIGIN_WATCH = 1,    /* seen on the wire of a watch */
	ORIGIN_RELIST = 2,   /* a change first seen when listing again after a gap */
	ORIGIN_INFERRED = 3, /* a deletion concluded from a relist: the object is its last known state, rv the
				list's, an upper bound of the deletion's, which lies in the gap */
};

enum event_flags {
	/* `"kind":..,"apiVersion":..,` was put after the opening brace: items of lists come without. */
	EVENT_TYPED = 1,
};

/* A group, version and resource, with what discovery said of it. */
struct tape_resource {
	uint32_t id; /* from 1, stable in the whole tape */
	char *apigroup, *version, *resource, *kind;
	bool namespaced;
};

/* One thing followed: a resource in one namespace or in all, with selectors ("" for none). */
struct tape_stream {
	uint32_t id, resource; /* from 1, stable in the whole tape */
	char *namespace, *label_selector, *field_selector;
};

struct event {
	uint64_t seq;
	int64_t time_ns; /* wall clock when the last byte had arrived */
	enum event_type type;
	enum event_origin origin;
	unsigned flags; /* enum event_flags */
	uint32_t stream, resource;
	struct slice namespace, name, uid;
	struct slice rv; /* as delivered; see ORIGIN_INFERRED */
	uint64_t bytes;  /* length of the object */
};

/* One HTTP request of a stream. Times are wall clock, durations monotonic. -1 and NULL: not known or not so.
 * A reader gives words that a row lacks (purpose here, reason, how_ended and change below) as "", never as
 * NULL. */
struct tape_connection {
	uint64_t id;              /* from 1; given by the writer */
	uint32_t stream;          /* 0: of no stream (discovery, documents) */
	const char *purpose;      /* "list", "watch", "watchlist", "probe", "discovery" */
	const char *target;       /* path and query as requested */
	const char *server;       /* host:port reached */
	const char *http_version; /* "1.1", "2" */
	bool tls;
	const char *start_rv;
	int64_t timeout_seconds; /* as requested, -1 none */
	int64_t begin_ns, first_byte_after_ns, duration_ns;
	uint64_t first_seq, last_seq; /* events it delivered; 0 if none */
	const char *end_reason;       /* NULL while it runs; words in FORMAT.md */
	int http_status, retry_after_s, curl_code, os_errno, h2_error;
	const char *error_status; /* Status JSON of an ERROR event or an error body */
	const char *content_type, *audit_id, *server_date;
	uint64_t bytes, events, bookmarks;
	const char *last_rv;
	struct slice tail;       /* bytes of an unfinished last line */
	const char *next_action; /* "rewatch", "relist", "retry", "stop" */
	int64_t next_delay_ns;
};

/* What it delivered is written when it ends: of one that runs, or whose recorder died, nobody knows it. */
static inline bool tape_connection_is_counted(const struct tape_connection *c)
{
	return c->end_reason && strcmp(c->end_reason, "recorder_died") != 0;
}

enum mark_kind {
	MARK_LIST = 0, /* a list is complete: the stream's state is that of rv */
	MARK_BOOKMARK = 1,
	MARK_INITIAL_END = 2, /* the annotated bookmark: the state is that of rv */
	MARK_ERROR = 3,       /* an ERROR event; object is the Status */
};

struct tape_mark {
	uint64_t after_seq; /* given by the writer */
	int64_t time_ns;
	enum mark_kind kind;
	uint32_t stream;
	uint64_t connection;
	struct slice rv;
	struct slice object; /* exact bytes, empty for MARK_LIST */
};

/* The relation of the two clocks, until the next row. */
struct tape_clock {
	int64_t time_ns, mono_ns; /* of one moment */
	const char *boot_id;      /* monotonic times of another boot do not compare */
};

/* An interval in which a stream was not watched. */
struct tape_gap {
	uint64_t id; /* from 1; given by the writer */
	uint32_t stream;
	uint64_t begin_seq, end_seq;           /* last seq before it; last seq of the events that closed it */
	int64_t begin_ns, end_ns, duration_ns; /* duration on the monotonic clock, -1 across a restart */
	const char *from_rv, *to_rv;
	const char *reason;    /* end reason of the connection before */
	const char *how_ended; /* "rewatch", "relist", "restart", "epoch", "open" */
	uint64_t connection_before, connection_after;
	uint64_t modified, added, deleted, recreated, unchanged;
};

/* One difference that a relist after a gap showed. */
struct tape_missed {
	uint64_t gap;
	const char *change; /* "modified", "added", "deleted", "recreated" */
	uint32_t resource;
	struct slice namespace, name, uid, old_uid, rv, old_rv;
};

/* What the server says about itself: discovery, /version, OpenAPI. */
struct tape_document {
	uint64_t after_seq; /* given by the writer */
	int64_t time_ns;
	const char *path;    /* "/api", "/apis/apps/v1", "/version" */
	const char *variant; /* "" or the requested form beside application/json: "aggregated" */
	int http_status;
	const char *content_type, *etag;
	struct slice body;
	/* Where a reader found it, and the body's claimed length. */
	int64_t id, raw_bytes;
	uint32_t segment;
};

const char *event_type_name(enum event_type type); /* "ADDED" */
bool event_type_parse(struct slice name, enum event_type *ret);
const char *event_origin_name(enum event_origin origin); /* "list" */
bool event_origin_parse(struct slice name, enum event_origin *ret);
const char *mark_kind_name(enum mark_kind kind); /* "bookmark" */
bool mark_kind_parse(struct slice name, enum mark_kind *ret);

#endif
