/*
 * picture_internal.h: what picture.c, picture_build.c, picture_tree.c, picture_lanes.c, picture_bars.c,
 * picture_rows.c, picture_notable.c and picture_answers.c share: the objects of a picture and the tree that
 * shows them.
 */
#ifndef SCHEMA_VIEW_PICTURE_INTERNAL_H
#define SCHEMA_VIEW_PICTURE_INTERNAL_H

#include "schema/base/text_map.h"
#include "schema/sql/predicate.h"
#include "schema/tape/coverage.h"
#include "schema/view/object_look.h"
#include "schema/view/picture.h"

#define PICTURE_POINTS_MAX (UINT64_C(1) << 24) /* events of one picture: 256 MB */
#define BINS               1024

/* What happened to an object, in order of importance. */
enum note {
	NOTE_NONE,
	NOTE_CHANGED,
	NOTE_ADDED,
	NOTE_DELETED,
	NOTE_INFERRED, /* a deletion that was concluded after a gap */
	NOTE_SPEC,     /* its generation rose: the desired state changed */
	NOTE_RESTART,
	NOTE_WARNING,
	NOTE_MISSED, /* a gap hid a change */
	NOTE_RECREATED,
	NOTE_OOM,
	NOTE_COUNT,
};

/* One event on a lane. Times of a lane do not go back: after a step of the clock they stand still. */
struct point {
	int64_t time_ns;
	uint64_t seq : 48, note : 8,
		state : 8; /* the state after it; LOOK_STATE_COUNT: it leaves that as it is */
};

/* One object of that name after another. */
struct life {
	uint64_t first_seq;
	int64_t begin_ns;
	char *uid;
};

struct step {
	int64_t time_ns;
	uint64_t seq;
	int32_t wanted, ready;
};

/* Everything that had one name. */
struct track {
	char *key;                    /* "deployments.apps/shop/web": resource, namespace, name */
	const char *namespace, *name; /* in texts of their own */
	uint32_t resource;            /* 0: an owner that is not on the tape */
	uint32_t owner;               /* place of the owner's track + 1; 0: none */
	uint32_t resource_len;        /* of the key's first part */
	struct point *points;
	struct life *lives;
	struct step *steps;
	uint32_t *loud; /* places of the points that closed lanes above show: from NOTE_RESTART on */
	uint32_t loud_count, point_count, life_count, step_count, busy; /* busy: events seen on the wire */
	bool unsorted;
	char *kind; /* of an owner that is not on the tape */
	int64_t generation, restarts;
	uint32_t version_life; /* which life the two belong to */
	bool oom_killed;
};

/* Events of one resource, counted in BINS equal stretches of time. */
struct bins {
	uint32_t resource;
	uint64_t total;
	uint32_t counts[BINS];
};

enum node_kind { NODE_NAMESPACE, NODE_GROUP, NODE_OBJECT };

/* A lane, open or not; in the order in which lanes are shown. */
struct node {
	enum node_kind kind;
	uint32_t depth, span; /* span: how many nodes it has below it */
	uint32_t track;       /* of an object; of a group, the first of its objects */
	uint64_t busy;
	int64_t begin_ns;
	bool matches, inside; /* the filter; something below it does */
};

struct gap_row {
	struct tape_gap gap; /* its texts are own */
	uint32_t resource;
};

struct watch_row {
	uint32_t stream;
	int64_t begin_ns, end_ns;
	int http_status;
	bool open;
	char *purpose, *end_reason;
};

struct picture {
	struct tape *tape;
	char *path, *namespace;
	int64_t from_ns, until_ns;
	struct predicate *where;
	struct tape_cursor *cursor;             /* NULL: all is read */
	uint64_t first_seq, next_seq, last_seq; /* the cursor's; what it leaves out follows at next_seq */
	uint64_t read_count, pass_count;
	int64_t looked_ns; /* when the tape was looked at last, on the monotonic clock */
	bool full;         /* there were more events than a picture takes */
	struct track *tracks;
	size_t track_count;
	uint64_t point_count;
	struct text_map places; /* tracks by their keys */
	struct buf key, plain;  /* work space */
	struct bins *bins;
	size_t bins_count;
	int64_t bins_begin_ns, bin_ns;
	struct tape_info info;
	struct tape_span span;
	struct gap_row *gaps;
	struct watch_row *watches;
	size_t gap_count, watch_count, missed_count;
	struct node *nodes;
	size_t node_count;
	enum picture_sort sort;
	bool tree_old;
	int64_t tree_made_ns, tree_cost_ns;
};

/* ---- picture_build.c: tracks ---- */

/* The track of that name, made if it is not there. `kind`: of an owner that is not on the tape. */
size_t picture_track(struct picture *p, const struct tape_resource *r, struct slice kind,
	struct slice namespace, struct slice name);
void picture_add_point(struct picture *p, size_t at, const struct point *point);
int picture_take_event(
	struct picture *p, const struct event *e, struct slice object, struct err *err) MUST_CHECK;
void picture_sort_points(struct picture *p);
void picture_release_tracks(struct picture *p);
void bins_add(struct picture *p, uint32_t resource, int64_t time_ns);

/* The last of those points at or before the time, as its place in `loud` + 1; 0: there is none. */
size_t track_last_loud_at(const struct track *t, int64_t time_ns);

/* The last point at or before the time (by_seq: that event), as its place + 1; 0: there is none. */
size_t track_last_at(const struct track *t, int64_t time_ns);

/* ---- picture_rows.c: gaps and watches ---- */

int picture_load_rows(struct picture *p, struct err *err) MUST_CHECK;
void picture_release_rows(struct picture *p);

/* ---- picture_tree.c ---- */

/* Brings the nodes into that order; does nothing as long as nothing is new. */
void picture_make_tree(struct picture *p, enum picture_sort sort);
bool node_is_open_at_first(const struct picture *p, const struct node *n);
/* "n/shop", "g/shop/configmaps", or the key of an object; the caller frees. */
char *node_key(const struct picture *p, const struct node *n);

#endif
