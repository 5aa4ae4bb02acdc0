/* get_table.c: see get_table.h. */
#include "tools/out/get_table.h"

#include "replayer/kinds/builtin.h"
#include "replayer/table/table_columns.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <ctype.h>
#include <stdlib.h>

#define MAX_COLUMNS 64

struct get_table {
	struct get_table_options options;
	struct sql_sink to;
	struct table_column *custom; /* NULL for a built-in kind */
	const struct table_column *columns[MAX_COLUMNS];
	size_t column_count; /* without the namespace */
	char *prefix;
	bool begun;
	struct buf cells; /* texts of a row, one after the other */
	struct buf json;  /* one cell as the writers give it */
};

static void choose_columns(struct get_table *t, const struct table_column *all)
{
	for (const struct table_column *c = all; c->name && t->column_count < MAX_COLUMNS; c++) {
		if (c->priority == 0 || (c->priority > 0 && t->options.wide))
			t->columns[t->column_count++] = c;
	}
}

struct get_table *get_table_new(const struct get_table_options *o, const struct sql_sink *to)
{
	struct get_table *t = xcalloc(1, sizeof(*t));

	t->options = *o;
	t->to = *to;
	buf_init(&t->cells, LIMIT_OBJECT_BYTES);
	buf_init(&t->json, LIMIT_OBJECT_BYTES);
	if (!builtin_group(slice_of(o->resource->apigroup)))
		t->custom = table_custom_columns(o->crd, o->resource->version);
	t->prefix = o->with_resource ? get_table_name_prefix(o->resource) : xstrdup("");
	choose_columns(t, t->custom ? t->custom
				    : table_kind_columns(slice_of(o->resource->apigroup),
					      slice_of(o->resource->resource)));
	return t;
}

void get_table_free(struct get_table *t)
{
	if (!t)
		return;
	table_custom_columns_free(t->custom);
	free(t->prefix);
	buf_release(&t->cells);
	buf_release(&t->json);
	free(t);
}

char *get_table_name_prefix(const struct tape_resource *resource)
{
	char *prefix =
		xasprintf("%s%s%s/", resource->kind, *resource->apigroup ? "." : "", resource->apigroup);

	for (char *c = prefix; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return prefix;
}

/* kubectl writes names in capitals. */
static char *heading(const char *name)
{
	char *text = xstrdup(name);

	for (char *c = text; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return text;
}

static int get_table_begin(struct get_table *t, struct err *err)
{
	size_t first = t->options.with_namespace;
	char *headings[MAX_COLUMNS + 2];
	int rc;

	t->begun = true;
	headings[0] = heading("namespace");
	for (size_t i = 0; i < t->column_count; i++)
		headings[i + 1] = heading(t->columns[i]->name);
	headings[t->column_count + 1] = heading("labels");
	rc = t->to.begin(t->to.context, (const char *const *)headings + !first,
		t->column_count + first + t->options.with_labels, err);
	for (size_t i = 0; i <= t->column_count + 1; i++)
		free(headings[i]);
	return rc;
}

/* Appends the text of one cell, which the writers give as a JSON text or number. */
static int put_cell(struct get_table *t, const cJSON *object, size_t column, struct err *err)
{
	struct table_cell cell = {object, t->columns[column], t->options.now_ns, &t->json, err};
	int rc;

	buf_clear(&t->json);
	rc = t->columns[column]->write(&cell);
	if (rc)
		return rc;
	if (t->json.len && t->json.ptr[0] == '"')
		return json_unescape(buf_slice(&t->json), &t->cells, err);
	if (slice_is(buf_slice(&t->json), "null"))
		return 0; /* kubectl leaves the cell blank */
	return buf_append(&t->cells, t->json.ptr, t->json.len, err);
}

static int by_label(const void *left, const void *right)
{
	const cJSON *const *a = left, *const *b = right;

	return strcmp((*a)->string, (*b)->string);
}

/* "app=web,tier=front" in the order of their names. */
static int put_labels(struct get_table *t, const cJSON *object, struct err *err)
{
	const cJSON *labels = cJSON_GetObjectItemCaseSensitive(
		cJSON_GetObjectItemCaseSensitive(object, "metadata"), "labels");
	const cJSON **sorted = xcalloc((size_t)cJSON_GetArraySize(labels) + 1, sizeof(cJSON *)), *label;
	size_t count = 0;
	int rc = 0;

	cJSON_ArrayForEach(label, labels)
	{
		if (label->string && cJSON_IsString(label))
			sorted[count++] = label;
	}
	if (count)
		qsort(sorted, count, sizeof(cJSON *), by_label);
	for (size_t i = 0; i < count && !rc; i++)
		rc = buf_printf(
			&t->cells, err, "%s%s=%s", i ? "," : "", sorted[i]->string, sorted[i]->valuestring);
	free(sorted);
	return rc || count ? rc : buf_append(&t->cells, "<none>", 6, err);
}

static int give_row(struct get_table *t, struct slice namespace, const cJSON *object, struct err *err)
{
	size_t first = t->options.with_namespace, ends[MAX_COLUMNS + 1], begin = 0;
	size_t count = t->column_count + t->options.with_labels;
	struct sql_value values[MAX_COLUMNS + 2];
	int rc;

	buf_clear(&t->cells);
	for (size_t i = 0; i < t->column_count; i++) {
		if (i == 0 && (rc = buf_append(&t->cells, t->prefix, strlen(t->prefix), err)))
			return rc;
		rc = put_cell(t, object, i, err);
		if (rc)
			return rc;
		ends[i] = t->cells.len;
	}
	if (t->options.with_labels && (rc = put_labels(t, object, err)))
		return rc;
	ends[count - 1] = t->cells.len;
	values[0] = (struct sql_value){.type = SQL_TEXT, .bytes = namespace};
	for (size_t i = 0; i < count; i++) {
		struct slice text = {t->cells.ptr + begin, ends[i] - begin};

		values[i + 1] = (struct sql_value){.type = SQL_TEXT, .bytes = text};
		begin = ends[i];
	}
	return t->to.row(t->to.context, values + !first, count + first, err);
}

static int on_row(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	struct get_table *t = context;
	cJSON *object;
	int rc;

	if (count > 2)
		t->options.now_ns = values[2].integer;
	if (!t->begun && (rc = get_table_begin(t, err)))
		return rc;
	object = cJSON_ParseWithLength(values[1].bytes.ptr, values[1].bytes.len);
	if (!object)
		return err_set(
			err, ERR_CORRUPT, "an object of '%s' is not JSON", t->options.resource->resource);
	rc = give_row(t, values[0].bytes, object, err);
	cJSON_Delete(object);
	return rc;
}

static int on_end(void *context, struct err *err)
{
	struct get_table *t = context;

	return t->begun ? t->to.end(t->to.context, err) : 0;
}

struct sql_sink get_table_sink(struct get_table *t)
{
	return (struct sql_sink){.row = on_row, .end = on_end, .context = t};
}
