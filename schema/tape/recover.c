/* recover.c: see recover.h. Salvage, plan, tell, write. */
#include "schema/tape/recover_internal.h"
#include "schema/tape/tape_lock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the registry ---- */

static void keep_resource(struct registry *g, const struct kept_row *row)
{
	char *texts[4];
	struct tape_resource resource = {.namespaced = row->values[5].integer != 0};

	for (int i = 0; i < 4; i++)
		texts[i] = slice_dup(row->values[i + 1].bytes);
	resource.apigroup = texts[0];
	resource.version = texts[1];
	resource.resource = texts[2];
	resource.kind = texts[3];
	if (row->id == (int64_t)g->resource_count + 1)
		registry_add_resource(g, &resource);
	for (int i = 0; i < 4; i++)
		free(texts[i]);
}

static void keep_stream(struct registry *g, const struct kept_row *row)
{
	char *texts[3];
	struct tape_stream stream = {.resource = (uint32_t)row->values[1].integer};

	for (int i = 0; i < 3; i++)
		texts[i] = slice_dup(row->values[i + 2].bytes);
	stream.namespace = texts[0];
	stream.label_selector = texts[1];
	stream.field_selector = texts[2];
	if (row->id == (int64_t)g->stream_count + 1 && registry_resource(g, stream.resource))
		registry_add_stream(g, &stream);
	for (int i = 0; i < 3; i++)
		free(texts[i]);
}

/* The first row of a table with that id in any segment that can be used, or, with any, that is there. */
static const struct kept_row *find_form(const struct recovery *r, enum table table, int64_t id, bool any)
{
	for (size_t i = 0; i < r->segment_count; i++) {
		const struct salvaged *s = &r->segments[i];

		for (size_t k = 0; k < s->row_count; k++) {
			if (s->rows[k].table == table && s->rows[k].id == id && (any || !s->rows[k].unusable))
				return &s->rows[k];
		}
	}
	return NULL;
}

static const struct kept_row *find_row(const struct recovery *r, enum table table, int64_t id)
{
	return find_form(r, table, id, false);
}

/* Ids go up without holes; behind one that is in no segment any more none can be used. */
static void load_registry(struct recovery *r)
{
	const struct kept_row *row;

	while ((row = find_row(r, TABLE_RESOURCE, (int64_t)r->registry.resource_count + 1)))
		keep_resource(&r->registry, row);
	for (int64_t id = 1; (row = find_row(r, TABLE_STREAM, id)); id++) {
		keep_stream(&r->registry, row);
		if ((int64_t)r->registry.stream_count < id)
			break;
	}
	r->stream_rows = xcalloc(r->registry.stream_count, sizeof(*r->stream_rows));
	for (size_t i = 0; i < r->registry.stream_count; i++)
		r->stream_rows[i] = *find_row(r, TABLE_STREAM, (int64_t)i + 1);
}

/* Events of resources or streams that nobody knows any more cannot be taken. */
static void drop_unknown(struct recovery *r, struct salvaged *s)
{
	for (size_t i = 0; i < s->extent_count; i++) {
		struct extent *x = s->extents[i].x;
		bool known = true;

		for (size_t k = 0; x && k < x->event_count && known; k++) {
			const struct tape_stream *stream = registry_stream(&r->registry, x->events[k].stream);

			known = stream && stream->resource == x->objects[x->events[k].object].resource;
		}
		if (known)
			continue;
		extent_unref(x);
		s->extents[i].x = NULL;
	}
}

/* Which column of a table names a stream, or -1. */
static int stream_column(enum table table)
{
	switch (table) {
	case TABLE_CONNECTION: return 2;
	case TABLE_MARK: return 4;
	case TABLE_GAP: return 1;
	default: return -1;
	}
}

