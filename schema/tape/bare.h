/*
 * bare.h: objects without the digits of their resourceVersions, as bare packs have them (FORMAT.md, section 5). In a stream
 * each version is a little more than the one before; with versions of one object side by side, they are an eighth of what a
 * well-packed pack takes. The index has them anyway.
 */
#ifndef SCHEMA_TAPE_BARE_H
#define SCHEMA_TAPE_BARE_H

#include "schema/tape/extent.h"

/* How long the event's object is without its version; 0 if the index is wrong. */
size_t bare_length(const struct extent *x, const struct extent_event *e);

/* Appends the object without its version. False if that could not be put back; what was appended is of no use then. */
bool bare_put(
	const struct extent *x, const struct extent_event *e, struct slice object, struct buf *to) MUST_CHECK;

/* Appends the object with its version. False if that has no place. */
bool bare_get(
	const struct extent *x, const struct extent_event *e, struct slice bare, struct buf *to) MUST_CHECK;

#endif
