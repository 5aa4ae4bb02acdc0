/* import_ids.h: maps ids of an exported tape to those of ours, in constant time. */
#ifndef TOOLS_IMPORT_IDS_H
#define TOOLS_IMPORT_IDS_H

#include <stddef.h>
#include <stdint.h>

/* All zero is the empty map. */
struct id_map {
	struct id_pair {
		int64_t from;
		uint64_t to; /* 0: a free slot */
	} * slots;
	size_t count, cap;
	uint64_t seed; /* odd; so that nobody can choose ids which share their slots */
};

void id_map_release(struct id_map *m);

/* `to` is not 0; a later one replaces it. */
void id_map_put(struct id_map *m, int64_t from, uint64_t to);

/* 0 if it is unknown. */
uint64_t id_map_get(const struct id_map *m, int64_t from);

#endif
