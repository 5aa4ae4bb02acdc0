/* table.c: see table.h. */
#include "replayer/table/table.h"

#include "replayer/table/table_columns.h"
#include "replayer/table/table_headings.h"
#include "replayer/world/crd.h"
#include "schema/base/clock.h"
#include "schema/base/json_scan.h"
#include "schema/base/moment.h"

#include <stdio.h>
#include <stdlib.h>

static const struct table_column *columns_of(const struct view *v)
{
	const struct tape_resource *r = &v->collection->resource;

	if (v->collection->custom && v->collection->columns)
		return v->collection->columns;
	return table_kind_columns(slice_of(r->apigroup), slice_of(r->resource));
}

bool table_is_plain(const struct view *v)
{
	return !v->collection->custom && columns_of(v) == table_plain_columns;
}

void table_prepare(struct world *w, struct collection *c)
{
	struct slice crd = {NULL, 0};
	uint64_t seq;

	if (!c->custom)
		return;
	seq = crd_find(w, c, &crd);
	if (c->columns && seq == c->columns_seq)
		return;
	table_custom_columns_free(c->columns);
	c->columns_free = table_custom_columns_free;
	c->columns = table_custom_columns(seq ? crd : (struct slice){NULL, 0}, c->resource.version);
	c->columns_seq = seq;
}

/* ---- the head ---- */

static int write_text_member(struct buf *to, const char *key, const char *text, struct err *err)
{
	int rc = buf_append(to, key, strlen(key), err);

	return rc ? rc : json_escape(slice_of(text ? text : ""), to, err);
}

static const char *find_description(const char *group, const char *kind, const char *column)
{
	for (unsigned i = 0; i < table_heading_count; i++) {
		const struct table_heading *h = &table_headings[i];

		if (strcmp(h->kind, kind) == 0 && strcmp(h->group, group) == 0 &&
			strcmp(h->name, column) == 0)
			return table_heading_texts[h->text];
	}
	return NULL;
}

/* What the definition of a custom resource says, what the API server says of the kind, or of any kind. */
static const char *description_of(const struct view *v, const struct table_column *c)
{
	const struct tape_resource *r = &v->collection->resource;
	const char *text = c->description;

	if (!text && !v->collection->custom)
		text = find_description(r->apigroup, r->kind, c->name);
	return text ? text : find_description("", "", c->name);
}

static int write_column(const struct view *v, const struct table_column *c, struct buf *to, struct err *err)
{
	int rc = write_text_member(to, "{\"name\":", c->name, err);

	if (rc == 0)
		rc = write_text_member(to, ",\"type\":", c->type, err);
	if (rc == 0)
		rc = write_text_member(to, ",\"format\":", c->format, err);
	if (rc == 0)
		rc = write_text_member(to, ",\"description\":", description_of(v, c), err);
	return rc ? rc : buf_printf(to, err, ",\"priority\":%d}", c->priority);
}

/* The aggregator makes its own tables, and says the columns again with each of them. */
static bool repeats_headings(const struct view *v)
{
	return strcmp(v->collection->resource.apigroup, "apiregistration.k8s.io") == 0;
}

static int write_columns(const struct view *v, struct buf *to, struct err *err)
{
	const struct table_column *columns = columns_of(v);
	int rc;

	if (v->no_headers && !repeats_headings(v))
		return buf_append(to, "null", 4, err);
	rc = buf_append(to, "[", 1, err);
	for (const struct table_column *c = columns; rc == 0 && c->name; c++) {
		if (c->priority == COLUMN_WITHOUT_HEADING)
			continue;
		if (c != columns)
			rc = buf_append(to, ",", 1, err);
		if (rc == 0)
			rc = write_column(v, c, to, err);
	}
	return rc ? rc : buf_append(to, "]", 1, err);
}

static int write_head(
	const struct view *v, const char *rv, const struct list_meta *m, struct buf *to, struct err *err)
{
	int rc = buf_printf(to, err, "{\"kind\":\"Table\",\"apiVersion\":\"%s\",\"metadata\":{",
		v->beta ? "meta.k8s.io/v1beta1" : "meta.k8s.io/v1");

	if (rc == 0 && *rv)
		rc = buf_printf(to, err, "\"resourceVersion\":\"%s\"", rv);
	if (rc == 0 && m && *m->continue_token)
		rc = buf_printf(to, err, ",\"continue\":\"%s\"", m->continue_token);
	if (rc == 0 && m && m->remaining >= 0)
		rc = buf_printf(to, err, ",\"remainingItemCount\":%lld", (long long)m->remaining);
	if (rc == 0)
		rc = buf_printf(to, err, "},\"columnDefinitions\":");
	if (rc == 0)
		rc = write_columns(v, to, err);
	return rc ? rc : buf_printf(to, err, ",\"rows\":");
}

int table_head(const struct view *v, const struct list_meta *m, struct buf *to, struct err *err)
{
	char rv[24];

	snprintf(rv, sizeof(rv), "%llu", (unsigned long long)m->rv);
	return write_head(v, rv, m, to, err);
}

