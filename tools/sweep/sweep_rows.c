/* sweep_rows.c: the events of the tape as the search for places sees them. See sweep_rows.h. */
#include "tools/sweep/sweep_rows.h"

#include "schema/run/run_schema.h"

#include <stdlib.h>

#define SQL_MAX (1u << 20)

/* ---- reading the tape ---- */

static char *text_of(const struct sql_value *v)
{
	return v->type == SQL_TEXT ? slice_dup(v->bytes) : xstrdup("");
}

static int add_row(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct sweep_rows *rows = context;
	int64_t before_ns = rows->count ? rows->items[rows->count - 1].time_ns : INT64_MIN;
	struct sweep_row *r;

	(void)count;
	(void)err;
	if (rows->count == rows->cap) {
		rows->cap = rows->cap ? 2 * rows->cap : 1024;
		rows->items = xrealloc(rows->items, rows->cap * sizeof(*rows->items));
	}
	r = &rows->items[rows->count++];
	*r = (struct sweep_row){.seq = (uint64_t)v[0].integer,
		.time_ns = v[1].integer > before_ns ? v[1].integer : before_ns,
		.type = v[2].bytes.len ? v[2].bytes.ptr[0] : '?',
		.resource = text_of(&v[3]),
		.object = text_of(&v[4]),
		.uid = text_of(&v[5]),
		.reached = v[6].integer != 0,
		.terminating = v[7].integer != 0,
		.left = v[8].integer != 0,
		.entered = v[9].integer != 0,
		.wanted = v[10].integer != 0};
	return 0;
}

static int read_rows(
	struct sql_session *s, const struct sweep_search *what, struct sweep_rows *rows, struct err *err)
{
	const struct sql_sink sink = {.row = add_row, .context = rows};
	struct buf sql;
	int rc;

	buf_init(&sql, SQL_MAX);
	rc = buf_printf(&sql, err,
		"SELECT seq, time_ns, type, resource || iif(apigroup = '', '', '.' || apigroup),"
		" iif(coalesce(namespace, '') = '', '', namespace || '/') || name, uid,"
		" seq IN (SELECT seq FROM deliveries), %s,"
		" type = 'MODIFIED' AND seq IN (SELECT seq FROM deliveries WHERE type = 'DELETED'),"
		" type = 'MODIFIED' AND seq IN (SELECT seq FROM deliveries WHERE type = 'ADDED'), 0",
		what->kinds[SWEEP_TERMINATION] || what->kinds[SWEEP_REPLACEMENT] ||
				what->kinds[SWEEP_DOWNTIME]
			? "jget(object, '$.metadata.deletionTimestamp') IS NOT NULL"
			: "0");
	for (size_t i = 0; rc == 0 && i < what->wanted->count; i++)
		rc = buf_printf(&sql, err, " OR coalesce((%s), 0)", what->wanted->items[i]);
	if (rc == 0)
		rc = buf_printf(&sql, err,
			" FROM events WHERE origin <> 'list'"
			" AND seq > (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'first_seq')"
			" AND seq <= (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'last_seq')"
			" ORDER BY seq");
	if (rc == 0)
		rc = sql_session_run(s, buf_slice(&sql), &sink, err);
	buf_release(&sql);
	return rc;
}

static int add_name(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct sweep_names *names = context;

	(void)count;
	(void)err;
	names->items = xrealloc(names->items, (names->count + 1) * sizeof(*names->items));
	names->items[names->count++] = text_of(&v[0]);
	return 0;
}

int sweep_names_read(struct sql_session *s, struct sweep_names *names, struct err *err)
{
	static const char sql[] = "SELECT DISTINCT resource || iif(apigroup = '', '', '.' || apigroup)"
				  " FROM requests WHERE " RUN_IS_WATCH " ORDER BY 1";
	const struct sql_sink sink = {.row = add_name, .context = names};

	return sql_session_run(s, slice_of(sql), &sink, err);
}

void sweep_names_release(struct sweep_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
}

void sweep_rows_release(struct sweep_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		free(rows->items[i].resource);
		free(rows->items[i].object);
		free(rows->items[i].uid);
		free(rows->items[i].change);
	}
	free(rows->items);
}

/* ---- what belongs together ---- */

