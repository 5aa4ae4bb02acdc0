/*
 * tape_model.h: a small made-up cluster whose whole history is kept in memory, to compare a tape with. The
 * history follows from the seed alone: objects of three resources in a few namespaces (one name of which
 * sorts before another's slash), versions that grow, sizes on both sides of CHAIN_MIN_BYTES, deletions and
 * recreations.
 */
#ifndef TESTS_UNIT_TAPE_MODEL_H
#define TESTS_UNIT_TAPE_MODEL_H

#include "schema/tape/reader.h"
#include "schema/tape/writer.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MODEL_KEYS      60
#define MODEL_RESOURCES 3

struct model_event {
	int64_t time_ns;
	enum event_type type;
	enum event_origin origin;
	uint32_t stream;
	unsigned key;
	char uid[40], rv[24];
	char *object;
};

struct model {
	uint64_t random;
	struct model_event *events; /* [seq - 1] */
	size_t count;
	unsigned life[MODEL_KEYS]; /* how often a key was made */
	bool live[MODEL_KEYS];
	uint32_t streams[MODEL_RESOURCES];
	uint64_t rv;
	int64_t now_ns;
	char dir[64], path[80];
};

static const char *const model_namespaces[] = {"a", "a-b", "kube-system"};

static inline uint64_t model_random(struct model *m)
{
	m->random = m->random * 6364136223846793005u + 1442695040888963407u;
	return m->random >> 33;
}

static inline const char *model_namespace(unsigned key)
{
	return key % MODEL_RESOURCES == 2 ? "" : model_namespaces[key / 3 % 3];
}

static inline void model_init(struct model *m, uint64_t seed)
{
	struct statvfs shm; /* which has 64 MB in containers, for all tests together */
	bool has_room = access("/dev/shm", W_OK) == 0 && statvfs("/dev/shm", &shm) == 0 &&
			(uint64_t)shm.f_bavail * shm.f_frsize > UINT64_C(1) << 30;

	*m = (struct model){.random = seed, .rv = 1000, .now_ns = INT64_C(1700000000000000000)};
	/* In memory where there is such a place: what is tested is what processes
	 * see, not what a disk keeps. */
	snprintf(m->dir, sizeof(m->dir), "%s/kubetape-test-XXXXXX", has_room ? "/dev/shm" : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(m->dir));
	snprintf(m->path, sizeof(m->path), "%s/x.tape", m->dir);
}

static inline void model_release(struct model *m)
{
	char command[128];

	for (size_t i = 0; i < m->count; i++)
		free(m->events[i].object);
	free(m->events);
	snprintf(command, sizeof(command), "rm -rf %s", m->dir);
	ck_assert_int_eq(system(command), 0);
}

static inline void model_make_object(struct model *m, struct model_event *e, unsigned key)
{
	size_t padding = key % 7 == 0 ? 15000 + model_random(m) % 4000 : 100 + model_random(m) % 400, n = 0;
	char *to = malloc(padding + 1024);

	n += (size_t)sprintf(to + n,
		"{\"kind\":\"K%u\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"object-%u\"", key % 3, key);
	if (*model_namespace(key))
		n += (size_t)sprintf(to + n, ",\"namespace\":\"%s\"", model_namespace(key));
	n += (size_t)sprintf(
		to + n, ",\"uid\":\"%s\",\"resourceVersion\":\"%s\"},\"spec\":{\"text\":\"", e->uid, e->rv);
	for (size_t i = 0; i < padding; i++)
		to[n++] = (char)('a' + (i * (key + 3) + (i % 97 == 0 ? m->rv : 0)) % 26);
	memcpy(to + n, "\"}}", 4);
	e->object = to;
}

