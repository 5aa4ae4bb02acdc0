/*
 * write_table.h: what an API server knows about its own resources and the fields of their types. The tables
 * (write_table.c) are generated from the published OpenAPI document by tools/openapi.
 */
#ifndef REPLAYER_WRITE_TABLE_H
#define REPLAYER_WRITE_TABLE_H

#include <stdbool.h>

struct write_resource {
	const char *group, *version, *resource, *kind;
	bool namespaced;
	const char *subresources; /* separated by commas */
	const char *type;         /* of write_types; "" when there is nothing to say of it */
};

/*
 * Fields of which there is something to say: "name WORD...;name WORD...". A WORD is
 *     map:KEY+KEY   the list's items are told apart by these keys; KEY=DEFAULT for one that may be left out
 *     set           the list is a set
 *     merge:KEY     a strategic merge patch merges the list's items by this key ("" as a set)
 *     retain        such a patch may name the keys to retain
 *     atomic        the map is replaced as a whole
 *     each          a map of things of the TYPE that follows
 *     =TYPE         of the field, its items or its values
 * A first entry "atomic" without a name says it of the type itself. All other lists are replaced as a whole,
 * all other maps and objects are merged.
 */
struct write_type {
	const char *name, *fields;
};

extern const struct write_resource write_resources[];
extern const unsigned write_resource_count;
extern const struct write_type write_types[]; /* sorted by name */
extern const unsigned write_type_count;

#endif
