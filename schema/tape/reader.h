/*
 * reader.h: reading a tape, finished or being recorded by another process.
 *
 * A tape opened for reading is a fixed view: the events that were durable at tape_open or the last
 * tape_refresh. Nothing that a reader does disturbs the writer. Memory is bounded by the caches
 * (tape_set_cache) and does not grow with the tape. Not thread-safe; several readers of one tape are fine.
 * Damage found on the way is ERR_CORRUPT with file, place, found and expected; other parts stay readable.
 */
#ifndef SCHEMA_TAPE_READER_H
#define SCHEMA_TAPE_READER_H

#include "schema/tape/event.h"

struct tape;

/* The folder of a tape. ERR_NOT_FOUND if there is none, ERR_CORRUPT if it is not a tape, or one of a newer
 * format. Closing the tape invalidates everything borrowed from it. */
int tape_open(const char *path, struct tape **ret, struct err *err) MUST_CHECK;
void tape_close(struct tape *t); /* accepts NULL */

/* A view of one sealed segment alone; no directory is read. Its state is there only if it has one. */
int reader_open_sealed(const char *path, uint32_t number, struct tape **ret, struct err *err) MUST_CHECK;

/* Looks for what the writer has made durable since. Returns 1 if there is more than before, else 0. */
int tape_refresh(struct tape *t, struct err *err) MUST_CHECK;

/* Bytes of decoded blocks to keep, 72 MiB unless set. Ordered scans want one extent's worth. */
void tape_set_cache(struct tape *t, size_t bytes);

/* Bytes of decoded indexes to keep, 64 MiB unless set. Code that looks up one object after the other reads
 * the index of every extent that has it; if these do not fit, each is decoded again for each object. */
void tape_set_index_cache(struct tape *t, size_t bytes);

/* As it was opened. */
const char *tape_path_of(const struct tape *t);

/* Frees everything that is kept decoded: blocks, indexes, filters. Borrowed objects become invalid. */
void tape_give_back(struct tape *t);
/* Like it, if the tape was not used since the last call; true if something was freed. */
bool tape_rest(struct tape *t);

/* Whether a writer holds the tape now: it is being recorded, not cut off. */
bool tape_has_writer(const struct tape *t);

struct tape_info {
	/* 0 if there are no events. Of a tape that has none but begins with a state, as one that was cut out of
	 * a silence, `first_seq` is that of the event that would come next, and `last_seq` is one less. */
	uint64_t first_seq, last_seq;
	uint64_t events;                     /* last_seq - first_seq + 1 */
	int64_t first_time_ns, last_time_ns; /* of events; 0 if there are none */
	uint64_t segments, gaps, connections;
	uint64_t raw_bytes, disk_bytes;
	bool open; /* has a segment that is not sealed */
};
/* The contents of the view. */
int tape_info(struct tape *t, struct tape_info *ret, struct err *err) MUST_CHECK;

/* One file of the tape. */
struct tape_segment_info {
	uint32_t number;
	const char *file; /* its name in the tape's directory */
	bool sealed;
	uint64_t first_seq, last_seq, events; /* 0 if there are none */
	int64_t first_time_ns, last_time_ns;  /* of those events */
	uint64_t extents;                     /* parts the events are stored in, the hot one included */
	uint64_t state_objects;               /* live objects at its start */
	uint32_t state_segment;         /* the segment that has its live objects: itself, or one before */
	uint64_t raw_bytes, disk_bytes; /* of the events' objects; of the file */
	const char *program, *previous_digest; /* NULL if it does not say */
	const char *tape_id;                   /* the same in all segments of a tape */
};
/* In order; the rules for callbacks of rows below apply. */
int tape_each_segment(struct tape *t, int (*each)(void *context, const struct tape_segment_info *s),
	void *context, struct err *err) MUST_CHECK;

/* Resources and streams in the order of their ids; borrowed until tape_refresh or tape_close. NULL past the
 * end. */
const struct tape_resource *tape_resource_at(const struct tape *t, size_t index);
const struct tape_resource *tape_resource_by_id(const struct tape *t, uint32_t id);
const struct tape_stream *tape_stream_at(const struct tape *t, size_t index);
const struct tape_stream *tape_stream_by_id(const struct tape *t, uint32_t id);

/* Which events a cursor gives. All zero and empty: every event. All conditions must hold. */
struct tape_filter {
	uint64_t seq_min, seq_max;          /* inclusive; 0: no bound */
	int64_t time_min_ns, time_max_ns;   /* inclusive; 0: no bound */
	uint32_t resource;                  /* 0: any */
	const char *namespace, *name, *uid; /* NULL: any */
	/* Inclusive, compared as rv.h does; NULL: no bound. Malformed resourceVersions of events pass rv_min
	 * and not rv_max; a malformed bound does not count. */
	const char *rv_min, *rv_max;
};

