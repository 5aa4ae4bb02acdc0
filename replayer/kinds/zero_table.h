/*
 * zero_table.h: how objects of the built-in kinds look of which nothing is set, in the words of the API server:
 * zero_table.c is generated from Kubernetes' own code (tools/kinds). Bookmarks are such objects.
 */
#ifndef REPLAYER_ZERO_TABLE_H
#define REPLAYER_ZERO_TABLE_H

/* Kinds that show nothing but their metadata have no row. */
struct zero_object {
	const char *api_version, *kind;
	const char *annotations; /* members of metadata.annotations; "" none */
	const char *rest;        /* what follows metadata, from its comma on; without the closing brace */
};

extern const struct zero_object zero_objects[];
extern const unsigned zero_object_count;

#endif
