/* remake_streams.c: resources and streams of the new tape, and where the stretch begins in each of them. */
#include "schema/tape/remake_internal.h"

#include "schema/base/rv.h"

#include <stdlib.h>

/* ---- the registry ---- */

static bool is_wanted_resource(const struct remake *r, const struct tape_resource *resource)
{
	const struct remake_options *o = r->o;

	for (size_t i = 0; i < o->resource_count; i++) {
		if (o->resources[i] == resource->id)
			return true;
	}
	return !o->resource_count && (!o->namespace_count || resource->namespaced);
}

static int add_resource(struct remake *r, const struct tape_resource *old, struct err *err)
{
	struct tape_resource resource = *old;
	int rc = 0;

	if (!is_wanted_resource(r, old))
		return 0;
	if (r->o->hooks.rewrite_resource)
		rc = r->o->hooks.rewrite_resource(r->o->hooks.context, &resource, err);
	return rc < 0 ? rc : tape_writer_resource(r->w, &resource, &r->resources[old->id - 1], err);
}

static int add_stream_of(struct remake *r, const struct tape_stream *old, const char *namespace,
	struct remade_stream *to, struct err *err)
{
	struct tape_stream stream = *old;
	int rc = 0;

	stream.resource = r->resources[old->resource - 1];
	stream.namespace = (char *)(uintptr_t) namespace;
	if (r->o->hooks.rewrite_stream)
		rc = r->o->hooks.rewrite_stream(r->o->hooks.context, &stream, err);
	if (rc >= 0)
		rc = tape_writer_stream(r->w, &stream, &to->ids[to->count], err);
	to->count += rc >= 0;
	return rc;
}

static bool is_wanted_namespace(const struct remake *r, const char *namespace)
{
	for (size_t i = 0; i < r->o->namespace_count; i++) {
		if (strcmp(r->o->namespaces[i], namespace) == 0)
			return true;
	}
	return r->o->namespace_count == 0;
}

static int add_stream(struct remake *r, const struct tape_stream *old, struct err *err)
{
	const struct tape_resource *resource = tape_resource_by_id(r->from, old->resource);
	struct remade_stream *to = &r->streams[old->id - 1];
	int rc = 0;

	if (!r->resources[old->resource - 1] ||
		(resource->namespaced && *old->namespace && !is_wanted_namespace(r, old->namespace)))
		return 0;
	to->by_namespace = r->o->namespace_count && resource->namespaced && !*old->namespace;
	to->ids = xcalloc(to->by_namespace ? r->o->namespace_count : 1, sizeof(*to->ids));
	if (!to->by_namespace)
		return add_stream_of(r, old, old->namespace, to, err);
	for (size_t i = 0; i < r->o->namespace_count && rc >= 0; i++)
		rc = add_stream_of(r, old, r->o->namespaces[i], to, err);
	return rc;
}

int remake_registry(struct remake *r, struct err *err)
{
	const struct registry *old = &r->from->registry;
	int rc = 0;

	r->resources = xcalloc(old->resource_count + 1, sizeof(*r->resources));
	r->streams = xcalloc(old->stream_count + 1, sizeof(*r->streams));
	r->stream_count = old->stream_count;
	for (size_t i = 0; i < old->resource_count && rc >= 0; i++)
		rc = add_resource(r, &old->resources[i], err);
	for (size_t i = 0; i < old->stream_count && rc >= 0; i++)
		rc = add_stream(r, &old->streams[i], err);
	r->left_out_count = r->w->registry.stream_count;
	r->left_out = xcalloc(r->left_out_count + 1, sizeof(*r->left_out));
	return rc < 0 ? rc : 0;
}

void remake_streams_release(struct remake *r)
{
	for (size_t i = 0; i < r->stream_count; i++) {
		free(r->streams[i].ids);
		free(r->streams[i].rv);
	}
	free(r->streams);
	free(r->resources);
	free(r->left_out);
}

struct remade_stream *remake_stream(const struct remake *r, uint32_t old_id)
{
	if (!old_id || old_id > r->stream_count || !r->streams[old_id - 1].count)
		return NULL;
	return &r->streams[old_id - 1];
}

uint32_t remake_stream_id(const struct remake *r, uint32_t old_id, struct slice namespace)
{
	const struct remade_stream *s = remake_stream(r, old_id);

	if (!s || !s->by_namespace)
		return s ? s->ids[0] : 0;
	for (size_t i = 0; i < s->count; i++) {
		if (slice_is(namespace, r->o->namespaces[i]))
			return s->ids[i];
	}
	return 0;
}