/* ---- rows ---- */

/* What a program wrote in this replay has times of the wall clock, which is mostly ahead of the tape's
 * position: then its age is counted on that clock. */
static int64_t now_for(const struct view *v, const cJSON *object)
{
	struct slice created = slice_of(cell_string(object, "metadata.creationTimestamp", ""));
	int64_t created_ns;

	if (!moment_is_absolute(created, &created_ns) || created_ns <= v->now_ns)
		return v->now_ns;
	return clock_wall_ns(&clock_system);
}

static int write_cells(const struct view *v, const cJSON *object, struct buf *to, struct err *err)
{
	const struct table_column *columns = columns_of(v);
	struct table_cell cell = {.object = object, .now_ns = now_for(v, object), .to = to, .err = err};
	int rc = buf_append(to, "[", 1, err);

	for (cell.column = columns; rc == 0 && cell.column->name; cell.column++) {
		if (cell.column != columns)
			rc = buf_append(to, ",", 1, err);
		if (rc == 0)
			rc = cell.column->write(&cell);
	}
	return rc ? rc : buf_append(to, "]", 1, err);
}

/* A pod that is over says so beside its cells. */
static int write_conditions(const struct view *v, const cJSON *object, struct buf *to, struct err *err)
{
	const char *phase = cell_string(object, "status.phase", "");
	const char *message = strcmp(phase, "Succeeded") == 0 ? "The pod has completed successfully."
			      : strcmp(phase, "Failed") == 0  ? "The pod failed."
							      : NULL;

	if (!message || strcmp(v->collection->resource.resource, "pods") != 0 ||
		*v->collection->resource.apigroup)
		return 0;
	return buf_printf(to, err,
		",\"conditions\":[{\"type\":\"Completed\",\"status\":\"True\",\"reason\":\"%s\",\"message\":\"%s\"}]",
		phase, message);
}

static int write_row_object(const struct view *v, struct slice object, struct buf *to, struct err *err)
{
	struct view inner = *v;

	if (v->include == INCLUDE_NONE)
		return buf_append(to, "null", 4, err);
	inner.form = v->include == INCLUDE_OBJECT ? FORM_OBJECT : FORM_PARTIAL;
	return view_object(&inner, object, to, err);
}

/* ---- order ---- */

struct ranked {
	int64_t rank;
	size_t place; /* among the others, by name */
	uint64_t seq;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static int64_t precedence_of(struct slice flow_schema)
{
	struct slice value;

	if (json_get(flow_schema, "spec.matchingPrecedence", &value, NULL) <= 0)
		return 0;
	return strtoll(value.ptr, NULL, 10);
}

static bool is_ranked(const struct view *v)
{
	const struct tape_resource *r = &v->collection->resource;

	return v->form == FORM_TABLE && strcmp(r->resource, "flowschemas") == 0 &&
	       strcmp(r->apigroup, "flowcontrol.apiserver.k8s.io") == 0;
}

int table_sort_rows(const struct view *v, struct world *w, uint64_t *seqs, size_t count, struct err *err)
{
	struct ranked *rows;
	struct slice object;
	int rc = 0;

	if (!is_ranked(v) || count < 2)
		return 0;
	rows = xcalloc(count, sizeof(*rows));
	for (size_t i = 0; i < count && rc == 0; i++) {
		rc = world_object(w, seqs[i], &object, err);
		if (rc == 0)
			rows[i] = (struct ranked){precedence_of(object), i, seqs[i]};
	}
	if (rc == 0)
		qsort(rows, count, sizeof(*rows), compare_ranked);
	for (size_t i = 0; i < count && rc == 0; i++)
		seqs[i] = rows[i].seq;
	free(rows);
	return rc;
}

int table_row(const struct view *v, struct slice object, struct buf *to, struct err *err)
{
	cJSON *tree = cJSON_ParseWithLength(object.ptr, object.len);
	int rc = buf_printf(to, err, "{\"cells\":");

	if (rc == 0)
		rc = write_cells(v, tree, to, err);
	if (rc == 0)
		rc = write_conditions(v, tree, to, err);
	if (rc == 0)
		rc = buf_printf(to, err, ",\"object\":");
	if (rc == 0)
		rc = write_row_object(v, object, to, err);
	cJSON_Delete(tree);
	return rc ? rc : buf_append(to, "}", 1, err);
}

int table_of_one(const struct view *v, struct slice object, struct buf *to, struct err *err)
{
	struct object_meta meta = {0};
	char rv[64];
	int rc = json_scan_object(object, &meta, err);

	snprintf(rv, sizeof(rv), "%.*s", (int)meta.rv.len, meta.rv.ptr ? meta.rv.ptr : "");
	if (rc == 0)
		rc = write_head(v, rv, NULL, to, err);
	if (rc == 0)
		rc = buf_append(to, "[", 1, err);
	if (rc == 0)
		rc = table_row(v, object, to, err);
	return rc ? rc : buf_append(to, "]}", 2, err);
}
