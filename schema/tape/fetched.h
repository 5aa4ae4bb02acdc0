/*
 * fetched.h: sealed segments that are elsewhere and come here as they are read: a file has its full size and holes where
 * nothing was fetched yet. Which pages are there shows by their sums (seal.h): a page that does not fit its sum, as a
 * hole does not, is fetched, checked and kept. So a file can be cut off, killed or removed at any moment, and read by
 * several processes at once.
 *
 * Where bytes come from is told by whoever knows (recorder/push): here they are only asked for.
 */
#ifndef SCHEMA_TAPE_FETCHED_H
#define SCHEMA_TAPE_FETCHED_H

#include "schema/base/buf.h"
#include "schema/tape/seal.h"

/* What is known of a segment before any of it is here. */
struct fetched_segment {
	uint64_t bytes;
	char digest[SEAL_DIGEST_BYTES];
};

struct fetched_source {
	/* 1 when the file at that path is one that is fetched: a file of that size is there then. 0 when it is not. */
	int (*find)(void *context, const char *path, struct fetched_segment *ret, struct err *err);
	/* Appends that many bytes of it. Called by several threads. */
	int (*fetch)(void *context, const char *path, uint64_t offset, size_t bytes, struct buf *to,
		struct err *err);
	void *context;
};

/* To be called once, before any tape is opened. The source is borrowed for the life of the process. */
void fetched_set_source(const struct fetched_source *source);

/* Whether that file's holes are filled as it is read. */
bool fetched_is(const char *path);

/* Fetches what is missing of it, for code that reads the file itself. Nothing to do for any other file. */
int fetched_complete(const char *path, struct err *err) MUST_CHECK;

/* The name under which SQLite opens such a file. */
const char *fetched_vfs(void);

/* SQLite has no words of ours: why the last read on this thread failed, told once. 0 when nothing failed. */
int fetched_take_error(struct err *err);

#endif
