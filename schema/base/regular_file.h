/*
 * regular_file.h: files of a tape, which must be regular ones. A FIFO in the place of one would hold its
 * reader for ever, a device has no end.
 */
#ifndef SCHEMA_BASE_REGULAR_FILE_H
#define SCHEMA_BASE_REGULAR_FILE_H

#include "schema/base/err.h"

#include <stdint.h>

/* open(2) with O_CLOEXEC, and 0600 for a file that it makes; never waits. Returns the descriptor;
 * ERR_NOT_FOUND if there is no such file, ERR_CORRUPT for anything but a regular file, ERR_IO for other
 * failures. */
int regular_file_open(const char *path, int flags, struct err *err) MUST_CHECK;

/* For libraries that open files themselves: 0 if the name is that of a regular file or of nothing, else
 * ERR_CORRUPT. */
int regular_file_check(const char *path, struct err *err) MUST_CHECK;

/* The offset of the next bytes of the file that are not in a hole, at or after that offset; UINT64_MAX if
 * there are none. If the file system does not say, the offset itself. */
uint64_t regular_file_next_data(int fd, uint64_t offset);

#endif
