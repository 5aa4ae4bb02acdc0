/* audit_lines.h: the lines of an audit log: a file, plain or gzip, standard input, or a file that still grows. */
#ifndef TOOLS_AUDIT_LINES_H
#define TOOLS_AUDIT_LINES_H

#include "schema/base/buf.h"

/* Gives every line, also a last one without a line feed; "-" is standard input. A non-zero return stops, and is
 * returned. ERR_TOO_LARGE for a line above LIMIT_OBJECT_BYTES. */
int audit_lines_read(const char *path, int (*each)(void *context, struct slice line, struct err *err),
	void *context, struct err *err) MUST_CHECK;

/* A log that is being written. It may be rotated by renaming and a new file, or by copying and truncating. */
struct audit_tail;

/* The file need not exist yet. at_end: skip its present contents. */
struct audit_tail *audit_tail_new(const char *path, bool at_end);
void audit_tail_free(struct audit_tail *t); /* accepts NULL */

/* Gives every whole line that came since the last call. */
int audit_tail_read(struct audit_tail *t, int (*each)(void *context, struct slice line, struct err *err),
	void *context, struct err *err) MUST_CHECK;

#endif
