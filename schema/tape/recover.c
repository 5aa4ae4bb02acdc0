/* recover.c: see recover.h. Salvage, plan, tell, write. */
#include "schema/tape/audit_carry.h"
#include "schema/tape/fetched.h"
#include "schema/tape/new_tape.h"
#include "schema/tape/recover_internal.h"
#include "schema/tape/tape_lock.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- the registry ---- */

static void keep_resource(struct registry *g, const struct raw_row *row)
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

static void keep_stream(struct registry *g, const struct raw_row *row)
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

/* The first usable row of a table with that id in any segment, read. */
static bool find_row(struct recovery *r, enum table table, int64_t id, struct raw_row *ret)
{
	for (size_t i = 0; i < r->segment_count; i++) {
		const struct kept_row *row = salvage_find_row(&r->segments[i], table, id);

		if (row)
			return salvage_row(&r->segments[i], row, ret);
	}
	return false;
}

/* Ids go up without holes; after one that is in no segment any more none can be used. */
static void load_registry(struct recovery *r)
{
	struct registry *g = &r->registry;
	struct raw_row row;

	while (find_row(r, TABLE_RESOURCE, (int64_t)g->resource_count + 1, &row))
		keep_resource(g, &row);
	while (find_row(r, TABLE_STREAM, (int64_t)g->stream_count + 1, &row)) {
		size_t before = g->stream_count;

		keep_stream(g, &row);
		if (g->stream_count == before)
			break;
	}
}

/* ---- the whole ---- */

static bool is_orphan(const struct salvaged *s, uint32_t first)
{
	return s->base && s->base < first;
}

/* What a removal that was cut short has left: it is of no meaning. Where nothing else is left it is kept, though nobody
 * knows the state before it. */
static void drop_orphans(struct recovery *r)
{
	uint32_t first = r->segment_count ? r->segments[0].file.number : 0;
	size_t orphans = 0;

	while (orphans < r->segment_count && is_orphan(&r->segments[orphans], first))
		orphans++;
	r->result.state_unknown = orphans && orphans == r->segment_count;
	if (r->result.state_unknown)
		return;
	for (size_t i = 0; i < orphans; i++)
		salvaged_release(&r->segments[i]);
	r->segment_count -= orphans;
	memmove(r->segments, r->segments + orphans, r->segment_count * sizeof(*r->segments));
}

static int salvage(struct recovery *r, const char *from, struct err *err)
{
	struct segment_file *list;
	size_t count;
	int rc = segment_list(from, &list, &count, err);

	if (rc)
		return rc;
	if (!count)
		rc = err_set(err, ERR_NOT_FOUND, "tape '%s' is empty", from);
	r->segments = xcalloc(count, sizeof(*r->segments));
	for (size_t i = 0; i < count && !rc; i++) {
		rc = fetched_salvage(list[i].path, err);
		rc = rc ? rc : salvage_segment(&list[i], &r->segments[i], err);
		r->segment_count += !rc;
	}
	segment_list_free(list, count);
	if (rc)
		return rc;
	drop_orphans(r);
	load_registry(r);
	for (size_t i = 0; i < r->segment_count; i++)
		salvage_settle(&r->segments[i], &r->registry);
	return 0;
}

static int recover(struct recovery *r, const char *from, const char *to, struct err *err)
{
	int rc = salvage(r, from, err);

	if (rc || (rc = recover_plan(r, err)) || (rc = recover_tell(r, err)))
		return rc;
	return recover_write(r, to, err);
}

static void recover_release(struct recovery *r)
{
	for (size_t i = 0; i < r->segment_count; i++)
		salvaged_release(&r->segments[i]);
	registry_release(&r->registry);
	free(r->segments);
	free(r->spans);
	free(r->rescued);
}

/* Keeps writers away meanwhile. */
static int recover_locked(struct recovery *r, const char *from, const char *to, struct err *err)
{
	int fd, rc = tape_lock_share(from, &fd, err);

	if (rc)
		return rc;
	rc = recover(r, from, to, err);
	recover_release(r);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int recover_into(struct recovery *r, const char *from, struct new_tape *made, struct err *err)
{
	int rc = recover_locked(r, from, made->temporary, err);

	if (!rc)
		rc = audit_carry(&from, 1, made->temporary, true, err);
	return new_tape_end(made, rc, err);
}

int tape_recover(const char *from, const char *to, const struct tape_recover_options *options,
	struct tape_recover_result *ret, struct err *err)
{
	struct recovery r = {.options = options};
	char *path = segment_tape_path(from);
	struct new_tape made;
	int rc = new_tape_begin(to, &made, err);

	if (!rc)
		rc = recover_into(&r, path, &made, err);
	free(path);
	if (!rc)
		*ret = r.result;
	return rc;
}
