/* watch_index.c: see watch_index.h. */
#include "replayer/serve/watch_index.h"

#include "schema/base/hash.h"

struct watch **watch_index_list(struct watch_index *x, struct slice namespace)
{
	return namespace.len ? &x->buckets[hash_add(HASH_EMPTY, namespace) % WATCH_BUCKETS] : &x->everywhere;
}
