/*
 * picture.h: the numbers behind a picture of a tape: lanes of objects with their states and marks, the number
 * of events over time, gaps, watches, and the way from one change to the next.
 *
 * A picture reads each object of the tape once, in the order of storage and in steps (picture_advance), and
 * keeps the data for lanes: 16 bytes an event. After that no answer decodes an object. The cost of an answer
 * depends on the pixels and lanes of its window, not on the number of events. Answers may be asked for at any
 * time; what was not read yet is missing in them (picture_share). A tape that is being recorded is followed.
 *
 * Answers are JSON, appended to a buffer; replayer/view/VIEW.md has their shapes. Times, event numbers and
 * whatever else may need 64 bits are strings in them; places in a window are pixels.
 *
 * One thread at a time.
 */
#ifndef SCHEMA_VIEW_PICTURE_H
#define SCHEMA_VIEW_PICTURE_H

#include "schema/tape/reader.h"

#define PICTURE_WIDTH_MAX 16384 /* pixels of a window */
#define PICTURE_LANES_MAX 2000  /* lanes of one answer */

struct picture;
struct writers;

int picture_open(const char *path, struct picture **ret, struct err *err) MUST_CHECK;
void picture_close(struct picture *p); /* accepts NULL */

/* Only events of this namespace (NULL: of all) and in these bounds (0: none) are in the picture. Before the
 * first step. */
void picture_bound(struct picture *p, const char *namespace, int64_t from_ns, int64_t until_ns);

/* Only events for which the SQL expression holds (schema/sql/predicate.h); the same. */
int picture_where(struct picture *p, struct slice expression, struct err *err) MUST_CHECK;

/* Reads on for about that long: 1 if there is more to read, 0 if the picture is as new as the tape was at
 * the last look. Looks for news itself, at most once a second. */
int picture_advance(struct picture *p, int64_t budget_ns, struct err *err) MUST_CHECK;

/* How much of the tape has been read, 0 to 1. */
double picture_share(const struct picture *p);

/* From when to when it goes: the tape's span in its bounds, never empty. */
void picture_span(const struct picture *p, int64_t *ret_from_ns, int64_t *ret_to_ns);

/* The tape that it reads; for reading between two steps. */
struct tape *picture_tape(struct picture *p);

/* A window: time from left to right, `width` pixels. from_ns is not INT64_MIN. */
struct picture_window {
	int64_t from_ns, to_ns;
	unsigned width;
};

enum picture_sort { PICTURE_BUSY, PICTURE_BY_NAME, PICTURE_BY_TIME };

/* Which lanes, and which of them from the top. */
struct picture_choice {
	struct picture_window window;
	enum picture_sort sort;
	size_t first, count;
	struct slice filter; /* part of a name, kind or namespace; empty: all */
	struct slice
		toggled;     /* keys of lanes, one a line, that are not open or closed as they are at first */
	struct slice writer; /* only lanes of objects that it changed, as `writers` knows; empty: all */
	struct writers *writers; /* may be NULL */
	bool all_open;
};

int picture_summary(struct picture *p, struct buf *to, struct err *err) MUST_CHECK;
int picture_density(struct picture *p, struct buf *to, struct err *err) MUST_CHECK;
int picture_lanes(
	struct picture *p, const struct picture_choice *choice, struct buf *to, struct err *err) MUST_CHECK;
int picture_gaps(
	struct picture *p, const struct picture_window *w, struct buf *to, struct err *err) MUST_CHECK;
int picture_watches(
	struct picture *p, const struct picture_window *w, struct buf *to, struct err *err) MUST_CHECK;

/* Notable events, of each kind the first few and the number: rollouts and how they went, recreations, ends
 * for lack of memory, crashes, restarts, Warnings, and what gaps hid. */
int picture_notable(struct picture *p, struct buf *to, struct err *err) MUST_CHECK;

/* Events of an object: the last one up to an event, or with seq 0 up to a time (0: none), and those before
 * and after that one. ERR_NOT_FOUND for a key that the picture does not have. */
struct picture_near {
	uint64_t at, before, after;
};
int picture_find(struct picture *p, const char *key, uint64_t seq, int64_t time_ns, struct picture_near *ret,
	struct err *err) MUST_CHECK;

#endif
