/*
 * change.h: an event on its way to watchers: its object, the object before it, and every encoding of it that
 * some watcher asked for. A change is made once and shared by reference; each encoding is made once, when the
 * first watcher needs it.
 *
 * A cache keeps the latest changes, so that watchers that lag a little need not read the tape.
 */
#ifndef REPLAYER_CHANGE_H
#define REPLAYER_CHANGE_H

#include "replayer/wire/blob.h"
#include "replayer/world/overlay.h"
#include "replayer/world/rebase.h"
#include "schema/tape/reader.h"

#define CHANGE_ENCODINGS 8 /* kept; further ones are made again each time */

struct change {
	uint32_t refs;
	uint64_t seq;
	uint64_t tape_seq; /* of a version that lies over the tape: the event that it follows; else 0 */
	uint64_t rv;       /* as a number; 0 if it is not one */
	enum event_type type;
	enum event_origin origin;
	uint32_t resource, stream;
	int64_t time_ns;
	struct slice namespace, name; /* in `keep` */
	struct slice object;          /* in `plain` */
	struct blob *plain;           /* {"type":"ADDED","object":{...}} and a line feed, as recorded */
	struct buf keep;
	/* The version before this one. Known without looking when the live set has just been changed. */
	bool previous_known;
	uint64_t previous_seq; /* 0: did not exist */
	struct blob *previous; /* its object, once asked for */
	struct {
		uint32_t key;
		struct blob *blob;
	} encodings[CHANGE_ENCODINGS];
	size_t encoding_count;
	/* Of the cache. */
	struct change *newer, *older, *next_in_bucket;
};

static inline struct change *change_ref(struct change *c)
{
	c->refs++;
	return c;
}
void change_unref(struct change *c); /* accepts NULL */

/* Makes a change from an event and its object. `rv`, unless 0, is the version it is delivered with; an
 * inferred deletion, whose object is the last known state, is given it in its metadata, too. The caller owns
 * the reference. */
struct change *change_new(const struct event *e, struct slice object, uint64_t rv);

/* The same change with another version, also in its object. The caller owns the reference. */
struct change *change_renumbered(const struct change *c, uint64_t rv);

/* Whether it is a change of that object, and not of another one of its name: by UID. */
bool change_is_of(const struct change *c, struct slice object);

/* The change as an event of the tape; facts from its object are left out if that cannot be read. Borrows from
 * the change. */
struct event change_event(const struct change *c);

/* A program's write, as a change. The caller owns the reference. */
struct change *change_of_version(const struct overlay_version *v);

/* Appends a copy of the object with another metadata.resourceVersion. */
int object_with_rv(struct slice object, uint64_t rv, struct buf *to, struct err *err) MUST_CHECK;

/* Moves the times in its object (rebase.h), before anybody else has seen the change. NULL moves none. */
void change_rebase(struct change *c, const struct rebase *r);

/* The encoding kept under that key, borrowed; NULL if there is none. */
struct blob *change_encoding(const struct change *c, uint32_t key);

/* Keeps an encoding if there is room; takes its own reference. */
void change_keep_encoding(struct change *c, uint32_t key, struct blob *b);

struct change_cache;
/* Borrows both. */
struct change_cache *change_cache_new(struct tape *tape, const struct overlay *overlay, size_t max_bytes);
void change_cache_free(struct change_cache *cc);

/* From now on the times in objects that are read from the tape are moved; drops the cache. Borrowed; NULL
 * moves none. */
void change_cache_rebase(struct change_cache *cc, const struct rebase *r);

/* Drops the cache. */
void change_cache_forget(struct change_cache *cc);

/* The change of that seq, from the cache, the overlay or the tape; the caller owns the reference. rv as in
 * change_new. */
int change_cache_get(
	struct change_cache *cc, uint64_t seq, uint64_t rv, struct change **ret, struct err *err) MUST_CHECK;

/* Adds a change that was made elsewhere, in place of one with the same seq; takes its own reference. */
void change_cache_add(struct change_cache *cc, struct change *c);

/* The seq of the version before this change, into c->previous_seq: 0 if it did not exist. */
int change_find_previous(struct change_cache *cc, struct change *c, struct err *err) MUST_CHECK;

/* The object before this change: 1 and its bytes (borrowed from the change), 0 if it did not exist. */
int change_previous(struct change_cache *cc, struct change *c, struct slice *ret, struct err *err) MUST_CHECK;

#endif