static void refuse_unknown_streams(struct recovery *r, struct salvaged *s)
{
	for (size_t i = 0; i < s->row_count; i++) {
		int column = stream_column(s->rows[i].table);
		const struct value *v = column < 0 ? NULL : &s->rows[i].values[column];

		if (!v || v->kind == VALUE_NULL || (v->kind == VALUE_INTEGER && v->integer == 0))
			continue;
		if (v->kind != VALUE_INTEGER || v->integer < 0 || v->integer > UINT32_MAX ||
			!registry_stream(&r->registry, (uint32_t)v->integer))
			s->rows[i].unusable = "it names a stream that is not there";
	}
}

/* ---- telling ---- */

static int tell(struct recovery *r, const struct tape_loss *loss, struct err *err)
{
	if (r->options->lost && r->options->lost(r->options->context, loss))
		return err_set(err, ERR_STOPPED, "stopped before the tape was recovered");
	return 0;
}

static int tell_run(struct recovery *r, const struct lost_run *run, struct err *err)
{
	const struct extent *x = run->extent ? run->extent->x : NULL;
	struct tape_loss loss = {.file = run->segment == SIZE_MAX ? "" : r->segments[run->segment].name,
		.why = run->why,
		.first = run->first,
		.last = run->last};
	int failed;

	if (!x)
		return tell(r, &loss, err);
	for (size_t i = extent_find_seq(x, run->first); i < x->event_count && x->events[i].seq <= run->last;
		i++) {
		char rv[RV_TEXT_BYTES];
		struct event e;

		extent_event_get(x, i, rv, &e);
		loss.event = &e;
		loss.resource = registry_resource(&r->registry, e.resource);
		loss.first = loss.last = e.seq;
		failed = tell(r, &loss, err);
		if (failed)
			return failed;
	}
	return 0;
}

