/*
 * salvage_extent.h: the objects of one extent of a damaged tape.
 */
#ifndef SCHEMA_TAPE_SALVAGE_EXTENT_H
#define SCHEMA_TAPE_SALVAGE_EXTENT_H

#include "schema/tape/salvage.h"

/* Whose index is x; blocks are opened as they are needed, and
 * those used last kept. Cheap in the order of layout, and where the extent is small. */
struct extent_objects;
struct extent_objects *extent_objects_new(struct salvaged *s, const struct kept_extent *e, struct extent *x);
void extent_objects_free(struct extent_objects *o);
const struct extent *extent_objects_index(const struct extent_objects *o);
/* The object of event `index`, proved to be that event's; false if it is not intact. Borrowed until the
 * next call. */
bool extent_objects_get(struct extent_objects *o, uint32_t index, struct slice *ret);

/* Some successive events' objects, so that they can be walked in the order of seq. */
struct object_slice {
	uint32_t begin, end; /* events of the index */
	struct buf bytes;
	struct slice_place {
		size_t offset, length; /* length 0: not intact */
	} * places;                    /* of each */
};
/* Reads those from `begin` on, as many as OBJECT_SLICE_BYTES hold, but one at least. */
#define OBJECT_SLICE_BYTES (32u << 20)
void object_slice_read(struct object_slice *s, struct extent_objects *o, uint32_t begin);
void object_slice_release(struct object_slice *s);
static inline struct slice object_slice_get(const struct object_slice *s, uint32_t index)
{
	const struct slice_place *p = &s->places[index - s->begin];

	return (struct slice){s->bytes.ptr + p->offset, p->length};
}

#endif
