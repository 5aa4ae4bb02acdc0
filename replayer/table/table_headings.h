/*
 * table_headings.h: the API server's headings for columns of built-in kinds. table_headings.c is generated
 * from Kubernetes' own code (tools/kinds). Descriptions are taken from there; name, type, format and priority
 * are beside the cells in table_kinds.c, and a test compares them with this table.
 */
#ifndef REPLAYER_TABLE_HEADINGS_H
#define REPLAYER_TABLE_HEADINGS_H

#include "schema/base/buf.h"

/* The columns of one kind follow one another in the server's order. Group and kind are empty for the columns
 * of kinds about which the server knows nothing in particular. */
struct table_heading {
	const char *group, *kind;
	const char *name, *type, *format;
	unsigned char priority, text; /* text: in table_heading_texts */
};

extern const char *const table_heading_texts[];
extern const struct table_heading table_headings[];
extern const unsigned table_heading_count;

#endif
