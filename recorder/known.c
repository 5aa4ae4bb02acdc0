/*
 * known.c: see known.h. A hash table with open addressing over entries that hold their strings after them.
 * Removal leaves a tombstone; growing forgets them.
 */
#include "recorder/known.h"

#include "schema/base/count_of.h"
#include "schema/base/hash.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <assert.h>
#include <stdlib.h>

#define FIRST_SLOTS 64

struct entry {
	uint64_t hash, seq;
	uint32_t sweep; /* the last sweep that saw it */
	uint16_t namespace_len, name_len, uid_len, rv_len;
	char text[]; /* namespace, name, uid, rv, without terminators */
};

struct known {
	struct entry **slots;
	size_t slot_count, used, count; /* used: entries and tombstones */
	uint32_t sweep;
	size_t unseen_at; /* where known_unseen goes on */
};

static struct entry tombstone;

static uint64_t hash_key(struct slice namespace, struct slice name)
{
	uint64_t h = hash_add(HASH_EMPTY, namespace);

	h = hash_add(h, slice_of("/"));
	h = hash_add(h, name);
	return h ^ (h >> 32);
}

static struct known_object view(const struct entry *e)
{
	const char *name = e->text + e->namespace_len, *uid = name + e->name_len, *rv = uid + e->uid_len;

	return (struct known_object){
		.namespace = {e->text, e->namespace_len},
		.name = {name, e->name_len},
		.uid = {uid, e->uid_len},
		.rv = {rv, e->rv_len},
		.seq = e->seq,
	};
}

static bool is_key(const struct entry *e, uint64_t hash, struct slice namespace, struct slice name)
{
	struct known_object o;

	if (e == &tombstone || e->hash != hash)
		return false;
	o = view(e);
	return slice_equal(o.namespace, namespace) && slice_equal(o.name, name);
}

/* The slot of the key, or NULL. */
static struct entry **known_find(const struct known *k, struct slice namespace, struct slice name)
{
	uint64_t hash = hash_key(namespace, name);

	for (size_t i = hash & (k->slot_count - 1); k->slots[i]; i = (i + 1) & (k->slot_count - 1)) {
		if (is_key(k->slots[i], hash, namespace, name))
			return &k->slots[i];
	}
	return NULL;
}

static struct entry **free_slot(struct known *k, uint64_t hash)
{
	size_t i = hash & (k->slot_count - 1);

	while (k->slots[i] && k->slots[i] != &tombstone)
		i = (i + 1) & (k->slot_count - 1);
	return &k->slots[i];
}

static void rebuild(struct known *k, size_t slot_count)
{
	struct entry **old = k->slots;
	size_t old_count = k->slot_count;

	k->slots = xcalloc(slot_count, sizeof(struct entry *));
	k->slot_count = slot_count;
	k->used = k->count;
	for (size_t i = 0; i < old_count; i++) {
		if (old[i] && old[i] != &tombstone)
			*free_slot(k, old[i]->hash) = old[i];
	}
	free(old);
}

struct known *known_new(void)
{
	struct known *k = xcalloc(1, sizeof(*k));

	k->sweep = 1;
	rebuild(k, FIRST_SLOTS);
	return k;
}

void known_free(struct known *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->slot_count; i++) {
		if (k->slots[i] != &tombstone)
			free(k->slots[i]);
	}
	free(k->slots);
	free(k);
}

size_t known_count(const struct known *k)
{
	return k->count;
}

bool known_get(const struct known *k, struct slice namespace, struct slice name, struct known_object *ret)
{
	struct entry **slot = known_find(k, namespace, name);

	if (!slot)
		return false;
	*ret = view(*slot);
	return true;
}

static bool known_fits(const struct known_object *o)
{
	return o->namespace.len <= LIMIT_NAME_BYTES && o->name.len <= LIMIT_NAME_BYTES &&
	       o->uid.len <= LIMIT_NAME_BYTES && o->rv.len <= LIMIT_NAME_BYTES;
}

