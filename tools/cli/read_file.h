/* read_file.h: files that a person names on a command line: of at most the buffer's maximum. */
#ifndef TOOLS_READ_FILE_H
#define TOOLS_READ_FILE_H

#include "schema/base/buf.h"

/* Appends the file. */
int read_file(const char *path, struct buf *to, struct err *err) MUST_CHECK;

/* Appends all data from fd until its end; `name` for the error. */
int read_all(int fd, const char *name, struct buf *to, struct err *err) MUST_CHECK;

#endif
