/* hash.h: FNV-1a of short texts, for tables in memory; not for anything that is stored (codec_hash). */
#ifndef SCHEMA_BASE_HASH_H
#define SCHEMA_BASE_HASH_H

#include "schema/base/buf.h"

#define HASH_EMPTY UINT64_C(14695981039346656037)

/* Continues a hash (HASH_EMPTY at first) with the text. */
static inline uint64_t hash_add(uint64_t hash, struct slice text)
{
	for (size_t i = 0; i < text.len; i++)
		hash = (hash ^ (unsigned char)text.ptr[i]) * UINT64_C(1099511628211);
	return hash;
}

#endif
