/*
 * overlay.h: what programs wrote in this replay, as versions of objects that lie over the tape. Each version
 * has a seq of its own, far above those of the tape, so that live sets, histories and changes name it as they
 * name an event; the seq also says where its bytes are.
 *
 * A resourceVersion that a write takes may be one that the tape gives to a later event. Then that event, and
 * those after it, move up: the overlay also knows which events of the tape are shown with another version
 * than their own.
 */
#ifndef REPLAYER_OVERLAY_H
#define REPLAYER_OVERLAY_H

#include "replayer/wire/blob.h"
#include "schema/tape/event.h"

#define OVERLAY_SEQ        (UINT64_C(1) << 62) /* the first seq of a version that is not the tape's */
#define OVERLAY_KEPT_BYTES (64u << 20)         /* of versions that others have replaced */

struct overlay_version {
	uint64_t seq, previous_seq; /* previous: of the version before it; 0 if there was none */
	uint64_t rv;
	enum event_type type;
	uint32_t resource;
	int64_t time_ns;
	uint64_t tape_seq; /* of a recorded object: the event that it follows; 0: a program wrote it */
	uint64_t by;       /* of an absorbed write: the program whose own reads see it; 0: nobody's */
	struct slice namespace, name; /* own: their bytes come after the struct */
	struct blob *object;          /* of a deletion, the last state */
	/* Of a recorded object, what programs wrote of it (own_part.h), own; empty: the object is theirs. */
	struct slice part;
};

struct overlay;

struct overlay *overlay_new(void);
void overlay_free(struct overlay *o); /* accepts NULL */

static inline bool overlay_has(uint64_t seq)
{
	return seq >= OVERLAY_SEQ;
}

/* Adds a version; strings and object are copied, its seq is given. Returns it,
 * borrowed until the next add. */
const struct overlay_version *overlay_add(
	struct overlay *o, const struct overlay_version *v, struct slice object);

/* NULL if it was dropped; borrowed until the next add. */
const struct overlay_version *overlay_find(const struct overlay *o, uint64_t seq);

/* The memory of a version; 0 for one that has been replaced, and for none. And that of all versions. */
size_t overlay_cost(const struct overlay *o, uint64_t seq);
size_t overlay_bytes(const struct overlay *o);

/* That version is shown no more but in histories: it may be dropped when many have gathered. */
void overlay_supersede(struct overlay *o, uint64_t seq);

/* Drops the oldest superseded version if there are too many bytes of them. Returns its seq and resource, or
 * 0; the caller takes it out of the resource's history. Call again until 0. */
uint64_t overlay_drop(struct overlay *o, uint32_t *ret_resource);

/* An event of the tape that is shown with another version. */
void overlay_move(struct overlay *o, uint64_t seq, uint64_t rv);
uint64_t overlay_moved(const struct overlay *o, uint64_t seq); /* 0: with its own */

/* All events of the tape that were shown with another version, whether they moved up or followed what programs had
 * written; in that order, borrowed until the next add or move. */
struct overlay_shown {
	uint64_t seq, rv;
};
const struct overlay_shown *overlay_shown(const struct overlay *o, size_t *ret_count);

#endif
