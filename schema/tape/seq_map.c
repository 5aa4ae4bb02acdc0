/* seq_map.c: see seq_map.h. */
#include "schema/tape/seq_map.h"

#include "schema/base/buf.h"

#include <stdlib.h>

void seq_map_release(struct seq_map *m)
{
	free(m->state);
	free(m->bits);
	free(m->before);
	*m = (struct seq_map){0};
}

void seq_map_tell(struct seq_map *m, bool kept)
{
	size_t word = m->told / 64;

	if (m->told % 64 == 0) {
		m->bits = xgrow(m->bits, word, sizeof(*m->bits));
		m->before = xgrow(m->before, word, sizeof(*m->before));
		m->bits[word] = 0;
		m->before[word] = m->kept;
	}
	m->bits[word] |= (uint64_t)kept << (m->told % 64);
	m->told++;
	m->kept += kept;
}

static size_t count_state(const struct seq_map *m, uint64_t old_seq)
{
	size_t low = 0, high = m->state_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->state[middle] <= old_seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t seq_map_find(const struct seq_map *m, uint64_t old_seq)
{
	uint64_t at, up_to_it;

	if (m->same)
		return old_seq;
	if (old_seq < m->first)
		return count_state(m, old_seq);
	at = old_seq - m->first;
	if (at >= m->told)
		return m->state_count + m->kept;
	up_to_it = m->bits[at / 64] & (UINT64_MAX >> (63 - at % 64));
	return m->state_count + m->before[at / 64] + (uint64_t)__builtin_popcountll(up_to_it);
}
