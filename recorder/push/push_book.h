/* push_book.h: the audit book of a tape in a store: the object audit.sqlite beside its segments, whose sum the manifest has. */
#ifndef RECORDER_PUSH_PUSH_BOOK_H
#define RECORDER_PUSH_PUSH_BOOK_H

#include "recorder/push/manifest.h"

#define PUSH_BOOK_OBJECT "audit.sqlite"

/* Writes a copy of the tape's book into the folder at `key`, unless the one described by *book is the same.
 * Returns 1 and the new *book, or 0; 0 also if the tape has none, which leaves the store's copy. */
int push_book(struct s3 *s, const char *key, const char *tape_path, struct manifest_book *book,
	struct err *err) MUST_CHECK;

/* Fetches the book of the tape at `key` into its local folder; removes one there that the manifest does not
 * name. */
int push_book_fetch(struct s3 *s, const char *key, const struct manifest_book *book, const char *tape_folder,
	struct err *err) MUST_CHECK;

#endif
