/* push_put.h: one segment, written into the folder of its tape in a store. */
#ifndef RECORDER_PUSH_PUSH_PUT_H
#define RECORDER_PUSH_PUSH_PUT_H

#include "recorder/push/manifest.h"

/* The store has the segment in the file at `path` when this returns 0, and *s its etag. What is there under its name is replaced only
 * if it was this segment once, as the manifest or its own sum says; ERR_FAILED for anything else. And as in s3.h. */
int push_put(struct s3 *store, const char *folder, const struct manifest *m, const char *path,
	struct manifest_segment *s, struct err *err) MUST_CHECK;

#endif
