/*
 * fetched.h: remote sealed segments, which are fetched as they are read. The local file has its full size,
 * with holes where nothing was fetched yet. The pages' checksums (seal.h) show which pages are present: a
 * page that does not match its checksum, such as a hole, is fetched, checked and kept. So a fetch can be
 * interrupted or the file removed at any moment, and several processes can read it at once.
 *
 * recorder/push supplies the function that fetches; this file only calls it.
 */
#ifndef SCHEMA_TAPE_FETCHED_H
#define SCHEMA_TAPE_FETCHED_H

#include "schema/base/buf.h"
#include "schema/tape/seal.h"

/* What is known about a segment before any of it is fetched. */
struct fetched_segment {
	uint64_t bytes;
	char digest[SEAL_DIGEST_BYTES];
};

struct fetched_source {
	/* 1 if the file at that path is one that is fetched: a file of that size is there then. 0 if it is not. ERR_NOT_FOUND if
	 * its folder is a tape's that is fetched, and the tape does not have it. */
	int (*find)(void *context, const char *path, struct fetched_segment *ret, struct err *err);
	/* Appends that many bytes of it. Called by several threads. */
	int (*fetch)(void *context, const char *path, uint64_t offset, size_t bytes, struct buf *to,
		struct err *err);
	/* The file cannot be written, because of that: what is fetched from now on is read and not kept. Called by several
	 * threads, again and again. */
	void (*unkept)(void *context, const struct err *why);
	void *context;
};

/* To be called before any tape is opened. The source is borrowed for the life of the process. */
void fetched_set_source(const struct fetched_source *source);

/* Whether that file's holes are filled as it is read. */
bool fetched_is(const char *path);

/* Whether the tape that is fetched does not have that file of its folder: another program, with another manifest, put it there. */
bool fetched_is_stray(const char *path);

/* How many files are fetched from at once. */
#define FETCHED_AHEAD 16

/* Fetches what a reader asks of each file first, from several at once: with many small files it is the way to their source and
 * back that takes time. A failure is told when that file is read. Does nothing for other files, and those that were read before. */
void fetched_ahead(const char *const *paths, size_t count);

/* Fetches all missing pages, for code that reads the file itself. Does nothing for other files. */
int fetched_complete(const char *path, struct err *err) MUST_CHECK;

/* The same for code that makes the best of damage: what is damaged there is then here as it is there. */
int fetched_salvage(const char *path, struct err *err) MUST_CHECK;

/* Fetches all pages, whatever is here already, for code that is to check the source and not the copy. A page that is damaged there
 * does not take the place of one that is here. *ret_fd, which the caller closes, is the file, or -1 for other files. */
int fetched_anew(const char *path, int *ret_fd, struct err *err) MUST_CHECK;

/* The name under which SQLite opens such a file. */
const char *fetched_vfs(void);

/* SQLite cannot pass on our errors: the reason why the last read on this thread failed, given once. 0 if
 * nothing failed. */
int fetched_take_error(struct err *err);

#endif
