/* import_known.c: see import_known.h. */
#include "tools/import/import_known.h"

#include "schema/base/hash.h"
#include "schema/base/limits.h"

#include <stdlib.h>

static void free_object(struct import_object *o)
{
	free(o->namespace);
	free(o->name);
	free(o->uid);
	free(o->rv);
	buf_release(&o->object);
	free(o);
}

void import_known_release(struct import_known *k)
{
	for (size_t i = 0; i < k->slot_count; i++) {
		if (k->slots[i])
			free_object(k->slots[i]);
	}
	free(k->slots);
	*k = (struct import_known){0};
}

static uint64_t hash_of(uint32_t stream, struct slice namespace, struct slice name)
{
	uint64_t hash = hash_add(HASH_EMPTY ^ stream, namespace);

	return hash_add(hash_add(hash, slice_of("/")), name);
}

/* Its slot, or the free one where it belongs. */
static struct import_object **slot_of(const struct import_known *k, uint64_t hash, uint32_t stream,
	struct slice namespace, struct slice name)
{
	size_t at = (size_t)hash & (k->slot_count - 1);

	while (k->slots[at] &&
		(k->slots[at]->hash != hash || k->slots[at]->stream != stream ||
			!slice_is(namespace, k->slots[at]->namespace) || !slice_is(name, k->slots[at]->name)))
		at = (at + 1) & (k->slot_count - 1);
	return &k->slots[at];
}

struct import_object *import_known_find(
	const struct import_known *k, uint32_t stream, struct slice namespace, struct slice name)
{
	if (!k->slot_count)
		return NULL;
	return *slot_of(k, hash_of(stream, namespace, name), stream, namespace, name);
}

static void import_known_grow(struct import_known *k)
{
	struct import_known larger = {
		.slot_count = k->slot_count ? 2 * k->slot_count : 256, .count = k->count};

	larger.slots = xcalloc(larger.slot_count, sizeof(struct import_object *));
	for (size_t i = 0; i < k->slot_count; i++) {
		struct import_object *o = k->slots[i];

		if (o)
			*slot_of(&larger, o->hash, o->stream, slice_of(o->namespace), slice_of(o->name)) = o;
	}
	free(k->slots);
	*k = larger;
}

struct import_object *import_known_make(
	struct import_known *k, uint32_t stream, struct slice namespace, struct slice name)
{
	uint64_t hash = hash_of(stream, namespace, name);
	struct import_object **slot;

	if (2 * k->count >= k->slot_count)
		import_known_grow(k);
	slot = slot_of(k, hash, stream, namespace, name);
	if (*slot)
		return *slot;
	k->count++;
	*slot = xcalloc(1, sizeof(**slot));
	**slot = (struct import_object){
		.hash = hash, .stream = stream, .namespace = slice_dup(namespace), .name = slice_dup(name)};
	buf_init(&(*slot)->object, LIMIT_OBJECT_BYTES);
	return *slot;
}

int import_known_set(
	struct import_object *o, struct slice uid, struct slice rv, struct slice object, struct err *err)
{
	int rc;

	buf_clear(&o->object);
	rc = buf_append(&o->object, object.ptr, object.len, err);
	if (rc)
		return rc;
	free(o->uid);
	free(o->rv);
	o->uid = slice_dup(uid);
	o->rv = slice_dup(rv);
	o->live = true;
	return 0;
}

void import_known_delete(struct import_object *o)
{
	o->live = false;
	buf_release(&o->object);
	buf_init(&o->object, LIMIT_OBJECT_BYTES);
}
