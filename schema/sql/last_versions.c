/* last_versions.c: see last_versions.h. */
#include "schema/sql/last_versions.h"

#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/base/text_map.h"

#include <stdlib.h>

#define RESOURCE_DIGITS 8

struct last_versions {
	struct text_map by_identity; /* struct object_version */
	size_t bytes, max_bytes;
};

/* ---- versions ---- */

/* Bytes of names that end the text early, or look like what stands between names, make two objects one key of the map:
 * object_version_precedes tells them apart. */
int object_identity(struct buf *to, const struct event *e, struct err *err)
{
	const struct slice names[] = {e->namespace, e->name, e->uid};
	char resource[RESOURCE_DIGITS];
	int rc;

	for (size_t i = 0; i < RESOURCE_DIGITS; i++)
		resource[i] = (char)('a' + (e->resource >> 4 * i & 15));
	buf_clear(to);
	rc = buf_append(to, resource, sizeof(resource), err);
	for (size_t i = 0; i < COUNT_OF(names) && !rc; i++) {
		rc = buf_append(to, "\n", 1, err);
		if (!rc)
			rc = buf_append(to, names[i].ptr, names[i].len, err);
	}
	return rc ? rc : buf_append(to, "", 1, err);
}

void object_version_init(struct object_version *v)
{
	v->seq = 0;
	buf_init(&v->identity, 4 * LIMIT_NAME_BYTES);
	buf_init(&v->object, LIMIT_OBJECT_BYTES);
}

void object_version_release(struct object_version *v)
{
	v->seq = 0;
	buf_release(&v->identity);
	buf_release(&v->object);
}

int object_version_set(
	struct object_version *v, uint64_t seq, struct slice identity, struct slice object, struct err *err)
{
	int rc;

	v->seq = 0;
	buf_clear(&v->identity);
	buf_clear(&v->object);
	rc = buf_append(&v->identity, identity.ptr, identity.len, err);
	if (!rc)
		rc = buf_append(&v->object, object.ptr, object.len, err);
	if (!rc)
		v->seq = seq;
	return rc;
}

bool object_version_precedes(const struct object_version *v, uint64_t seq, struct slice identity)
{
	return v->seq && v->seq < seq && slice_equal(buf_slice(&v->identity), identity);
}

/* ---- the store ---- */

static size_t cost_of(const struct object_version *v)
{
	return sizeof(*v) + v->identity.cap + v->object.cap;
}

static void forget(struct last_versions *l, struct object_version *v)
{
	l->bytes -= cost_of(v);
	object_version_release(v);
	free(v);
}

struct last_versions *last_versions_new(size_t max_bytes)
{
	struct last_versions *l = xcalloc(1, sizeof(*l));

	l->max_bytes = max_bytes;
	return l;
}

void last_versions_clear(struct last_versions *l)
{
	for (size_t i = 0; i < l->by_identity.cap; i++) {
		if (l->by_identity.slots[i].value)
			forget(l, l->by_identity.slots[i].value);
	}
	text_map_release(&l->by_identity);
}

void last_versions_free(struct last_versions *l)
{
	if (!l)
		return;
	last_versions_clear(l);
	free(l);
}

void last_versions_put(struct last_versions *l, struct object_version *v)
{
	struct object_version *kept;

	if (v->seq && l->bytes + cost_of(v) <= l->max_bytes &&
		!text_map_get(&l->by_identity, v->identity.ptr)) {
		kept = xmalloc(sizeof(*kept));
		*kept = *v;
		text_map_put(&l->by_identity, kept->identity.ptr, kept);
		l->bytes += cost_of(kept);
		object_version_init(v);
	}
	v->seq = 0;
}

bool last_versions_take(
	struct last_versions *l, uint64_t seq, struct slice identity, struct object_version *v)
{
	struct object_version *kept = text_map_get(&l->by_identity, identity.ptr);

	v->seq = 0;
	if (!kept || !object_version_precedes(kept, seq, identity))
		return false;
	text_map_remove(&l->by_identity, identity.ptr);
	l->bytes -= cost_of(kept);
	object_version_release(v);
	*v = *kept;
	free(kept);
	return true;
}
