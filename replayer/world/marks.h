/*
 * marks.h: the recorder's notes between the events that a replay needs: when a list was complete, and the
 * resourceVersions of bookmarks. All of a tape's marks are held in memory (a stream has about one a minute).
 */
#ifndef REPLAYER_MARKS_H
#define REPLAYER_MARKS_H

#include "schema/tape/reader.h"

struct mark {
	uint64_t after_seq;
	int64_t time_ns;
	uint64_t rv; /* 0: none */
	uint32_t stream, resource;
	enum mark_kind kind;
};

struct marks {
	struct mark *items; /* in the order of after_seq */
	size_t count;
	/* For each resource id: the object of a recorded bookmark, which shows what a bookmark of that kind
	 * looks like; empty where none was recorded. */
	struct blob **bookmarks;
	size_t resource_count; /* largest resource id + 1 */
	uint64_t start_seq;    /* the position at which every list that was begun at first is complete */
	int64_t start_ns;      /* its time; 0 if there are no lists */
};

int marks_load(struct tape *tape, struct marks *ret, struct err *err) MUST_CHECK;
void marks_release(struct marks *m);

/* Index of the first mark that a replay has not passed when it is after the event `seq`: marks written right
 * after that event count as passed. */
size_t marks_behind(const struct marks *m, uint64_t seq);

static inline bool mark_completes_list(const struct mark *m)
{
	return m->kind == MARK_LIST || m->kind == MARK_INITIAL_END;
}

#endif
