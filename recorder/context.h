/*
 * context.h: the state that all streams of one recording share, and their callbacks to the recorder.
 */
#ifndef RECORDER_CONTEXT_H
#define RECORDER_CONTEXT_H

#include "recorder/allowance.h"
#include "recorder/flusher.h"
#include "recorder/moderation.h"
#include "recorder/notices.h"
#include "schema/tape/writer.h"

struct stream;
struct last_words;
struct pinner;
struct redactor;

struct recorder_counters {
	uint64_t events, bytes; /* recorded by this run */
	uint64_t repeats;       /* delivered again and dropped */
	uint64_t gaps, hidden;  /* gaps that began; differences that relists found */
	uint64_t reconnects;
};

struct recorder_context {
	uv_loop_t *loop;
	struct http *http;
	struct flusher *flusher; /* gives the tape's writer */
	const char *tape_path;
	const struct clock *clock;
	struct redactor *redactor; /* NULL: Secrets are kept as they are */
	int64_t retry_delay_ns;    /* the first back-off, 0: the usual one */
	struct recorder_counters counters;
	struct allowance unfinished; /* for incomplete data that have arrived */

	struct pinner *pinner;         /* NULL: nothing is to be pinned */
	struct last_words *last_words; /* NULL: no logs are fetched */
	struct notices *notices;
	struct moderation *moderation;

	/* To the recorder. */
	void *owner;

	void (*settled)(void *owner, struct stream *s); /* its first list is on the tape */
	/* The first list, or the first watch of a stream that the tape knew, failed with that HTTP status (0:
	 * none came). */
	void (*refused)(void *owner, int status, const struct err *err);
	void (*suspect)(void *owner, const char *why);     /* this may be another cluster */
	void (*fatal)(void *owner, const struct err *err); /* the tape cannot be written any more */
};

/* Uniform in [0, 1). */
double recorder_chance(void);

#endif
