/*
 * verify.h: is a tape what was written? Everything that can be checked is: the checksum of every page of a
 * sealed segment, every checksum inside, the chain of digests, seqs without holes, indexes and filters
 * against the objects they describe, the state at a segment's start against the segments before.
 *
 * The tape may be one that is being recorded: the writer's changes meanwhile do not count as damage. Nothing
 * is written.
 */
#ifndef SCHEMA_TAPE_VERIFY_H
#define SCHEMA_TAPE_VERIFY_H

#include "schema/base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* One damaged place. Texts are borrowed for the call. */
struct tape_damage {
	const char *file;             /* name in the tape's directory; "" if the file is missing */
	uint64_t offset;              /* in the file; UINT64_MAX if no place is known */
	uint64_t length;              /* from there; 0 if it is not known */
	const char *what;             /* "bad checksum of page 17" */
	const char *found, *expected; /* "" where that makes no sense */
};

struct tape_verify_result {
	uint64_t segments, events, documents;
	uint64_t stored_bytes, raw_bytes; /* of the files read; of the objects decoded */
	uint64_t damages;
};

/* A tape may be nothing but damages: nobody reads more of them one by one. */
#define VERIFY_TOLD_MAX 1000

struct tape_verify_options {
	bool quick; /* the sums of the pages and the chain only */
	/* Called for each damage up to VERIFY_TOLD_MAX, further ones are counted; non-zero stops. */
	int (*damaged)(void *context, const struct tape_damage *damage);
	/* How far it is, now and then; non-zero stops. May be NULL. */
	int (*progress)(void *context, uint64_t done, uint64_t total);
	void *context;
};

/* 0 if everything could be checked, whatever was found; ERR_STOPPED if a callback said so; ERR_NETWORK, ERR_DENIED or
 * ERR_NO_SPACE if a segment could not be fetched, which says nothing about the segment; ERR_NOT_FOUND or
 * ERR_CORRUPT if there is no tape at `path`. */
int tape_verify(const char *path, const struct tape_verify_options *options, struct tape_verify_result *ret,
	struct err *err) MUST_CHECK;

#endif
