/*
 * bundle_files.h: the files of a bundle, one after the other: of a folder, in the order of their names, or of
 * a tar archive (also one that gzip, xz, zstd or bzip2 compressed) or a ZIP archive, in its own order. Only
 * regular files are given; links are not followed. Nothing is written to disk, so names can do no harm.
 */
#ifndef TOOLS_BUNDLE_FILES_H
#define TOOLS_BUNDLE_FILES_H

#include "schema/base/buf.h"

struct bundle_files;

struct bundle_file {
	const char *path; /* below the folder, or as the archive has it; valid until the next call */
	int64_t time_ns;  /* of the last change; 0: not known */
};

/* Whether a file may be an archive, judged by its first 512 bytes. */
bool bundle_files_may_be(struct slice first_bytes);

/* The descriptor of a folder or of a regular file; it stays the caller's. */
int bundle_files_open(int fd, const char *name, struct bundle_files **ret, struct err *err) MUST_CHECK;
void bundle_files_close(struct bundle_files *f); /* accepts NULL */

/* From now on an invalid head in a tar is skipped and counted; it is not a failure. */
void bundle_files_tolerate(struct bundle_files *f);

/* 1 and the next file, 0 at the end. ERR_USAGE if it is not an archive at all, ERR_CORRUPT if it is damaged,
 * ERR_TOO_LARGE if it unpacks to more than LIMIT_BUNDLE_UNPACKED. */
int bundle_files_next(struct bundle_files *f, struct bundle_file *ret, struct err *err) MUST_CHECK;

/* Appends the bytes of the file that was given last. ERR_TOO_LARGE: `to` has no room for them; the next file
 * can be asked for. */
int bundle_files_read(struct bundle_files *f, struct buf *to, struct err *err) MUST_CHECK;

/* How many bytes of an archive were read, and how many times there were such heads: each stands for a file or more. */
uint64_t bundle_files_passed(const struct bundle_files *f);
uint64_t bundle_files_lost(const struct bundle_files *f);

#endif
