/* viewer_state.c: the objects of a resource at a position, as the rows that kubectl prints. */
#include "replayer/view/viewer_internal.h"

#include "replayer/table/table_columns.h"
#include "schema/base/clock.h"
#include "schema/tape/position.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATE_LIMIT_NS (10 * NS_PER_S)
#define ROWS_MAX       500

struct state_rows {
	struct answer_out *o;
	struct tape *tape;
	const struct table_column *columns;
	int64_t now_ns;
	const char *filter; /* part of a key, as lanes have it */
	const struct tape_resource *resource;
	size_t count; /* rows that pass the filter */
};

static const struct tape_resource *find_resource(struct tape *t, struct slice name)
{
	const struct tape_resource *r;
	struct slice resource = slice_cut(&name, '.');

	for (size_t i = 0; (r = tape_resource_at(t, i)); i++) {
		if (slice_is(resource, r->resource) && slice_is(name, r->apigroup))
			return r;
	}
	return NULL;
}

static bool is_shown(const struct table_column *c)
{
	return c->priority == 0 || c->priority == 1;
}

static void put_columns(struct answer_out *o, const struct table_column *columns)
{
	bool any = false;

	answer_put(o, "\"columns\":[");
	for (const struct table_column *c = columns; c->name; c++) {
		if (!is_shown(c))
			continue;
		answer_put(o, any ? ",{\"wide\":%s" : "{\"wide\":%s", c->priority ? "true" : "false");
		answer_member(o, "name", slice_of(c->name));
		answer_put(o, "}");
		any = true;
	}
	answer_put(o, "],\"rows\":[");
}

static int put_cells(struct state_rows *s, const cJSON *object, struct err *err)
{
	int rc = 0;

	for (const struct table_column *c = s->columns; c->name && !rc; c++) {
		if (!is_shown(c))
			continue;
		answer_put(s->o, ",");
		rc = c->write(&(struct table_cell){object, c, s->now_ns, s->o->to, err});
	}
	return rc;
}

static bool row_matches(const struct state_rows *s, struct slice namespace, struct slice name)
{
	const struct tape_resource *r = s->resource;
	char *key;
	bool matches;

	if (!*s->filter)
		return true;
	key = xasprintf("%s%s%s/%.*s/%.*s", r->resource, *r->apigroup ? "." : "", r->apigroup,
		(int)namespace.len, namespace.ptr, (int)name.len, name.ptr);
	matches = strcasestr(key, s->filter) != NULL;
	free(key);
	return matches;
}

static int put_object_cells(struct state_rows *s, uint64_t seq, struct err *err)
{
	struct slice text;
	cJSON *object;
	int rc = tape_object(s->tape, seq, &text, err);

	if (rc)
		return rc;
	object = cJSON_ParseWithLength(text.ptr, text.len);
	if (!object)
		return err_set(
			err, ERR_CORRUPT, "the object of event %llu is not JSON", (unsigned long long)seq);
	rc = put_cells(s, object, err);
	cJSON_Delete(object);
	return rc;
}

/* Rows are (namespace, name, seq, uid); told as [namespace, name, seq, uid, cells..]. Only objects that are
 * told are decoded. */
static int put_row(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	struct state_rows *s = context;
	int rc;

	(void)count;
	if (!row_matches(s, values[0].bytes, values[1].bytes))
		return 0;
	if (s->count++ >= ROWS_MAX)
		return 0;
	answer_put(s->o, s->count > 1 ? ",[" : "[");
	answer_text(s->o, values[0].bytes);
	answer_put(s->o, ",");
	answer_text(s->o, values[1].bytes);
	answer_put(s->o, ",\"%lld\",", (long long)values[2].integer);
	answer_text(s->o, values[3].bytes);
	rc = put_object_cells(s, (uint64_t)values[2].integer, err);
	answer_put(s->o, "]");
	return rc ? rc : s->o->code;
}

static int keep_object(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	struct buf *to = context;

	(void)count;
	return buf_append(to, values[0].bytes.ptr, values[0].bytes.len, err);
}

/* The columns of a custom resource are in its CRD; the caller frees. NULL for a kind that is built in. */
static int find_custom(
	struct viewer_desk *d, const struct tape_resource *r, struct table_column **ret, struct err *err)
{
	static const char sql[] =
		"SELECT object FROM objects(:at) WHERE apigroup = 'apiextensions.k8s.io' AND "
		"resource = 'customresourcedefinitions' AND name = :crd";
	char *name = xasprintf("%s.%s", r->resource, r->apigroup);
	struct buf crd;
	int rc;

	buf_init(&crd, LIMIT_OBJECT_BYTES);
	sql_session_set(d->session, "crd", name);
	rc = sql_session_run(
		d->session, slice_of(sql), &(struct sql_sink){.row = keep_object, .context = &crd}, err);
	*ret = !rc && crd.len ? table_custom_columns(buf_slice(&crd), r->version) : NULL;
	buf_release(&crd);
	free(name);
	return rc;
}

static void set_position(struct viewer_desk *d, const struct tape_resource *r, uint64_t seq)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)seq);
	sql_session_set(d->session, "at", text);
	sql_session_set(d->session, "resource", r->resource);
	sql_session_set(d->session, "apigroup", r->apigroup);
	sql_session_limit(d->session, STATE_LIMIT_NS);
}

int viewer_state(struct viewer_desk *d, const struct query *q, struct buf *to, struct err *err)
{
	static const char sql[] = "SELECT coalesce(namespace, ''), name, seq, uid FROM objects(:at) "
				  "WHERE resource = :resource AND apigroup = :apigroup";
	const struct tape_resource *r = find_resource(picture_tape(d->picture), query_get(q, "resource"));
	struct answer_out o = {to, err, 0};
	struct state_rows rows = {.o = &o,
		.tape = picture_tape(d->picture),
		.now_ns = viewer_number(q, "time", 0),
		.resource = r};
	char *filter;
	struct table_column *custom;
	uint64_t seq = (uint64_t)viewer_number(q, "seq", 0);
	int rc = seq ? 0 : tape_position_at_time(picture_tape(d->picture), rows.now_ns, &seq, err);

	if (rc)
		return rc;
	if (!r)
		return err_set(err, ERR_NOT_FOUND, "that resource is not on the tape");
	set_position(d, r, seq);
	rc = find_custom(d, r, &custom, err);
	if (rc)
		return rc;
	rows.columns = custom ? custom : table_kind_columns(slice_of(r->apigroup), slice_of(r->resource));
	rows.filter = filter = slice_dup(query_get(q, "filter"));
	answer_put(&o, "{");
	put_columns(&o, rows.columns);
	if (!o.code)
		rc = sql_session_run(
			d->session, slice_of(sql), &(struct sql_sink){.row = put_row, .context = &rows}, err);
	answer_put(&o, "],\"total\":%zu}", rows.count);
	table_custom_columns_free(custom);
	free(filter);
	return rc ? rc : o.code;
}
