/*
 * table_columns.h: the columns of a table and how their cells are read from an object. Columns of built-in
 * kinds are constant rows in table_kinds.c; those of custom resources are made from their CRD.
 */
#ifndef REPLAYER_TABLE_COLUMNS_H
#define REPLAYER_TABLE_COLUMNS_H

#include "schema/base/buf.h"

#include <cjson/cJSON.h>

/* The source of a cell. */
struct table_cell {
	const cJSON *object;
	const struct table_column *column;
	int64_t now_ns;
	struct buf *to; /* gets the cell as JSON */
	struct err *err;
};

typedef int table_cell_writer(const struct table_cell *c);

/* The priority of a cell for which the API server sends none. */
#define COLUMN_WITHOUT_HEADING (-1)

struct table_column {
	const char *name;
	const char *type; /* "string", "integer", ... */
	int priority;     /* 0 always shown, 1 only when wide, or COLUMN_WITHOUT_HEADING */
	table_cell_writer *write;
	const char *a, *b;       /* paths or texts, as the writer takes them */
	const char *format;      /* NULL: "" */
	const char *description; /* NULL: as table_headings.h has it */
};

/* Name and age, of kinds that have no columns of their own. */
extern const struct table_column table_plain_columns[];

/* The columns of a built-in resource, ended by a NULL name; those of unknown ones are name and creation. */
const struct table_column *table_kind_columns(struct slice group, struct slice resource);

/* The columns that a CRD declares for one of its versions, name first; name and age when it declares none.
 * `crd` is the CRD's JSON, which may be empty. The caller frees. */
struct table_column *table_custom_columns(struct slice crd, const char *version);
void table_custom_columns_free(struct table_column *columns);

/* ---- shared by the writers ---- */

/* The value at "spec.replicas"; NULL if there is none. Keys hold no dots. */
const cJSON *cell_at(const cJSON *object, const char *path);
const char *cell_string(const cJSON *object, const char *path, const char *otherwise);
int64_t cell_integer(const cJSON *object, const char *path, int64_t otherwise);
/* The value after "=" of the entry of a list whose member `key` is `value`: conditions, addresses. */
const cJSON *cell_entry(const cJSON *list, const char *key, const char *value);
/* Whether a condition in the status of that type is "True". */
bool cell_has_condition(const cJSON *object, const char *type);

/* The members of a map (may be NULL) in order of their keys; the caller frees the array. */
const cJSON **cell_sorted(const cJSON *map, size_t *ret_count);

int cell_put_text(const struct table_cell *c, const char *text);
int cell_put_integer(const struct table_cell *c, int64_t value);
int cell_put_format(const struct table_cell *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The age of an RFC 3339 text. */
int cell_put_age(const struct table_cell *c, const char *timestamp);

/* Texts joined by a separator; takes ownership of its arguments. */
struct cell_joined {
	struct buf text;
	size_t count;
};
void cell_join(struct cell_joined *j, const char *separator, const char *text);
int cell_put_joined(const struct table_cell *c, struct cell_joined *j, const char *when_empty);

#endif
