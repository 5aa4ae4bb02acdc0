/* owner_index.c: see owner_index.h. */
#include "replayer/world/owner_index.h"

#include "schema/base/hash.h"
#include "schema/base/json_scan.h"

#include <stdlib.h>

#define BUCKETS_FIRST 256

struct entry {
	uint64_t owner; /* hash of its UID */
	uint32_t resource, namespace_len, name_len;
	struct entry *next;
	char text[]; /* namespace and name */
};

struct owner_index {
	struct entry **buckets;
	size_t bucket_count, count;
};

struct owner_index *owner_index_new(void)
{
	struct owner_index *x = xcalloc(1, sizeof(*x));

	x->bucket_count = BUCKETS_FIRST;
	x->buckets = xcalloc(x->bucket_count, sizeof(struct entry *));
	return x;
}

static void owner_index_clear(struct owner_index *x)
{
	for (size_t i = 0; i < x->bucket_count; i++) {
		for (struct entry *e = x->buckets[i], *next; e; e = next) {
			next = e->next;
			free(e);
		}
		x->buckets[i] = NULL;
	}
	x->count = 0;
}

void owner_index_free(struct owner_index *x)
{
	if (!x)
		return;
	owner_index_clear(x);
	free(x->buckets);
	free(x);
}

/* ---- entries ---- */

static struct entry **bucket_of(const struct owner_index *x, uint64_t owner)
{
	return &x->buckets[owner & (x->bucket_count - 1)];
}

static void grow(struct owner_index *x)
{
	struct entry **old = x->buckets;
	size_t count = x->bucket_count;

	x->bucket_count = 2 * count;
	x->buckets = xcalloc(x->bucket_count, sizeof(struct entry *));
	for (size_t i = 0; i < count; i++) {
		for (struct entry *e = old[i], *next; e; e = next) {
			struct entry **to = bucket_of(x, e->owner);

			next = e->next;
			e->next = *to;
			*to = e;
		}
	}
	free(old);
}

static struct slice namespace_of(const struct entry *e)
{
	return (struct slice){e->text, e->namespace_len};
}

static struct slice name_of(const struct entry *e)
{
	return (struct slice){e->text + e->namespace_len, e->name_len};
}

/* Where the entry of that owner and object stands, or where it would. */
static struct entry **find_entry(const struct owner_index *x, uint64_t owner, uint32_t resource,
	struct slice namespace, struct slice name)
{
	struct entry **at = bucket_of(x, owner);

	while (*at && !((*at)->owner == owner && (*at)->resource == resource &&
			      slice_equal(name_of(*at), name) && slice_equal(namespace_of(*at), namespace)))
		at = &(*at)->next;
	return at;
}

static void add_entry(
	struct owner_index *x, uint64_t owner, uint32_t resource, struct slice namespace, struct slice name)
{
	struct entry **at = bucket_of(x, owner);
	struct entry *e = xcalloc(1, sizeof(*e) + namespace.len + name.len);

	e->owner = owner;
	e->resource = resource;
	e->namespace_len = (uint32_t) namespace.len;
	e->name_len = (uint32_t)name.len;
	if (namespace.len)
		memcpy(e->text, namespace.ptr, namespace.len);
	memcpy(e->text + namespace.len, name.ptr, name.len);
	e->next = *at;
	*at = e;
	if (++x->count > x->bucket_count)
		grow(x);
}

static void put_entry(
	struct owner_index *x, uint64_t owner, uint32_t resource, struct slice namespace, struct slice name)
{
	if (!*find_entry(x, owner, resource, namespace, name))
		add_entry(x, owner, resource, namespace, name);
}

static void drop_entry(
	struct owner_index *x, uint64_t owner, uint32_t resource, struct slice namespace, struct slice name)
{
	struct entry **at = find_entry(x, owner, resource, namespace, name), *e = *at;

	if (!e)
		return;
	*at = e->next;
	free(e);
	x->count--;
}

/* ---- objects ---- */

