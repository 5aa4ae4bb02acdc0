/*
 * text_map.h: finding things by their names in constant time, however many there are and wherever they come from, by the
 * names: each map hashes with a seed of its own.
 */
#ifndef SCHEMA_BASE_TEXT_MAP_H
#define SCHEMA_BASE_TEXT_MAP_H

#include <stddef.h>
#include <stdint.h>

struct text_entry {
	const char *key; /* borrowed; NULL: the slot was never used */
	void *value;     /* NULL: it was removed */
};

/* All zero is the empty map. */
struct text_map {
	struct text_entry *slots;
	size_t cap, used; /* used: slots that hold, or held, an entry */
	uint64_t seed;
};

void text_map_release(struct text_map *m);

/* NULL if there is none of that name. */
void *text_map_get(const struct text_map *m, const char *key);

/* Adds, or replaces key and value. The key is borrowed until it is removed or replaced; no value is NULL. */
void text_map_put(struct text_map *m, const char *key, void *value);

/* A name that is not there is fine. */
void text_map_remove(struct text_map *m, const char *key);

/* Positions as values: 0 is one, too. */
static inline void *text_map_position(size_t at)
{
	return (void *)(uintptr_t)(at + 1);
}
static inline size_t text_map_position_of(const void *value)
{
	return (size_t)(uintptr_t)value - 1; /* SIZE_MAX of NULL */
}

#endif
