/*
 * small_tape.h: a tape of a few pods and nodes, event by event and row by row, each at a time that the test
 * chooses. Times are seconds after SMALL_BEGIN_NS.
 */
#ifndef TESTS_UNIT_SMALL_TAPE_H
#define TESTS_UNIT_SMALL_TAPE_H

#include "schema/tape/reader.h"
#include "schema/tape/writer.h"
#include "tests/unit/unit.h"

#include <stdio.h>

#define SMALL_BEGIN_NS INT64_C(1700000000000000000) /* 2023-11-14T22:13:20Z */

struct small_tape {
	char dir[64], path[80];
	struct tape_writer *writer;
	uint32_t pods, nodes; /* streams */
	uint64_t rv;
};

static struct err small_err;

static inline int64_t small_ns(double seconds)
{
	return SMALL_BEGIN_NS + (int64_t)(seconds * 1e9);
}

static inline uint32_t small_stream(struct small_tape *s, char *resource, char *kind, char *namespace)
{
	struct tape_resource r = {
		.apigroup = "", .version = "v1", .resource = resource, .kind = kind, .namespaced = true};
	struct tape_stream stream = {.namespace = namespace, .label_selector = "", .field_selector = ""};
	uint32_t id;

	ck_assert_ok(tape_writer_resource(s->writer, &r, &stream.resource, &small_err), &small_err);
	ck_assert_ok(tape_writer_stream(s->writer, &stream, &id, &small_err), &small_err);
	return id;
}

static inline void small_open_with(struct small_tape *s, const struct tape_writer_options *options)
{
	*s = (struct small_tape){.rv = 100};
	snprintf(s->dir, sizeof(s->dir), "/tmp/kubetape-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(s->dir));
	snprintf(s->path, sizeof(s->path), "%s/x.tape", s->dir);
	ck_assert_ok(tape_writer_open(s->path, options, &s->writer, &small_err), &small_err);
	s->pods = small_stream(s, "pods", "Pod", "");
	s->nodes = small_stream(s, "nodes", "Node", "");
}

static inline void small_open(struct small_tape *s)
{
	small_open_with(s, NULL);
}

/* Of a new object, whose resourceVersion is one more than the last. */
static inline void small_event(struct small_tape *s, uint32_t stream, double at, enum event_origin origin)
{
	struct event e = {.time_ns = small_ns(at), .type = EVENT_ADDED, .origin = origin, .stream = stream};
	char object[300];

	s->rv++;
	snprintf(object, sizeof(object),
		"{\"kind\":\"%s\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"o%llu\",\"namespace\":\"n\",\"uid\":\"u%llu\","
		"\"resourceVersion\":\"%llu\"}}",
		stream == s->nodes ? "Node" : "Pod", (unsigned long long)s->rv, (unsigned long long)s->rv,
		(unsigned long long)s->rv);
	ck_assert_ok(tape_writer_append(s->writer, &e, slice_of(object), NULL, &small_err), &small_err);
}

static inline void small_mark(
	struct small_tape *s, uint32_t stream, double at, enum mark_kind kind, const char *rv)
{
	struct tape_mark m = {.time_ns = small_ns(at), .kind = kind, .stream = stream, .rv = slice_of(rv)};

	ck_assert_ok(tape_writer_mark(s->writer, &m, &small_err), &small_err);
}

/* length < 0: the end is not known; reason NULL: it runs. Returns its id. */
static inline uint64_t small_watch(
	struct small_tape *s, uint32_t stream, double at, double length, const char *reason)
{
	struct tape_connection c = {.stream = stream,
		.purpose = "watch",
		.begin_ns = small_ns(at),
		.duration_ns = length < 0 ? -1 : (int64_t)(length * 1e9),
		.http_status = 200,
		.end_reason = reason};

	ck_assert_ok(tape_writer_begin_connection(s->writer, &c, &small_err), &small_err);
	if (reason)
		ck_assert_ok(tape_writer_end_connection(s->writer, &c, &small_err), &small_err);
	return c.id;
}

/* A clock for tape_writer_options that a test sets; wall time after SMALL_BEGIN_NS. */
struct small_clock {
	int64_t wall_s, mono_s;
};

static inline int64_t small_clock_wall(void *context)
{
	return small_ns((double)((const struct small_clock *)context)->wall_s);
}

static inline int64_t small_clock_mono(void *context)
{
	return ((const struct small_clock *)context)->mono_s * NS_PER_S;
}

static inline struct clock small_clock_source(struct small_clock *c)
{
	return (struct clock){small_clock_wall, small_clock_mono, c};
}

/* Closes the writer and opens the tape. */
static inline struct tape *small_read(struct small_tape *s)
{
	struct tape *t;

	if (s->writer)
		ck_assert_ok(tape_writer_close(s->writer, &small_err), &small_err);
	s->writer = NULL;
	ck_assert_ok(tape_open(s->path, &t, &small_err), &small_err);
	return t;
}

static inline void small_release(struct small_tape *s)
{
	char command[128];

	tape_writer_abandon(s->writer);
	snprintf(command, sizeof(command), "rm -rf %s", s->dir);
	ck_assert_int_eq(system(command), 0);
}

#endif