static int compare_ids(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

/* Ids are given without holes, so those that are missing between others are lost. */
static int tell_rows(struct recovery *r, enum table table, struct err *err)
{
	int64_t *ids = NULL;
	size_t count = 0;
	int failed = 0;

	for (size_t i = 0; i < r->segment_count; i++) {
		const struct salvaged *s = &r->segments[i];

		ids = xrealloc(ids, (count + s->row_count) * sizeof(*ids));
		for (size_t k = 0; k < s->row_count; k++) {
			if (s->rows[k].table == table)
				ids[count++] = s->rows[k].id;
		}
	}
	if (count)
		qsort(ids, count, sizeof(*ids), compare_ids);
	for (size_t i = 0; i + 1 < count && !failed; i++) {
		struct tape_loss loss = {.file = "",
			.why = "rows cannot be found",
			.table = table_formats[table].name,
			.first = (uint64_t)ids[i] + 1,
			.last = (uint64_t)ids[i + 1] - 1};

		if (ids[i + 1] - ids[i] <= 1)
			continue;
		r->result.lost_rows += loss.last - loss.first + 1;
		failed = tell(r, &loss, err);
	}
	free(ids);
	return failed;
}

static int tell_unusable(struct recovery *r, const struct salvaged *s, struct err *err)
{
	int failed;

	for (size_t i = 0; i < s->row_count; i++) {
		const struct kept_row *row = &s->rows[i];
		const struct tape_loss loss = {.file = s->name,
			.why = row->unusable,
			.table = table_formats[row->table].name,
			.first = (uint64_t)row->id,
			.last = (uint64_t)row->id};

		if (!row->unusable || find_row(r, row->table, row->id) ||
			find_form(r, row->table, row->id, true) != row)
			continue;
		r->result.lost_rows++;
		failed = tell(r, &loss, err);
		if (failed)
			return failed;
	}
	return 0;
}

/* Rows behind the last id, and later forms of a row, leave no hole. */
static int tell_hidden(struct recovery *r, const struct salvaged *s, struct err *err)
{
	int failed;

	for (int table = TABLE_CONNECTION; table <= TABLE_DOCUMENT; table++) {
		const struct tape_loss loss = {.file = s->name,
			.why = "a page of them is damaged",
			.table = table_formats[table].name};

		if (!raw_hides_rows(s->db, (enum table)table))
			continue;
		r->result.rows_unknown = true;
		failed = tell(r, &loss, err);
		if (failed)
			return failed;
	}
	return 0;
}

static int tell_losses(struct recovery *r, struct err *err)
{
	int failed;

	for (size_t i = 0; i < r->run_count; i++) {
		failed = tell_run(r, &r->runs[i], err);
		if (failed)
			return failed;
	}
	for (int table = TABLE_CONNECTION; table <= TABLE_DOCUMENT; table++) {
		failed = tell_rows(r, (enum table)table, err);
		if (failed)
			return failed;
	}
	for (size_t i = 0; i < r->segment_count; i++) {
		r->result.mended_pages += raw_mended_count(r->segments[i].db);
		if ((failed = tell_hidden(r, &r->segments[i], err)) ||
			(failed = tell_unusable(r, &r->segments[i], err)))
			return failed;
	}
	return 0;
}

/* ---- the whole ---- */

static int salvage(struct recovery *r, const char *from, struct err *err)
{
	struct segment_file *list;
	size_t count;
	int failed = segment_list(from, &list, &count, err);

	if (failed)
		return failed;
	if (!count)
		failed = err_set(err, ERR_NOT_FOUND, "tape '%s' is empty", from);
	r->segments = xcalloc(count, sizeof(*r->segments));
	for (size_t i = 0; i < count && !failed; i++) {
		failed = salvage_segment(&list[i], &r->segments[i], err);
		r->segment_count += !failed;
	}
	segment_list_free(list, count);
	if (failed)
		return failed;
	load_registry(r);
	for (size_t i = 0; i < r->segment_count; i++) {
		drop_unknown(r, &r->segments[i]);
		refuse_unknown_streams(r, &r->segments[i]);
		salvage_chunks(&r->segments[i], &r->registry);
	}
	return 0;
}

/* Under another name until it is finished, so that nobody takes a half for the whole. */
static int make(struct recovery *r, const char *to, struct err *err)
{
	char *temporary = xasprintf("%s.tmp-%ld", to, (long)getpid());
	int failed;

	if (mkdir(temporary, 0700)) {
		failed = err_set_errno(err, errno, "cannot create '%s'", temporary);
	} else {
		failed = recover_write(r, temporary, err);
		if (!failed && rename(temporary, to))
			failed = err_set_errno(err, errno, "cannot rename '%s' to '%s'", temporary, to);
		if (failed)
			segment_remove_all(temporary);
	}
	free(temporary);
	return failed;
}

static int recover(struct recovery *r, const char *from, const char *to, struct err *err)
{
	int failed = salvage(r, from, err);

	if (failed || (failed = recover_plan(r, err)) || (failed = tell_losses(r, err)))
		return failed;
	return make(r, to, err);
}

static void release(struct recovery *r)
{
	for (size_t i = 0; i < r->segment_count; i++)
		salvaged_release(&r->segments[i]);
	registry_release(&r->registry);
	free(r->segments);
	free(r->stream_rows);
	free(r->runs);
	free(r->rescued);
}

int tape_recover(const char *from, const char *to, const struct tape_recover_options *options,
	struct tape_recover_result *ret, struct err *err)
{
	struct recovery r = {.options = options};
	char *path = segment_tape_path(from), *new_path = segment_tape_path(to);
	int fd, failed;

	for (size_t len = strlen(new_path); len > 1 && new_path[len - 1] == '/'; len--)
		new_path[len - 1] = 0;
	failed = access(new_path, F_OK) == 0 ? err_set(err, ERR_USAGE, "'%s' exists already", to)
					     : tape_lock_share(path, &fd, err);
	if (!failed) {
		failed = recover(&r, path, new_path, err);
		release(&r);
		if (fd >= 0)
			close(fd);
	}
	free(path);
	free(new_path);
	if (!failed)
		*ret = r.result;
	return failed;
}