/* ---- where the stretch begins ---- */

static void raise_rv(struct remade_stream *s, struct slice rv)
{
	if (!rv_valid(rv) || (s->rv && rv_compare(rv, slice_of(s->rv)) <= 0))
		return;
	free(s->rv);
	s->rv = slice_dup(rv);
}

static int take_mark(void *context, const struct tape_mark *mark)
{
	struct remake *r = context;
	struct remade_stream *s = remake_stream(r, mark->stream);

	if (!s || mark->kind == MARK_ERROR || !remake_passed(r->o->from, mark->after_seq, mark->time_ns))
		return 0;
	s->listed = true;
	s->mark_seq = mark->after_seq > s->mark_seq ? mark->after_seq : s->mark_seq;
	raise_rv(s, mark->rv);
	return 0;
}

/* A mark tells at least the version of every event of its stream before it. */
static uint64_t first_untold(const struct remake *r)
{
	uint64_t seq = UINT64_MAX;

	for (size_t i = 0; i < r->stream_count; i++) {
		const struct remade_stream *s = &r->streams[i];

		if (s->listed && s->mark_seq < seq)
			seq = s->mark_seq;
	}
	return seq == UINT64_MAX ? seq : seq + 1;
}

static int take_versions(struct remake *r, uint64_t first, struct err *err)
{
	const struct tape_filter filter = {.seq_min = first, .seq_max = r->o->from->seq};
	struct tape_cursor *c;
	struct event e;
	int more;

	if (first > r->o->from->seq)
		return 0;
	more = tape_cursor_open(r->from, &filter, TAPE_FORWARD, &c, err);
	if (more)
		return more;
	while ((more = tape_cursor_next(c, &e, err)) > 0) {
		struct remade_stream *s = remake_stream(r, e.stream);

		if (s && s->listed && e.seq > s->mark_seq)
			raise_rv(s, e.rv);
	}
	tape_cursor_close(c);
	return more;
}

int remake_find_begins(struct remake *r, struct err *err)
{
	int rc = r->o->from ? tape_each_mark(r->from, take_mark, r, err) : 0;

	return rc || !r->o->from ? rc : take_versions(r, first_untold(r), err);
}

void remake_put_begins(struct remake *r)
{
	const struct remake_point *from = r->o->from;

	for (size_t i = 0; i < r->stream_count && from; i++) {
		const struct remade_stream *s = &r->streams[i];

		for (size_t k = 0; k < s->count && s->listed; k++)
			row_queue_add(r->w->rows, TABLE_MARK,
				(struct value[]){value_integer(++r->w->ids[TABLE_MARK]),
					value_integer((int64_t)seq_map_find(&r->seqs, from->seq)),
					value_integer(from->time_ns), value_text("list"),
					value_integer(s->ids[k]), value_integer(0), value_text(s->rv),
					value_text(NULL)});
	}
}

/* ---- what a stream lacks ---- */

void remake_note_left_out(struct remake *r, uint32_t new_id, uint64_t seq, int64_t time_ns)
{
	struct left_out *l = &r->left_out[new_id - 1];

	r->result.left_out++;
	if (!l->seq)
		*l = (struct left_out){seq, time_ns};
}

void remake_put_left_out(struct remake *r)
{
	for (size_t i = 0; i < r->left_out_count; i++) {
		const struct left_out *l = &r->left_out[i];
		struct value values[FORMAT_COLUMNS_MAX] = {{0}};

		if (!l->seq)
			continue;
		for (int k = GAP_CONNECTION_AFTER - 1; k <= GAP_UNCHANGED; k++)
			values[k] = value_integer(0);
		values[0] = value_integer(++r->w->ids[TABLE_GAP]);
		values[GAP_STREAM] = value_integer((int64_t)i + 1);
		values[GAP_BEGIN_SEQ] = value_integer((int64_t)seq_map_find(&r->seqs, l->seq));
		values[GAP_END_SEQ] = value_integer(0);
		values[GAP_BEGIN_NS] = value_integer(l->time_ns);
		values[GAP_END_NS] = value_integer(0);
		values[GAP_DURATION_NS] = value_integer(-1);
		values[GAP_REASON] = value_text("left_out");
		values[GAP_HOW_ENDED] = value_text("open");
		row_queue_add(r->w->rows, TABLE_GAP, values);
	}
}
