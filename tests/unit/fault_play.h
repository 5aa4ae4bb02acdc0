/* fault_play.h: a replay in small, for the tests of the faults. */
#ifndef TESTS_UNIT_FAULT_PLAY_H
#define TESTS_UNIT_FAULT_PLAY_H

#include "replayer/fault/fault.h"
#include "replayer/fault/fault_file.h"
#include "schema/base/clock.h"
#include "tests/unit/unit.h"

#include <stdio.h>

static struct err err;

static const struct tape_resource pods = {1, "", "v1", "pods", "Pod", true};
static const struct tape_resource nodes = {2, "", "v1", "nodes", "Node", false};
static const struct tape_resource deployments = {3, "apps", "v1", "deployments", "Deployment", true};

/* One replay in small: the n-th event has seq n, comes at n seconds and has version 100 + n. */
struct play {
	struct faults *f;
	struct fault_now now;
};

/* `text` is a fault file with ' for ". Positions in it are resolved as seconds, "5", without a tape. */
static inline struct play play(const char *text)
{
	char *json = xstrdup(text);
	struct fault_file file;
	struct play p = {.now = {.mono_ns = 1000 * NS_PER_S}};

	for (char *at = json; *at; at++) {
		if (*at == '\'')
			*at = '"';
		else if (*at == '`')
			*at = '\'';
	}
	ck_assert_ok(fault_file_parse(slice_of(json), "test", &file, &err), &err);
	for (size_t i = 0; i < file.count; i++) {
		if (file.rules[i].when.trigger == FAULT_AT_POSITION)
			file.rules[i].when.at_ns = strtoll(file.rules[i].when.at, NULL, 10) * NS_PER_S;
	}
	ck_assert_ok(faults_new(&file, &p.f, &err), &err);
	ck_assert_uint_eq(file.count, 0);
	free(json);
	return p;
}

static inline void move_to(struct play *p, double tape_s)
{
	int64_t tape_ns = (int64_t)(tape_s * 1e9);

	p->now.mono_ns += tape_ns - p->now.tape_ns;
	p->now.tape_ns = tape_ns;
	faults_tick(p->f, &p->now);
}

static inline struct event event_of(uint64_t seq, const struct tape_resource *resource, enum event_type type)
{
	static char versions[64][8];
	char *rv = versions[seq % 64];

	snprintf(rv, sizeof(versions[0]), "%u", (unsigned)(100 + seq));
	return (struct event){.seq = seq,
		.time_ns = (int64_t)seq * NS_PER_S,
		.type = type,
		.resource = resource->id,
		.namespace = slice_of("default"),
		.name = slice_of("a"),
		.uid = slice_of("u"),
		.rv = slice_of(rv)};
}

static inline void before(struct play *p, const struct event *e, const struct tape_resource *resource)
{
	move_to(p, (double)e->seq);
	ck_assert_ok(faults_before(p->f, &p->now, resource, e, slice_of("{}"), &err), &err);
}

static inline void after(struct play *p, const struct event *e, const struct tape_resource *resource)
{
	p->now.seq = e->seq;
	faults_after(p->f, &p->now, resource, e, 100 + e->seq);
}

static inline void apply(
	struct play *p, uint64_t seq, const struct tape_resource *resource, enum event_type type)
{
	struct event e = event_of(seq, resource, type);

	before(p, &e, resource);
	after(p, &e, resource);
}

static inline struct fault_request request(enum fault_request_kind kind, const struct tape_resource *resource,
	const char *user_agent, uint64_t rv)
{
	return (struct fault_request){.kind = kind,
		.resource = resource,
		.user_agent = slice_of(user_agent),
		.rv = rv,
		.rv_exact = kind == FAULT_WATCH};
}

static inline void watch(
	struct play *p, struct fault_stream *s, const struct tape_resource *resource, const char *user_agent)
{
	struct fault_request r = request(FAULT_WATCH, resource, user_agent, 1);

	fault_stream_open(p->f, &p->now, &r, s);
}

static inline struct fault_answer ask(struct play *p, struct fault_request r)
{
	struct fault_answer a;

	faults_request(p->f, &p->now, &r, &a);
	return a;
}

static inline struct fault_answer ask_watch(struct play *p, const struct tape_resource *resource, uint64_t rv)
{
	return ask(p, request(FAULT_WATCH, resource, "x", rv));
}

/* The next thing that happens is this step of that rule. */
static inline struct fault_firing expect(struct play *p, enum fault_step step, const char *name)
{
	struct fault_firing firing;

	ck_assert_msg(faults_take(p->f, &firing), "nothing happens, expected '%s'", name);
	ck_assert_str_eq(firing.rule->name, name);
	ck_assert_int_eq(firing.step, step);
	return firing;
}

static inline void expect_nothing(struct play *p)
{
	struct fault_firing firing;

	ck_assert_msg(!faults_take(p->f, &firing), "'%s' happens", firing.rule->name);
}

#endif
