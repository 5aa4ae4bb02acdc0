/* text_map.c: see text_map.h. */
#include "schema/base/text_map.h"

#include "schema/base/hash.h"

#include <stdlib.h>
#include <sys/random.h>

#define FIRST_CAP 32

static size_t slot_of(const struct text_map *m, const char *key)
{
	uint64_t hash = hash_add(HASH_EMPTY ^ m->seed, slice_of(key));

	hash = (hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)(hash >> 32) & (m->cap - 1);
}

/* Where the key is, or would be put. */
static struct text_entry *text_map_find(const struct text_map *m, const char *key)
{
	size_t at = slot_of(m, key);

	while (m->slots[at].key && !(m->slots[at].value && strcmp(m->slots[at].key, key) == 0))
		at = (at + 1) & (m->cap - 1);
	return &m->slots[at];
}

/* Makes room for as many again as there are, without those that were removed. */
static void text_map_grow(struct text_map *m)
{
	struct text_map old = *m;
	size_t count = 0;

	for (size_t i = 0; i < old.cap; i++)
		count += old.slots[i].value != NULL;
	if (!m->slots && getrandom(&m->seed, sizeof(m->seed), 0) != (ssize_t)sizeof(m->seed))
		m->seed = (uintptr_t)m;
	for (m->cap = FIRST_CAP; m->cap < 4 * (count + 1);)
		m->cap *= 2;
	m->slots = xcalloc(m->cap, sizeof(*m->slots));
	m->used = count;
	for (size_t i = 0; i < old.cap; i++) {
		if (old.slots[i].value)
			*text_map_find(m, old.slots[i].key) = old.slots[i];
	}
	free(old.slots);
}

void text_map_release(struct text_map *m)
{
	free(m->slots);
	*m = (struct text_map){0};
}

void *text_map_get(const struct text_map *m, const char *key)
{
	return m->cap ? text_map_find(m, key)->value : NULL;
}

void text_map_put(struct text_map *m, const char *key, void *value)
{
	struct text_entry *entry;

	if (2 * (m->used + 1) > m->cap)
		text_map_grow(m);
	entry = text_map_find(m, key);
	m->used += entry->key == NULL;
	*entry = (struct text_entry){key, value};
}

void text_map_remove(struct text_map *m, const char *key)
{
	if (m->cap)
		text_map_find(m, key)->value = NULL;
}
