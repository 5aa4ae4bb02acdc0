/*
 * table.h: objects as the rows that kubectl prints. Columns are those of the API server for built-in kinds,
 * the CRD's for custom resources, and name and age for everything else.
 */
#ifndef REPLAYER_TABLE_H
#define REPLAYER_TABLE_H

#include "replayer/table/view.h"

/* Makes sure that the columns of a custom resource are those of its CRD at the position; to be called before
 * a table of it is written. */
void table_prepare(struct world *w, struct collection *c);

/* Whether the kind has no columns but those that all have. */
bool table_is_plain(const struct view *v);

/* {"kind":"Table",...,"rows": ; the rows in brackets and "}" follow. */
int table_head(const struct view *v, const struct list_meta *m, struct buf *to, struct err *err) MUST_CHECK;
int table_row(const struct view *v, struct slice object, struct buf *to, struct err *err) MUST_CHECK;

/* Puts the objects of a list, which are in the order of their names, into the order of the table's rows: the
 * API server shows FlowSchemas by precedence, and of other kinds the order stays. */
int table_sort_rows(
	const struct view *v, struct world *w, uint64_t *seqs, size_t count, struct err *err) MUST_CHECK;

/* A table with one row, for a single object and for the events of a watch. */
int table_of_one(const struct view *v, struct slice object, struct buf *to, struct err *err) MUST_CHECK;

#endif
