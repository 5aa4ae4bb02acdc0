/*
 * import_known.h: the objects that are live at this point of an import, with their last bytes: for comparing
 * two lists of the same resource, and for applying patches.
 */
#ifndef TOOLS_IMPORT_KNOWN_H
#define TOOLS_IMPORT_KNOWN_H

#include "schema/base/buf.h"

struct import_object {
	uint64_t hash;         /* of stream, namespace and name; 0: the slot is free */
	uint32_t stream, seen; /* seen: the list that had it last */
	bool live;
	char *namespace, *name, *uid, *rv;
	struct buf object;
};

struct import_known {
	struct import_object **slots;
	size_t slot_count, count;
};

void import_known_release(struct import_known *k);

/* The object, live or gone; NULL if there never was one. */
struct import_object *import_known_find(
	const struct import_known *k, uint32_t stream, struct slice namespace, struct slice name);

/* Like it, but makes it if there is none; its address stays. */
struct import_object *import_known_make(
	struct import_known *k, uint32_t stream, struct slice namespace, struct slice name);

/* Makes it live with this version; everything is copied. */
int import_known_set(struct import_object *o, struct slice uid, struct slice rv, struct slice object,
	struct err *err) MUST_CHECK;

void import_known_delete(struct import_object *o);

#endif
