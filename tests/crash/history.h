/*
 * history.h: an endless history in which everything follows from an event's number alone, so that whoever
 * reads a tape can tell what must be in it without having been there.
 */
#ifndef TESTS_CRASH_HISTORY_H
#define TESTS_CRASH_HISTORY_H

#include "schema/tape/reader.h"
#include "schema/tape/writer.h"

#include <stdio.h>
#include <stdlib.h>

#define HISTORY_STREAMS    2
#define HISTORY_MARK_EVERY 10 /* after each of these events comes a mark that names it */
#define HISTORY_TEXT_BYTES 24000

struct history_event {
	struct event event;
	char object[HISTORY_TEXT_BYTES];
};

static inline uint64_t history_mix(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x7fb5d329728ea185u;
	x ^= x >> 27;
	x *= 0x81dadef4bc2dd44du;
	return x ^ x >> 33;
}

/* Objects of 12 names, a sixth of the events deletions, and somewhat more that say they add; one in ten is large. */
static inline void history_make(uint64_t seq, struct history_event *ret)
{
	uint64_t random = history_mix(seq);
	unsigned key = (unsigned)(random % 12), stream = 1 + key % HISTORY_STREAMS;
	size_t padding = random / 12 % 10 == 0 ? 16000 + random % 3000 : 50 + random % 300;
	int n = snprintf(ret->object, sizeof(ret->object),
		"{\"metadata\":{\"name\":\"n%u\",\"namespace\":\"a\",\"uid\":\"u%u\",\"resourceVersion\":\"%llu\"},\"x\":\"",
		key, key, (unsigned long long)(1000 + seq));

	for (size_t i = 0; i < padding; i++)
		ret->object[n++] = (char)('a' + (i * (key + 7) + (i % 64 == 0 ? random : 0)) % 26);
	memcpy(ret->object + n, "\"}", 3);
	ret->event = (struct event){
		.time_ns = INT64_C(1700000000000000000) + (int64_t)seq * 1000003,
		.type = random / 1000 % 30 < 5    ? EVENT_DELETED
			: random / 1000 % 30 < 11 ? EVENT_ADDED
						  : EVENT_MODIFIED,
		.origin = ORIGIN_WATCH,
		.stream = stream,
	};
}

static inline int history_register(struct tape_writer *w, struct err *err)
{
	for (unsigned i = 0; i < HISTORY_STREAMS; i++) {
		char empty[] = "", version[] = "v1", name[] = "things0";
		struct tape_resource r = {
			.apigroup = empty, .version = version, .resource = name, .kind = name};
		struct tape_stream s = {.namespace = empty, .label_selector = empty, .field_selector = empty};
		uint32_t id;

		name[6] = (char)('0' + i);
		if (tape_writer_resource(w, &r, &s.resource, err) || tape_writer_stream(w, &s, &id, err))
			return err->code;
	}
	return 0;
}

/* Appends event `seq` and what comes behind it. */
static inline int history_append(struct tape_writer *w, uint64_t seq, struct err *err)
{
	struct history_event h;
	struct tape_mark mark = {.kind = MARK_BOOKMARK, .stream = 1};
	uint64_t given;
	char rv[24];

	history_make(seq, &h);
	if (tape_writer_append(w, &h.event, slice_of(h.object), &given, err))
		return err->code;
	if (given != seq)
		return err_set(err, ERR_FAILED, "event got number %llu, expected %llu",
			(unsigned long long)given, (unsigned long long)seq);
	snprintf(rv, sizeof(rv), "%llu", (unsigned long long)seq);
	mark.rv = slice_of(rv);
	return seq % HISTORY_MARK_EVERY ? 0 : tape_writer_mark(w, &mark, err);
}

/* Reads on from *seen with the cursor to the end; every event must be the history's. */
static inline int history_check_on(struct tape_cursor *c, uint64_t *seen, struct err *err)
{
	struct event e;
	int more;

	while ((more = tape_cursor_next(c, &e, err)) > 0) {
		struct history_event h;
		struct slice object;

		history_make(++*seen, &h);
		if (tape_cursor_object(c, &object, err))
			return err->code;
		if (e.seq != *seen || e.time_ns != h.event.time_ns || e.type != h.event.type ||
			e.stream != h.event.stream || !slice_is(object, h.object))
			return err_set(err, ERR_CORRUPT, "event %llu is not what was written",
				(unsigned long long)*seen);
	}
	return more;
}

static inline int history_check_mark(void *context, const struct tape_mark *mark)
{
	uint64_t *expected = context;

	if (mark->after_seq != *expected || strtoull(mark->rv.ptr, NULL, 10) != *expected)
		return 1;
	*expected += HISTORY_MARK_EVERY;
	return 0;
}

/* The whole tape: every event and every mark up to `acked`, and nothing that is not the history's. */
static inline int history_check(const char *path, uint64_t acked, uint64_t *ret_last, struct err *err)
{
	uint64_t seen = 0, mark = HISTORY_MARK_EVERY;
	struct tape_cursor *c;
	struct tape *t;
	int failed;

	if (tape_open(path, &t, err))
		return err->code;
	failed = tape_cursor_open(t, NULL, TAPE_FORWARD, &c, err);
	if (!failed) {
		failed = history_check_on(c, &seen, err);
		tape_cursor_close(c);
	}
	if (!failed && tape_each_mark(t, history_check_mark, &mark, err))
		failed = err_set(err, ERR_CORRUPT, "a mark is not what was written, expected %llu",
			(unsigned long long)mark);
	if (!failed && (seen < acked || mark + HISTORY_MARK_EVERY <= acked))
		failed = err_set(err, ERR_CORRUPT,
			"tape ends at event %llu and before mark %llu, but %llu was acknowledged",
			(unsigned long long)seen, (unsigned long long)mark, (unsigned long long)acked);
	tape_close(t);
	*ret_last = seen;
	return failed;
}

#endif
