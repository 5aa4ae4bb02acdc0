/* recents.c: see recents.h. A ring of entries, and a table of chains into it; an entry that is overwritten
 * leaves its chain. */
#include "tools/tee/recents.h"

#include "schema/base/hash.h"
#include "schema/tape/codec.h"

#include <stdlib.h>

#define ENTRIES (1u << 16)
#define BUCKETS (1u << 15)
#define NONE    UINT32_MAX

struct entry {
	uint64_t key, object, seq; /* hashes of both; seq 0: free */
	uint32_t next;             /* in its chain */
};

struct recents {
	struct entry entries[ENTRIES];
	uint32_t buckets[BUCKETS];
	uint32_t at; /* the oldest, which is overwritten next */
};

struct recents *recents_new(void)
{
	struct recents *r = xcalloc(1, sizeof(*r));

	memset(r->buckets, 0xff, sizeof(r->buckets));
	return r;
}

void recents_free(struct recents *r)
{
	free(r);
}

static uint64_t hash_of(const struct recent_key *k)
{
	uint64_t h =
		hash_add(HASH_EMPTY ^ k->resource * UINT64_C(0x9e3779b97f4a7c15) ^ k->is_deleted, k->uid);

	h = hash_add(hash_add(h, slice_of("/")), k->rv);
	return h ^ h >> 29;
}

static uint32_t *bucket_of(struct recents *r, uint64_t key)
{
	return &r->buckets[key % BUCKETS];
}

uint64_t recents_find(
	const struct recents *r, const struct recent_key *key, struct slice object, bool *ret_is_same)
{
	uint64_t hash = hash_of(key);

	for (uint32_t at = r->buckets[hash % BUCKETS]; at != NONE; at = r->entries[at].next) {
		const struct entry *e = &r->entries[at];

		if (e->key != hash)
			continue;
		*ret_is_same = e->object == codec_hash_for_memory(object);
		return e->seq;
	}
	return 0;
}

static void unlink_entry(struct recents *r, uint32_t index)
{
	uint32_t *at = bucket_of(r, r->entries[index].key);

	while (*at != index)
		at = &r->entries[*at].next;
	*at = r->entries[index].next;
}

void recents_add(struct recents *r, const struct recent_key *key, struct slice object, uint64_t seq)
{
	uint32_t index = r->at;
	struct entry *e = &r->entries[index];
	uint32_t *bucket;

	r->at = (r->at + 1) % ENTRIES;
	if (e->seq)
		unlink_entry(r, index);
	*e = (struct entry){.key = hash_of(key), .object = codec_hash_for_memory(object), .seq = seq};
	bucket = bucket_of(r, e->key);
	e->next = *bucket;
	*bucket = index;
}
