/*
 * seq_map.h: the numbers that events of a tape have in a new one which is made of a part of it. Told event by
 * event which are kept, it answers for every old seq how many kept events there are up to it; a bit and
 * a counter for each 64 of them in memory.
 */
#ifndef SCHEMA_TAPE_SEQ_MAP_H
#define SCHEMA_TAPE_SEQ_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seq_map {
	bool same; /* all are kept, under their old numbers */
	uint64_t *
		state; /* the old seqs of objects that are the state at the start, in order; they come first */
	size_t state_count;
	uint64_t first;    /* the old seq of the first event that was added */
	uint64_t *bits;    /* of it and those after it: kept or not */
	uint64_t *before;  /* kept events before each word of bits */
	size_t told, kept; /* events so far */
};

void seq_map_release(struct seq_map *m);

/* The event after the last one that was added, or `first`. */
void seq_map_tell(struct seq_map *m, bool kept);

/* The number of the last kept event that is not after the old one; 0: there is none. */
uint64_t seq_map_find(const struct seq_map *m, uint64_t old_seq);

#endif
