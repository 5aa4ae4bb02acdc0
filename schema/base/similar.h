/*
 * similar.h: the probable meaning of an unknown word: the candidate that needs the fewest letters changed,
 * left out, inserted or swapped with their neighbour. Upper and lower case are the same.
 */
#ifndef SCHEMA_BASE_SIMILAR_H
#define SCHEMA_BASE_SIMILAR_H

#include "schema/base/buf.h"

struct similar {
	struct slice word;  /* borrowed */
	size_t least;       /* candidates that differ in this many letters are not better */
	const char *meant;  /* the best so far, borrowed; NULL: none is so near that it may have been meant */
	const void *choice; /* the context that was offered with it */
};

struct similar similar_to(struct slice word);

/* True if it is the best so far; `choice` is for the caller and may be NULL. */
bool similar_offer(struct similar *s, const char *candidate, const void *choice);

/* Offers every word of a list separated by blanks or commas. The caller frees the best; NULL: none. */
char *similar_in(struct slice word, const char *candidates);

#endif