static struct entry *make_entry(const struct known_object *o)
{
	struct entry *e = xmalloc(sizeof(*e) + o->namespace.len + o->name.len + o->uid.len + o->rv.len);
	const struct slice parts[] = {o->namespace, o->name, o->uid, o->rv};
	char *to = e->text;

	*e = (struct entry){
		.hash = hash_key(o->namespace, o->name),
		.namespace_len = (uint16_t)o->namespace.len,
		.name_len = (uint16_t)o->name.len,
		.uid_len = (uint16_t)o->uid.len,
		.rv_len = (uint16_t)o->rv.len,
	};
	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		if (parts[i].len)
			memcpy(to, parts[i].ptr, parts[i].len);
		to += parts[i].len;
	}
	return e;
}

/* The common case of a new version of the same object: same lengths, so the text is overwritten in place. */
static bool update_in_place(struct entry *e, const struct known_object *o)
{
	char *uid = e->text + e->namespace_len + e->name_len;

	if (e->uid_len != o->uid.len || e->rv_len != o->rv.len)
		return false;
	memcpy(uid, o->uid.ptr, o->uid.len);
	memcpy(uid + o->uid.len, o->rv.ptr, o->rv.len);
	return true;
}

int known_put(struct known *k, const struct known_object *object, struct err *err)
{
	struct entry **slot, *e;

	if (!known_fits(object))
		return err_set(err, ERR_TOO_LARGE, "name of object '%.80s' is too long", object->name.ptr);
	slot = known_find(k, object->namespace, object->name);
	if (slot && object->uid.len && object->rv.len && update_in_place(*slot, object)) {
		e = *slot;
	} else {
		e = make_entry(object);
		if (slot) {
			free(*slot);
		} else {
			if ((k->used + 1) * 4 > k->slot_count * 3)
				rebuild(k, k->count * 2 >= k->slot_count ? k->slot_count * 2 : k->slot_count);
			slot = free_slot(k, e->hash);
			k->used += *slot == NULL;
			k->count++;
		}
		*slot = e;
	}
	e->seq = object->seq;
	e->sweep = k->sweep;
	return 0;
}

void known_remove(struct known *k, struct slice namespace, struct slice name)
{
	struct entry **slot = known_find(k, namespace, name);

	if (!slot)
		return;
	free(*slot);
	*slot = &tombstone;
	k->count--;
}

void known_sweep_begin(struct known *k)
{
	k->sweep++;
	k->unseen_at = 0;
}

void known_saw(struct known *k, struct slice namespace, struct slice name)
{
	struct entry **slot = known_find(k, namespace, name);

	assert(slot);
	(*slot)->sweep = k->sweep;
}

bool known_was_seen(const struct known *k, struct slice namespace, struct slice name)
{
	struct entry **slot = known_find(k, namespace, name);

	return slot && (*slot)->sweep == k->sweep;
}

bool known_unseen(struct known *k, struct known_object *ret)
{
	for (; k->unseen_at < k->slot_count; k->unseen_at++) {
		const struct entry *e = k->slots[k->unseen_at];

		if (e && e != &tombstone && e->sweep != k->sweep) {
			*ret = view(e);
			return true;
		}
	}
	return false;
}

int known_stub(const struct known_object *object, struct buf *to, struct err *err)
{
	int rc = buf_append(to, "{\"metadata\":{\"name\":", 20, err);

	if (rc == 0)
		rc = json_escape(object->name, to, err);
	if (rc == 0 && object->namespace.len)
		rc = buf_printf(to, err, ",\"namespace\":\"%.*s\"", (int)object->namespace.len,
			object->namespace.ptr);
	if (rc == 0)
		rc = buf_printf(to, err, ",\"uid\":\"%.*s\",\"resourceVersion\":\"%.*s\"}}",
			(int)object->uid.len, object->uid.ptr, (int)object->rv.len, object->rv.ptr);
	return rc;
}
