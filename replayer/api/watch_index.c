/* watch_index.c: see watch_index.h. */
#include "replayer/api/watch_index.h"

/* FNV-1a. */
static uint32_t hash(struct slice s)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < s.len; i++)
		h = (h ^ (unsigned char)s.ptr[i]) * 16777619u;
	return h;
}

struct watch **watch_index_list(struct watch_index *x, struct slice namespace)
{
	return namespace.len ? &x->buckets[hash(namespace) % WATCH_BUCKETS] : &x->everywhere;
}
