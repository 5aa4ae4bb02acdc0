/*
 * world.h: the state of the cluster at the replay's position, one collection for each recorded resource. The
 * clock applies events; requests read. The objects' bytes stay on the tape.
 */
#ifndef REPLAYER_WORLD_H
#define REPLAYER_WORLD_H

#include "replayer/world/change.h"
#include "replayer/world/history.h"
#include "replayer/world/live_set.h"
#include "replayer/world/marks.h"
#include "replayer/world/overlay.h"

struct table_column;
struct watch_index;

struct collection {
	struct tape_resource resource; /* strings are the tape's */
	bool custom;                   /* of a custom resource */
	bool served;                   /* its first list is complete at the position: it can be asked for */
	uint64_t rv;                   /* of a list taken now: not below any version of it seen so far */
	bool shares_counter;           /* see counter.h */
	bool defined;                  /* by a CRD that a program wrote; see crd.h */
	bool undefined;                /* it was served, and a program has deleted its CRD */
	uint64_t next_seq, next_rv;    /* its first event after the position, once it was looked for */
	uint64_t shown_rv;             /* the highest rv before the last move */
	struct live_set live;
	struct history history;
	struct watch_index *watches; /* those that are running; NULL while there never was one; see watch.h */
	struct table_column *columns; /* of a custom resource, once a table was asked for; see table.h */
	uint64_t columns_seq;         /* of the CRD version they were made from */
	void (*columns_free)(struct table_column *columns); /* as its creator says */
	/* Programs' writes: the names that no longer follow the tape (deleted ones, too), each with the seq
	 * of its last version, and the highest resourceVersion that a write or an event after one took. */
	struct live_set written;
	uint64_t written_rv;
	struct live_set absorbed; /* what absorbed writes made and deleted; see world_remember */
};

/* Events are kept without a cache by the API server, which shows in a few places. */
bool collection_is_uncached(const struct collection *c);

/* A collection as it was at an older position. */
struct snapshot {
	uint32_t refs;
	uint32_t resource;
	uint64_t rv;
	struct live_set live;
	struct snapshot *next; /* of the world's list of those kept */
};

struct world {
	struct tape *tape;
	const struct marks *marks;
	struct change_cache *changes;
	struct collection *collections; /* by resource id; an unused id has an empty name */
	size_t count, recorded_count;   /* recorded: those of the tape; after them, those that were added */
	struct overlay *overlay;
	size_t written_max;    /* bytes of what programs wrote; 0: any number */
	size_t written_names;  /* of objects, also of deleted ones */
	bool told_full;        /* the log has said that there is no more room */
	struct rebase *rebase; /* of the times in objects; NULL: as recorded */
	struct buf moved;      /* an object with another version, or other times, than on the tape */
	size_t window;         /* of each history */
	uint64_t seq;          /* the position: everything up to this event has been applied */
	uint64_t untold;  /* counts how often live sets changed without a change: moves, items of lists */
	int64_t time_ns;  /* tape time of the last applied event */
	uint64_t counter; /* the largest version shown by resources that share a counter */
	uint64_t shown_counter;     /* the highest counter before the last move */
	uint64_t final_counter;     /* that it has at the event final_seq; see reach.c */
	uint64_t final_seq;         /* 0: not looked for */
	struct snapshot *snapshots; /* the latest few, newest first */
};

/* The world at the position `seq`. window: events of each resource that can be watched from the past, once
 * they have gone by; of what lies before the position, or before one that is jumped to, the last 131,072
 * events of all resources. Borrows tape and marks. */
int world_open(struct tape *tape, const struct marks *marks, uint64_t seq, size_t window, struct world **ret,
	struct err *err) MUST_CHECK;
void world_close(struct world *w);

/* From now on times in objects are moved, so that this time of the tape is now. Each call sets a new present.
 * Objects that programs wrote, and data already sent, do not change. */
void world_rebase(struct world *w, int64_t tape_ns);

/* Moves the world to another position. Collections stay at their addresses, but get new contents, and numbers
 * in their histories restart. After a failure the world cannot be used. */
int world_seek(struct world *w, uint64_t seq, struct err *err) MUST_CHECK;

/* NULL if it is not on the tape. */
struct collection *world_find(
	struct world *w, struct slice group, struct slice version, struct slice resource);
struct collection *world_collection(struct world *w, uint32_t resource);

/* A resource that is not on the tape, with nothing in it and the cluster's version at the position; the
 * strings are copied. NULL if there are WORLD_ADDED_MAX of them already. */
#define WORLD_ADDED_MAX 2048
struct collection *world_add(struct world *w, const struct tape_resource *r);

/* Applies the next event. Returns its number in the collection's history, or -1 if watchers do not get it: it
 * only completes a state (an item of a list), or a program wrote an object of that name. If writes have taken
 * the event's resourceVersion, *c is replaced by the same change with a later one. */
int64_t world_apply_change(struct world *w, struct change **c);
void world_apply_mark(struct world *w, const struct mark *m);

/* Raises the collection's version to the cluster's counter, as a request to the API server does, as far as
 * the collection's next event lies after that. Before anything is answered from it. */
void world_catch_up(struct world *w, struct collection *c);

/* The state of a resource when its version was rv: not below the history's floor, not above collection->rv.
 * The caller gives the reference back. */
int world_snapshot(struct world *w, struct collection *c, uint64_t rv, struct snapshot **ret,
	struct err *err) MUST_CHECK;
void snapshot_unref(struct snapshot *s);

/* The version that the resource had at that time, but not one below the history's floor. */
int world_version_at(struct world *w, const struct collection *c, int64_t time_ns, uint64_t *ret,
	struct err *err) MUST_CHECK;

/* The version that the next write takes. */
uint64_t world_next_rv(const struct collection *in);

/* Whether there is room for an object of this many bytes, of `v` namespace, name and type. There always is for
 * a deletion, and for what takes no more than the version before. */
bool world_has_room(
	struct world *w, const struct collection *in, const struct overlay_version *v, size_t bytes);

/* A program's write: of `v` namespace, name and type count; the object has the next version. Returns its
 * number in the history and the change, whose reference the caller owns. */
int64_t world_write(struct world *w, struct collection *in, const struct overlay_version *v,
	struct slice object, struct change **ret);

/* Lays the object that is shown under that name over the tape, as it is and unseen by anybody, so that later events of
 * the tape are hidden (see `written`). part: as of a version. */
int world_adopt(struct world *w, struct collection *in, struct slice namespace, struct slice name,
	struct slice part, struct err *err) MUST_CHECK;

/* From now on events of the tape are hidden for a name that nobody has now, as if a program had deleted its object; if
 * programs have written to the name, they already are. */
void world_hide(struct world *w, struct collection *in, struct slice namespace, struct slice name);

/* Keeps the result of an absorbed write, outside of lists and watches, replacing an earlier one under its
 * name. Of `v` it uses namespace, name, type and by. The result is dropped when the tape has an event of the
 * object; a deletion is dropped at once if the tape has no object that it would hide. */
void world_remember(
	struct world *w, struct collection *in, const struct overlay_version *v, struct slice object);

/* The kept result; NULL if there is none, or the tape has moved on. */
const struct overlay_version *world_remembered(
	const struct world *w, const struct collection *in, struct slice namespace, struct slice name);

/* Call now and then: if nothing was read from the tape since the last call, frees what is kept decoded.
 * Borrowed data become invalid. True if something was freed. */
bool world_rest(struct world *w);

/* The object of a live entry; borrowed until the next object is read from the tape. */
int world_object(struct world *w, uint64_t seq, struct slice *ret, struct err *err) MUST_CHECK;

#endif