/* Appends the next event of the history to the model and to the tape. */
static inline void model_step(struct model *m, struct tape_writer *w)
{
	unsigned key = (unsigned)(model_random(m) % MODEL_KEYS);
	struct model_event *e;
	struct event event;
	struct err err;
	uint64_t seq;

	m->events = realloc(m->events, (m->count + 1) * sizeof(*m->events));
	e = &m->events[m->count++];
	m->now_ns += (int64_t)(model_random(m) % 30000000);
	m->rv += 1 + model_random(m) % 3;
	*e = (struct model_event){
		.time_ns = m->now_ns, .key = key, .stream = m->streams[key % 3], .origin = ORIGIN_WATCH};
	e->type = !m->live[key] ? EVENT_ADDED : model_random(m) % 8 == 0 ? EVENT_DELETED : EVENT_MODIFIED;
	m->life[key] += e->type == EVENT_ADDED;
	m->live[key] = e->type != EVENT_DELETED;
	if (key % 5 == 0)
		snprintf(e->uid, sizeof(e->uid), "not-a-uuid-%u-%u", key, m->life[key]);
	else
		snprintf(e->uid, sizeof(e->uid), "%08x-0000-4000-8000-%012x", key, m->life[key]);
	snprintf(e->rv, sizeof(e->rv), key == 11 ? "v%llu" : "%llu", (unsigned long long)m->rv);
	model_make_object(m, e, key);
	if (e->type == EVENT_DELETED && key % 2)
		e->origin = ORIGIN_INFERRED;
	event = (struct event){.time_ns = e->time_ns,
		.type = e->type,
		.origin = e->origin,
		.stream = e->stream,
		.rv = slice_of(e->rv),
		.flags = key % 3 == 1 ? EVENT_TYPED : 0};
	ck_assert_ok(tape_writer_append(w, &event, slice_of(e->object), &seq, &err), &err);
	ck_assert_uint_eq(seq, m->count);
}

static inline void model_register(struct model *m, struct tape_writer *w)
{
	static char *const names[] = {"pods", "deployments", "nodes"};
	struct err err;

	for (unsigned i = 0; i < MODEL_RESOURCES; i++) {
		struct tape_resource resource = {.apigroup = i == 1 ? (char[]){"apps"} : (char[]){""},
			.version = (char[]){"v1"},
			.resource = names[i],
			.kind = names[i],
			.namespaced = i != 2};
		struct tape_stream stream = {.namespace = (char[]){""},
			.label_selector = (char[]){""},
			.field_selector = (char[]){""}};

		ck_assert_ok(tape_writer_resource(w, &resource, &stream.resource, &err), &err);
		ck_assert_ok(tape_writer_stream(w, &stream, &m->streams[i], &err), &err);
	}
}

static inline struct tape_writer *model_open(struct model *m, const struct tape_writer_options *options)
{
	struct tape_writer *w;
	struct err err;

	ck_assert_ok(tape_writer_open(m->path, options, &w, &err), &err);
	model_register(m, w);
	return w;
}

static inline void model_steps(struct model *m, struct tape_writer *w, unsigned steps, unsigned flush_every)
{
	struct err err;

	for (unsigned i = 0; i < steps; i++) {
		model_step(m, w);
		if (i % flush_every == flush_every - 1)
			ck_assert_ok(tape_writer_flush(w, &err), &err);
	}
}

static inline void model_check_event(const struct model *m, const struct event *e, struct slice object)
{
	const struct model_event *want = &m->events[e->seq - 1];

	ck_assert_uint_ge(e->seq, 1);
	ck_assert_uint_le(e->seq, m->count);
	ck_assert_int_eq(e->time_ns, want->time_ns);
	ck_assert_int_eq(e->type, want->type);
	ck_assert_int_eq(e->origin, want->origin);
	ck_assert_uint_eq(e->stream, want->stream);
	ck_assert_int_eq(e->flags, want->key % 3 == 1 ? EVENT_TYPED : 0);
	ck_assert_slice_eq(e->uid, want->uid);
	ck_assert_slice_eq(e->rv, want->rv);
	ck_assert_slice_eq(e->namespace, model_namespace(want->key));
	ck_assert_slice_eq(object, want->object);
}

/* The live objects after seq, by key: their seq, 0 for none. */
static inline void model_state(const struct model *m, uint64_t seq, uint64_t live[MODEL_KEYS])
{
	memset(live, 0, MODEL_KEYS * sizeof(*live));
	for (uint64_t i = 0; i < seq; i++)
		live[m->events[i].key] = m->events[i].type == EVENT_DELETED ? 0 : i + 1;
}

#endif
