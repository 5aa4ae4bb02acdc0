/*
 * push.h: pushes a tape to a store. The unit is the sealed segment, which never changes: each is written
 * once, on the condition that no object has its name yet, and after it the manifest that names it
 * (manifest.h). ClickHouse gets the rows of each segment, and after them a row that names it (house.h). A
 * push that was killed at any moment resumes where it was.
 */
#ifndef RECORDER_PUSH_PUSH_H
#define RECORDER_PUSH_PUSH_H

#include "recorder/push/manifest.h"

struct push_options {
	const char *tape_path;
	const char *url;     /* s3://BUCKET/PREFIX, or as in clickhouse.h */
	const char *cluster; /* NULL: the tape's name */
	struct s3_options store;
	/* How far it is, in bytes of segments; non-zero stops. May be NULL. */
	int (*progress)(void *context, uint64_t done, uint64_t total);
	/* A sentence about what the store had lost and gets again, or not. May be NULL. */
	void (*tell)(void *context, const char *sentence);
	void *context;
};

struct push;

/* Looks for the tape and reads the manifest; where that is missing or torn, it is made anew from what the store has (stock.h),
 * and written by push_run. ERR_USAGE, ERR_NOT_FOUND no tape, ERR_CORRUPT, and what s3.h
 * says. Everything is borrowed for the life of the push. */
int push_open(const struct push_options *options, struct push **ret, struct err *err) MUST_CHECK;
void push_close(struct push *p); /* accepts NULL */

struct push_figures {
	uint64_t segments, bytes;                 /* written by this push, so far */
	uint64_t stored_segments, stored_bytes;   /* that the store has of the tape */
	uint64_t waiting_segments, waiting_bytes; /* sealed here, and not there */
	uint64_t lost_segments;                   /* removed here before they were there, all together */
	uint64_t damaged_segments;                /* not pushed: their sums do not fit */
	uint64_t missing_segments; /* named in the manifest, and neither in the store nor here */
	uint32_t through;          /* the store has every segment up to this number that is here or was */
	int64_t oldest_waiting_ns; /* wall clock: when the oldest of those that wait was sealed; 0: none waits */
	bool open;                 /* a writer holds the tape: there will be more */
};

/* Pushes the sealed segments that the store does not have; the first call also asks it whether it still has those that the manifest
 * names. If nobody writes the tape, and a killed writer
 * left its last segment open, that is sealed first. If a segment is damaged the others are pushed, and
 * ERR_CORRUPT reports it at the end. May be called again when there is more. */
int push_run(struct push *p, struct err *err) MUST_CHECK;

/* Of the last push_run, as far as it came. */
struct push_figures push_figures(const struct push *p);

/* ERR_USAGE for what names no place that a tape can be pushed to. */
int push_check_url(const char *url, struct err *err) MUST_CHECK;

/* s3://BUCKET/PREFIX/cluster=CLUSTER/tape=ID, or the database's; borrowed. */
const char *push_url(const struct push *p);

#endif