bool owner_uids_begin(struct slice object, struct json_iter *ret)
{
	struct slice owners;

	return json_get(object, "metadata.ownerReferences", &owners, NULL) > 0 &&
	       json_iter_begin(owners, ret, NULL) == 0;
}

bool owner_uids_next(struct json_iter *it, struct slice *ret_uid)
{
	struct slice key, owner, uid;

	while (json_iter_next(it, &key, &owner, NULL) > 0) {
		if (json_get(owner, "uid", &uid, NULL) <= 0 || uid.len <= 2)
			continue;
		*ret_uid = (struct slice){uid.ptr + 1, uid.len - 2};
		return true;
	}
	return false;
}

typedef void entry_change(
	struct owner_index *x, uint64_t owner, uint32_t resource, struct slice namespace, struct slice name);

/* Does it for each owner that the object names. */
static void for_each_owner(struct owner_index *x, entry_change *change, uint32_t resource,
	struct slice namespace, struct slice name, struct slice object)
{
	struct slice uid;
	struct json_iter it;
	bool has_any = owner_uids_begin(object, &it);

	while (has_any && owner_uids_next(&it, &uid))
		change(x, hash_add(HASH_EMPTY, uid), resource, namespace, name);
}

void owner_index_add(struct owner_index *x, const struct change *c)
{
	for_each_owner(x, put_entry, c->resource, c->namespace, c->name, c->object);
}

void owner_index_remove(struct owner_index *x, const struct change *c)
{
	for_each_owner(x, drop_entry, c->resource, c->namespace, c->name, c->object);
}

static void fill_from(struct owner_index *x, struct world *w, const struct collection *c)
{
	struct slice object;

	for (size_t i = 0; i < c->live.count; i++) {
		const struct live *l = c->live.items[i];

		if (world_object(w, l->seq, &object, NULL) == 0)
			for_each_owner(x, add_entry, c->resource.id, live_namespace(l), live_name(l), object);
	}
}

void owner_index_fill(struct owner_index *x, struct world *w)
{
	owner_index_clear(x);
	for (size_t i = 0; i < w->count; i++) {
		if (w->collections[i].resource.resource)
			fill_from(x, w, &w->collections[i]);
	}
}

/* ---- asking ---- */

static int compare_refs(const void *a, const void *b)
{
	const struct object_ref *x = a, *y = b;
	int order;

	if (x->resource != y->resource)
		return x->resource < y->resource ? -1 : 1;
	order = strcmp(x->namespace, y->namespace);
	return order ? order : strcmp(x->name, y->name);
}

size_t owner_index_find(const struct owner_index *x, const char *uid, struct object_ref **ret)
{
	uint64_t owner = hash_add(HASH_EMPTY, slice_of(uid));
	struct object_ref *refs = NULL;
	size_t count = 0, cap = 0;

	for (const struct entry *e = *bucket_of(x, owner); e; e = e->next) {
		if (e->owner != owner)
			continue;
		if (count == cap) {
			cap = cap ? 2 * cap : 8;
			refs = xrealloc(refs, cap * sizeof(*refs));
		}
		refs[count++] =
			(struct object_ref){e->resource, slice_dup(namespace_of(e)), slice_dup(name_of(e))};
	}
	if (count)
		qsort(refs, count, sizeof(*refs), compare_refs);
	*ret = refs;
	return count;
}

size_t object_refs_of(
	const struct live_set *s, uint32_t resource, struct slice namespace, struct object_ref **ret)
{
	struct object_ref *refs;
	size_t begin, end;

	live_set_range(s, namespace, &begin, &end);
	refs = xcalloc(end - begin + 1, sizeof(*refs));
	for (size_t i = begin; i < end; i++) {
		const struct live *l = s->items[i];

		refs[i - begin] =
			(struct object_ref){resource, slice_dup(live_namespace(l)), slice_dup(live_name(l))};
	}
	*ret = refs;
	return end - begin;
}

void object_refs_free(struct object_ref *refs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(refs[i].namespace);
		free(refs[i].name);
	}
	free(refs);
}