static int by_object(const void *left, const void *right)
{
	const struct sweep_row *a = *(const struct sweep_row *const *)left,
			       *b = *(const struct sweep_row *const *)right;
	int order = strcmp(a->resource, b->resource);

	if (order == 0)
		order = strcmp(a->object, b->object);
	return order ? order : (a > b) - (a < b);
}

static bool same_object(const struct sweep_row *a, const struct sweep_row *b)
{
	return strcmp(a->resource, b->resource) == 0 && strcmp(a->object, b->object) == 0;
}

static void link_rows(struct sweep_rows *rows)
{
	struct sweep_row **sorted = xcalloc(rows->count + 1, sizeof(struct sweep_row *));

	for (size_t i = 0; i < rows->count; i++) {
		rows->items[i].previous = rows->items[i].next = SWEEP_NO_ROW;
		sorted[i] = &rows->items[i];
	}
	qsort(sorted, rows->count, sizeof(struct sweep_row *), by_object);
	for (size_t i = 1; i < rows->count; i++) {
		if (!same_object(sorted[i - 1], sorted[i]))
			continue;
		sorted[i - 1]->next = (size_t)(sorted[i] - rows->items);
		sorted[i]->previous = (size_t)(sorted[i - 1] - rows->items);
	}
	free(sorted);
}

int sweep_rows_read(
	struct sql_session *s, const struct sweep_search *what, struct sweep_rows *ret, struct err *err)
{
	int rc = read_rows(s, what, ret, err);

	if (rc == 0 && (what->kinds[SWEEP_CHANGES] || what->kinds[SWEEP_DOWNTIME] ||
			       what->kinds[SWEEP_OVERWRITE] || what->kinds[SWEEP_REFERENCE]))
		rc = sweep_changes_read(s, ret, err);
	link_rows(ret);
	return rc;
}

static int by_seq(const void *seq, const void *row)
{
	uint64_t wanted = *(const uint64_t *)seq, has = ((const struct sweep_row *)row)->seq;

	return (wanted > has) - (wanted < has);
}

size_t sweep_rows_find(const struct sweep_rows *rows, uint64_t seq)
{
	const struct sweep_row *r =
		rows->count ? bsearch(&seq, rows->items, rows->count, sizeof(*rows->items), by_seq) : NULL;

	return r ? (size_t)(r - rows->items) : SWEEP_NO_ROW;
}

size_t sweep_rows_after(const struct sweep_rows *rows, size_t at)
{
	size_t end = at + 1;

	while (end < rows->count && rows->items[end].time_ns == rows->items[at].time_ns)
		end++;
	return end;
}

bool sweep_rows_of_one_resource(const struct sweep_rows *rows, size_t a, size_t b)
{
	return strcmp(rows->items[a].resource, rows->items[b].resource) == 0;
}

/* Whether the object that is deleted there was created at `first` or later. */
static bool ends_a_life(const struct sweep_rows *rows, size_t deleted, size_t first)
{
	const struct sweep_row *end = &rows->items[deleted];

	if (end->type != 'D')
		return false;
	for (size_t i = end->previous; i != SWEEP_NO_ROW && i >= first; i = rows->items[i].previous) {
		if (strcmp(rows->items[i].uid, end->uid) != 0)
			return false;
		if (rows->items[i].type == 'A')
			return true;
	}
	return false;
}

size_t sweep_rows_life_end(const struct sweep_rows *rows, size_t first, size_t end)
{
	for (size_t i = first + 1; i < end; i++) {
		if (sweep_rows_of_one_resource(rows, first, i) && ends_a_life(rows, i, first))
			return i;
	}
	return end;
}

/* ---- what several searches look at ---- */

int sweep_at_writes_find(struct sql_session *s, const struct sweep_search *what, bool laid_over,
	struct sweep_positions *to, struct err *err)
{
	struct sweep_rows rows = {0};
	const struct sweep_finding f = {.what = what, .all = &rows, .to = to};
	int rc = sweep_rows_read(s, what, &rows, err);

	if (rc == 0 && what->kinds[SWEEP_OVERWRITE])
		rc = sweep_overwrites_find(s, &f, laid_over, err);
	if (rc == 0 && what->kinds[SWEEP_OWN])
		rc = sweep_unechoed_find(s, &f, laid_over, err);
	sweep_rows_release(&rows);
	return rc;
}
