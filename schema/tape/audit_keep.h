/* audit_keep.h: an audit book that keeps pace with its tape, and a copy of it to give away. */
#ifndef SCHEMA_TAPE_AUDIT_KEEP_H
#define SCHEMA_TAPE_AUDIT_KEEP_H

#include "schema/tape/audit_book.h"

/*
 * Removes the claims about events that are no longer on the tape, after retention has removed segments.
 * Claims of objects with which the tape begins stay, and so do those of the last ten minutes before it,
 * because two clocks may differ. Returns the number of removed claims; 0 also if the tape has no book. Other
 * programs may write the book meanwhile.
 */
int64_t audit_book_prune(const char *tape_path, struct err *err) MUST_CHECK;

/* Writes the book of the tape as it is now to the path, which must not exist: 1, or 0 if the tape has none. The same claims give
 * the same bytes. */
int audit_book_copy(const char *tape_path, const char *to, struct err *err) MUST_CHECK;

#endif
