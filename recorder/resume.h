/*
 * resume.h: where a stream resumes after its watch ended, and which events it already had.
 *
 * The resume point is the resourceVersion of the last list, event or bookmark. One resourceVersion can carry
 * many events (all objects of an expired etcd lease are deleted at one), so that a watch that broke after a
 * DELETED may have had only a part of them. It then resumes from the version before, and (UID,
 * resourceVersion, type) identifies repeated events. A list or a bookmark closes the group. If the server has
 * forgotten the earlier version (410), the later one is tried before the stream lists again.
 */
#ifndef RECORDER_RESUME_H
#define RECORDER_RESUME_H

#include "schema/tape/event.h"

#define RESUME_RV_BYTES 48

struct resume {
	char rv[RESUME_RV_BYTES];     /* "" before the first list */
	char before[RESUME_RV_BYTES]; /* the distinct one before; "" when not known or refused */
	bool group_open, last_deleted;
	uint64_t *members; /* of the open group, hashes of UID and type */
	size_t member_count, member_cap;
};

enum resume_verdict {
	RESUME_NEW,
	RESUME_REPEAT,   /* recorded already */
	RESUME_BACKWARD, /* a resourceVersion below the last: a repetition, or another life of the cluster */
};

void resume_release(struct resume *r);

/* A list or a bookmark said that everything up to rv is known. Not-a-number versions are kept as they are. */
void resume_set(struct resume *r, struct slice rv);

/* Compares an event with what has been recorded; changes nothing. */
enum resume_verdict resume_judge(
	const struct resume *r, enum event_type type, struct slice uid, struct slice rv);

/* An event was recorded. */
void resume_event(struct resume *r, enum event_type type, struct slice uid, struct slice rv);

/* The version to watch from, "" for none. */
const char *resume_point(const struct resume *r);

/* The server answered 410 to resume_point. True: there is a later point to try. */
bool resume_expired(struct resume *r);

/* Forgets everything: the next thing is a list. */
void resume_forget(struct resume *r);

#endif
