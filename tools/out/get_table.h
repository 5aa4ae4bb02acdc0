/* get_table.h: objects as the rows that `kubectl get` prints, with the columns that the replay server has. */
#ifndef TOOLS_GET_TABLE_H
#define TOOLS_GET_TABLE_H

#include "schema/sql/session.h"
#include "schema/tape/event.h"

struct get_table;

struct get_table_options {
	const struct tape_resource *resource; /* borrowed */
	struct slice crd;                     /* of a custom resource: its CRD's JSON; else empty */
	bool with_namespace, wide, with_labels;
	bool with_resource; /* before each name */
	int64_t now_ns;     /* what ages are counted to */
};

/* "pod/" or "deployment.apps/", as kubectl writes before a name. The caller frees. */
char *get_table_name_prefix(const struct tape_resource *resource);

/* Rows go to `to`; nothing does when there are none. */
struct get_table *get_table_new(const struct get_table_options *o, const struct sql_sink *to);
void get_table_free(struct get_table *t);

/* The sink for rows of (namespace, object), or (namespace, object, the moment to which ages are counted). */
struct sql_sink get_table_sink(struct get_table *t);

#endif
