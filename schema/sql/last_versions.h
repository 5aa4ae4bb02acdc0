/*
 * last_versions.h: versions of objects, and a store that keeps the last one of each object of a walk, so that the next
 * event of that object, however much later, needs no look at the tape.
 */
#ifndef SCHEMA_SQL_LAST_VERSIONS_H
#define SCHEMA_SQL_LAST_VERSIONS_H

#include "schema/tape/event.h"

/* Replaces what `to` holds by the identity of the event's object: a terminated text of its resource, namespace, name and UID. */
int object_identity(struct buf *to, const struct event *e, struct err *err) MUST_CHECK;

/* A version, with its own copy of the bytes. */
struct object_version {
	uint64_t seq; /* 0: none */
	struct buf identity, object;
};

void object_version_init(struct object_version *v);
void object_version_release(struct object_version *v);
/* Copies; v has none after a failure. */
int object_version_set(struct object_version *v, uint64_t seq, struct slice identity, struct slice object,
	struct err *err) MUST_CHECK;
/* Whether it is one of that object, from before that event. */
bool object_version_precedes(const struct object_version *v, uint64_t seq, struct slice identity);

struct last_versions;

struct last_versions *last_versions_new(size_t max_bytes);
void last_versions_free(struct last_versions *l); /* accepts NULL */
void last_versions_clear(struct last_versions *l);

/* Moves the version into the store; v has none afterwards. It is forgotten when the store is full, or has one of that object. */
void last_versions_put(struct last_versions *l, struct object_version *v);

/* Moves the object's version out of the store into v. False, and v empty, when the store has no version from before that event. */
bool last_versions_take(
	struct last_versions *l, uint64_t seq, struct slice identity, struct object_version *v);

#endif
