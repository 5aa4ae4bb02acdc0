/*
 * extent.h: a run of events with an index, in memory. The unit in which a tape is sorted, packed and cached.
 *
 * A *hot* extent grows by extent_add, in arrival order, and has its objects' bytes. extent_sort orders its
 * objects by (resource, namespace, name, uid) and gives the layout: the events by (object, seq). A *sealed*
 * extent is the same thing decoded from a segment's index (pack.h), sorted, without bytes.
 */
#ifndef SCHEMA_TAPE_EXTENT_H
#define SCHEMA_TAPE_EXTENT_H

#include "schema/tape/event.h"

/* Bits of a head: how an event came, in one byte, as in the hot records and in the index. */
#define HEAD_TYPE_MASK    0x03u
#define HEAD_ORIGIN_SHIFT 2
#define HEAD_ORIGIN_MASK  0x1cu
#define HEAD_TYPED        0x20u
#define HEAD_RV_GIVEN     0x40u /* hot records only: the rv is not the object's */

struct extent_event {
	uint64_t seq;
	int64_t time_ns;
	uint64_t rv;     /* the number, or with rv_is_text an index into texts */
	uint32_t object; /* index into objects */
	uint32_t stream;
	uint32_t length; /* of the object's bytes */
	uint32_t block;  /* sealed: number of the block in the extent */
	uint32_t offset; /* of the object's bytes: in the decoded block, or in `bytes` */
	uint8_t head;
	bool rv_is_text;
};

struct extent_object {
	uint32_t resource;
	uint32_t first, count; /* its events in the layout; valid once sorted */
	struct slice namespace, name, uid;
};

struct extent {
	unsigned refs;
	bool sorted;
	struct extent_event *events; /* in the order of seq */
	size_t event_count, event_cap;
	struct extent_object *objects;
	size_t object_count, object_cap;
	bool no_chains;   /* sealed: large objects lie in packs as well (pack.h) */
	uint32_t *layout; /* event indices by (object, seq); NULL until sorted */
	struct slice *texts;
	size_t text_count;
	uint64_t raw_bytes; /* sum of lengths */
	int64_t min_time_ns, max_time_ns;
	struct buf bytes; /* hot: the objects, one after the other */
	size_t room;      /* of bytes' memory, this much was filled before */

	struct arena *arena; /* what the slices point into */
	size_t kept_bytes;   /* in the arena */
	uint32_t *slots;     /* hash of objects, open addressing, index + 1 */
	size_t slot_count;
};

struct extent *extent_new(void);
/* Moves the memory for events, objects and bytes, not its contents, from an extent that is finished: fresh
 * pages cost more than anything else in appending. */
void extent_take_room(struct extent *x, struct extent *from);
/* The memory of the bytes: the most that was ever in that buffer. */
size_t extent_memory(const struct extent *x);
/* Gives back what of it is not used now. */
void extent_trim(struct extent *x);
struct extent *extent_ref(struct extent *x);
void extent_unref(struct extent *x); /* NULL is fine */

/* Copies bytes to where they live as long as the extent. */
struct slice extent_keep(struct extent *x, struct slice bytes);

/* Appends an event whose identity (resource, namespace, name, uid, rv) is set in e. seq must exceed the last
 * one's. Fails with ERR_TOO_LARGE if the bytes would exceed LIMIT_CHUNK_BYTES, or the events or their memory
 * their maximum; nothing was added then. */
int extent_add(struct extent *x, const struct event *e, struct slice object, struct err *err) MUST_CHECK;
/* Like it, for an object that is already in x->bytes. */
int extent_add_placed(
	struct extent *x, const struct event *e, size_t offset, size_t length, struct err *err) MUST_CHECK;

/* The memory of events, objects and names, without the objects' bytes: at most LIMIT_EXTENT_MEMORY. */
size_t extent_index_memory(const struct extent *x);

/* For the decoder: room for counts known beforehand, and an rv as text. */
void extent_reserve(struct extent *x, size_t events, size_t objects);
uint64_t extent_add_text(struct extent *x, struct slice text);

void extent_sort(struct extent *x);

/* The event's resourceVersion: in the extent, or, a number, written to `text`. */
#define RV_TEXT_BYTES 24
struct slice extent_event_rv(const struct extent *x, const struct extent_event *e, char text[RV_TEXT_BYTES]);

/* Fills e from event i. Text rvs and names point into the extent; a numeric rv is written to rv_text. */
void extent_event_get(const struct extent *x, size_t i, char rv_text[RV_TEXT_BYTES], struct event *ret);

/* Index of the event with that seq, or of the first one after it; event_count if there is none. */
size_t extent_find_seq(const struct extent *x, uint64_t seq);

/* Objects of one key, sorted extents only: *ret_end is one past the last; returns the first. Several when the
 * key was deleted and made again. */
size_t extent_find_key(const struct extent *x, uint32_t resource, struct slice namespace, struct slice name,
	size_t *ret_end);

/* (resource, namespace, name) bytewise; and with the uid, the order of objects. */
int extent_compare_key(const struct extent_object *a, const struct extent_object *b);
int extent_compare_object(const struct extent_object *a, const struct extent_object *b);

static inline uint64_t extent_first_seq(const struct extent *x)
{
	return x->event_count ? x->events[0].seq : 0;
}

static inline uint64_t extent_last_seq(const struct extent *x)
{
	return x->event_count ? x->events[x->event_count - 1].seq : 0;
}

/* True for a head that this version of the format can have. */
static inline bool head_is_known(uint64_t head)
{
	return head < 0x80 && (head & HEAD_TYPE_MASK) <= EVENT_DELETED &&
	       (head & HEAD_ORIGIN_MASK) >> HEAD_ORIGIN_SHIFT <= ORIGIN_INFERRED;
}

static inline uint8_t head_of(const struct event *e)
{
	return (uint8_t)((unsigned)e->type | (unsigned)e->origin << HEAD_ORIGIN_SHIFT |
			 (e->flags & EVENT_TYPED ? HEAD_TYPED : 0));
}

#endif