enum tape_order {
	TAPE_FORWARD,  /* seq upwards */
	TAPE_BACKWARD, /* seq downwards */
	TAPE_STORED, /* extent by extent in the order of storage: (resource, namespace, name, uid, seq), where
			each block is decoded once; the fastest way to look at every object */
};

/* A walk over events. The filter's strings are copied. */
struct tape_cursor;
int tape_cursor_open(struct tape *t, const struct tape_filter *filter, enum tape_order order,
	struct tape_cursor **ret, struct err *err) MUST_CHECK;
void tape_cursor_close(struct tape_cursor *c);

/* 1 and the next event, 0 at the end (later calls may give more after tape_refresh, forward only), or
 * negative. The event's strings are valid until the next call on this cursor. */
int tape_cursor_next(struct tape_cursor *c, struct event *ret, struct err *err) MUST_CHECK;

/* The bytes of the current event's object; valid until the next call that reads an object from this tape. */
int tape_cursor_object(struct tape_cursor *c, struct slice *ret, struct err *err) MUST_CHECK;

/* In the order of storage: the highest seq of the cursor's part of the tape. All events of later parts are
 * higher. */
uint64_t tape_cursor_part_end(const struct tape_cursor *c);

/* The highest seq of the part that has the first event after `seq`, or else of the last part; 0 if there are
 * no events. */
uint64_t tape_part_end(const struct tape *t, uint64_t seq);

/* How much of the way lies after the cursor, 0 to 1: by seq, or by extents in the order of storage. */
double tape_cursor_share(const struct tape_cursor *c);

/* One object by its event's seq; same life time. ERR_NOT_FOUND for a seq that is not on the tape. */
int tape_object(struct tape *t, uint64_t seq, struct slice *ret, struct err *err) MUST_CHECK;

/* One event by seq; `keep` takes the bytes that its strings point into (it is cleared first). */
int tape_event(struct tape *t, uint64_t seq, struct event *ret, struct buf *keep, struct err *err) MUST_CHECK;

/* seq of the event before `seq` of the same resource, namespace and name; 0 if
 * there is none on the tape. */
int tape_previous(struct tape *t, uint64_t seq, uint64_t *ret_seq, struct err *err) MUST_CHECK;

/* First event with time >= time_ns, else the next that the tape would have (last_seq + 1). Wall time may step back: the answer is
 * the first seq from which on no earlier event reaches that time. */
int tape_seq_at_time(struct tape *t, int64_t time_ns, uint64_t *ret_seq, struct err *err) MUST_CHECK;

/*
 * The state at a position: the live objects after the event `seq`, of one resource or of all (0), in the
 * order in which the API server lists them (resource id, then "namespace/name" or "name" bytewise). The
 * caller frees.
 */
struct tape_live {
	uint64_t seq; /* of the event that gave this version */
	uint32_t resource;
	struct slice namespace, name, uid, rv;
};
struct tape_state {
	struct tape_live *live;
	size_t count;
	struct live_map *objects; /* what the slices point into */
};
/* ERR_TOO_LARGE if the objects take more memory than objects of an honest tape of that size can. */
int tape_state_at(
	struct tape *t, uint64_t seq, uint32_t resource, struct tape_state **ret, struct err *err) MUST_CHECK;
void tape_state_free(struct tape_state *s);

/* Rows, in the order of writing; a row that was written twice comes once, as it was last. The callback's
 * argument is borrowed for the call; a non-zero return stops the walk and is returned. */
int tape_each_mark(struct tape *t, int (*each)(void *context, const struct tape_mark *mark), void *context,
	struct err *err) MUST_CHECK;
int tape_each_connection(struct tape *t, int (*each)(void *context, const struct tape_connection *c),
	void *context, struct err *err) MUST_CHECK;
int tape_each_gap(struct tape *t, int (*each)(void *context, const struct tape_gap *gap), void *context,
	struct err *err) MUST_CHECK;
int tape_each_clock(struct tape *t, int (*each)(void *context, const struct tape_clock *clock), void *context,
	struct err *err) MUST_CHECK;
int tape_each_missed(struct tape *t, int (*each)(void *context, const struct tape_missed *missed),
	void *context, struct err *err) MUST_CHECK;

/* Without their bodies: tape_document_body() appends that of one that was given (segment, id). */
int tape_each_document(struct tape *t, int (*each)(void *context, const struct tape_document *document),
	void *context, struct err *err) MUST_CHECK;
int tape_document_body(
	struct tape *t, uint32_t segment, int64_t id, struct buf *body, struct err *err) MUST_CHECK;

/* The newest document of that path and variant that was recorded at or before after_seq (0: the newest of
 * all). body is appended to `body`, unless that is NULL; the other strings are borrowed until the next call.
 * ERR_NOT_FOUND if none. */
int tape_document(struct tape *t, const char *path, const char *variant, uint64_t after_seq,
	struct tape_document *ret, struct buf *body, struct err *err) MUST_CHECK;

#endif
