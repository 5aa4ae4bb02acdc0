/*
 * repack.h: the same tape, smaller: every segment is rewritten with larger extents and blocks and higher
 * effort. Seqs, rows and the division into segments stay; the digests, and with them the chain, are new.
 */
#ifndef SCHEMA_TAPE_REPACK_H
#define SCHEMA_TAPE_REPACK_H

#include "schema/tape/pack.h"

struct tape_repack_options {
	struct pack_options pack; /* effort is for large objects as well */
	uint64_t extent_bytes;    /* raw bytes of objects in an extent, at most LIMIT_CHUNK_BYTES / 2 */
	/* Told how many of the raw bytes are done; a non-zero return stops. NULL is fine. */
	int (*progress)(void *context, uint64_t done_bytes, uint64_t total_bytes);
	void *context;
};

struct tape_repack_result {
	uint64_t events, raw_bytes, old_disk_bytes, new_disk_bytes;
};

/* The numbers used where an option is 0. */
extern const struct tape_repack_options tape_repack_defaults;

/*
 * Makes `to`, which must not exist, from `from`, and compares the two event by event before it returns 0.
 * `from` is only read; of one that is being recorded the present state is used. On failure, even ERR_STOPPED,
 * nothing is left of `to`.
 */
int tape_repack(const char *from, const char *to, const struct tape_repack_options *options,
	struct tape_repack_result *ret, struct err *err) MUST_CHECK;

#endif
