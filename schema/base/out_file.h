/*
 * out_file.h: files that a person names for output.
 *
 *   the name                             what happens
 *   "-", /dev/stdout, /dev/fd/N          that descriptor is written to
 *   nothing yet, or a regular file       the output appears there when it is complete, and replaces the file
 *   a device, a FIFO, a socket           is written to directly, and never replaced
 *
 * Symbolic links are followed: the target is written, the link stays. Until it is complete, a regular file
 * has no name (if the file system can do that; else an unpredictable one beside the target), so that nothing
 * is left of it however the program ends. New files are accessible to the owner alone whatever the umask is,
 * because all of our output is data of a cluster. A file that is replaced passes its permissions on to its
 * successor.
 */
#ifndef SCHEMA_BASE_OUT_FILE_H
#define SCHEMA_BASE_OUT_FILE_H

#include "schema/base/buf.h"

#include <stdio.h>

struct out_file;

/* ERR_NOT_FOUND if the folder does not exist, ERR_IO if the name cannot be written. Waits for the reader
 * of a FIFO. */
int out_file_open(const char *path, struct out_file **ret, struct err *err) MUST_CHECK;

/* For a check before long work whose output comes at its end: whether the folder exists, and the name can be
 * written. Opens nothing, and so never waits. */
int out_file_check(const char *path, struct err *err) MUST_CHECK;

/* Where to write; the caller checks with out_stream_check() and never closes it. */
FILE *out_file_stream(struct out_file *f);

/* A path under which the open output can be written by name until it is closed, for libraries that take
 * nothing else; NULL if the system has no such names. The stream must not have been written to. */
const char *out_file_path(const struct out_file *f);

/* Puts the file in its place, on the disk; frees in any case. On failure nothing is left, and an earlier file
 * is untouched. */
int out_file_close(struct out_file *f, struct err *err) MUST_CHECK;

/* Frees and leaves nothing of it; NULL is accepted. Data already written to a device or a pipe cannot be
 * taken back. */
void out_file_abandon(struct out_file *f);

/* All at once: opens, writes and closes. */
int out_file_write(const char *path, struct slice bytes, struct err *err) MUST_CHECK;

/* ERR_USAGE, "a tape is a folder: it cannot be written to '-'", if the name means an open descriptor.
 */
int out_file_refuse_stream(const char *path, const char *what, struct err *err) MUST_CHECK;

/* Where a name leads when symbolic links are followed; the last one may lead to nothing. The caller frees. */
char *out_file_target(const char *path);

/* A file without a name, for reading and writing, on the file system on which `beside` will be (NULL, or a
 * device: where temporary files go); the caller closes it. */
int out_file_temporary(const struct out_file *beside, FILE **ret, struct err *err) MUST_CHECK;

/* ---- any stream ---- */

/* Fails when the stream has lost something that was given to it. */
int out_stream_check(FILE *to, struct err *err) MUST_CHECK;

/* Flushes the stream, and checks. */
int out_stream_flush(FILE *to, struct err *err) MUST_CHECK;

/* Whether the stream's descriptor takes output at all. */
bool out_stream_is_open(FILE *to);

#endif
