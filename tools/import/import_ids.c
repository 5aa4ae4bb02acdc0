/* import_ids.c: see import_ids.h. */
#include "tools/import/import_ids.h"

#include "schema/base/buf.h"

#include <stdlib.h>
#include <sys/random.h>

#define FIRST_CAP 64

/* Multiply and shift: the high bits depend on all of the id. */
static struct id_pair *slot_of(const struct id_map *m, int64_t from)
{
	size_t at = (size_t)(((uint64_t)from * m->seed) >> 32) & (m->cap - 1);

	while (m->slots[at].to && m->slots[at].from != from)
		at = (at + 1) & (m->cap - 1);
	return &m->slots[at];
}

static void import_ids_grow(struct id_map *m)
{
	struct id_map old = *m;

	if (!m->seed && getrandom(&m->seed, sizeof(m->seed), 0) != (ssize_t)sizeof(m->seed))
		m->seed = UINT64_C(0x9e3779b97f4a7c15);
	m->seed |= 1;
	m->cap = old.cap ? 2 * old.cap : FIRST_CAP;
	m->slots = xcalloc(m->cap, sizeof(*m->slots));
	for (size_t i = 0; i < old.cap; i++) {
		if (old.slots[i].to)
			*slot_of(m, old.slots[i].from) = old.slots[i];
	}
	free(old.slots);
}

void id_map_release(struct id_map *m)
{
	free(m->slots);
	*m = (struct id_map){0};
}

void id_map_put(struct id_map *m, int64_t from, uint64_t to)
{
	struct id_pair *slot;

	if (2 * m->count >= m->cap)
		import_ids_grow(m);
	slot = slot_of(m, from);
	m->count += slot->to == 0;
	*slot = (struct id_pair){from, to};
}

uint64_t id_map_get(const struct id_map *m, int64_t from)
{
	return m->cap ? slot_of(m, from)->to : 0;
}
