/* marks.c: see marks.h. */
#include "replayer/world/marks.h"

#include "replayer/wire/blob.h"
#include "schema/base/clock.h"
#include "schema/base/rv.h"

#include <stdlib.h>

/* A first list that begins so long after the others were complete belongs to a stream that was added later,
 * as for a new custom resource. */
#define LATE_NS NS_PER_S

struct loader {
	struct tape *tape;
	struct marks *marks;
	size_t cap;
	int64_t *begins; /* for each stream id: when its first connection began; 0 unknown */
	size_t stream_count;
};

static void keep_bookmark(struct marks *m, const struct mark *mark, struct slice object)
{
	if (mark->kind != MARK_BOOKMARK && mark->kind != MARK_INITIAL_END)
		return;
	if (object.len && mark->resource < m->resource_count && !m->bookmarks[mark->resource])
		m->bookmarks[mark->resource] = blob_of(object);
}

static int add_mark(void *context, const struct tape_mark *row)
{
	struct loader *l = context;
	const struct tape_stream *stream = tape_stream_by_id(l->tape, row->stream);
	struct mark *mark;

	/* Of no stream: everything up to here was there at the beginning, though no list is known to be whole. */
	if (!row->stream && row->kind == MARK_LIST) {
		l->marks->start_seq = row->after_seq;
		l->marks->start_ns = row->time_ns;
	}
	if (!stream || row->kind == MARK_ERROR)
		return 0;
	if (l->marks->count == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 256;
		l->marks->items = xrealloc(l->marks->items, l->cap * sizeof(*l->marks->items));
	}
	mark = &l->marks->items[l->marks->count++];
	*mark = (struct mark){.after_seq = row->after_seq,
		.time_ns = row->time_ns,
		.stream = row->stream,
		.resource = stream->resource,
		.kind = row->kind};
	if (!rv_to_u64(row->rv, &mark->rv))
		mark->rv = 0;
	keep_bookmark(l->marks, mark, row->object);
	return 0;
}

static int note_begin(void *context, const struct tape_connection *c)
{
	struct loader *l = context;

	if (c->stream < l->stream_count && l->begins[c->stream] == 0)
		l->begins[c->stream] = c->begin_ns;
	return 0;
}

/* Whether a watch told something after `seq`, up to `end`; or an error. */
static int has_watched(struct tape *tape, uint64_t seq, uint64_t end, struct err *err)
{
	const struct tape_filter filter = {.seq_min = seq + 1, .seq_max = end};
	struct tape_cursor *c;
	struct event e = {0};
	int more;

	if (end <= seq)
		return false;
	more = tape_cursor_open(tape, &filter, TAPE_FORWARD, &c, err);
	if (more)
		return more;
	while ((more = tape_cursor_next(c, &e, err)) > 0 && e.origin == ORIGIN_LIST)
		;
	tape_cursor_close(c);
	return more;
}

/* Lists that begin while others of the first round still run belong to that round. Of imported ones only the
 * times of their objects are known: they belong to it as long as nothing but lists has come. */
static int is_late(struct loader *l, const struct mark *mark, struct err *err)
{
	const struct marks *m = l->marks;
	int64_t begin_ns = l->begins[mark->stream];

	if (!m->start_ns || (begin_ns ? begin_ns : mark->time_ns) <= time_add(m->start_ns, LATE_NS))
		return false;
	if (begin_ns)
		return true;
	return has_watched(l->tape, m->start_seq, mark->after_seq, err);
}

static int find_start(struct loader *l, struct err *err)
{
	struct marks *m = l->marks;
	bool *seen = xcalloc(l->stream_count, sizeof(*seen));
	int late = 0;

	for (size_t i = 0; i < m->count && late >= 0; i++) {
		const struct mark *mark = &m->items[i];

		if (!mark_completes_list(mark) || mark->stream >= l->stream_count || seen[mark->stream])
			continue;
		seen[mark->stream] = true;
		late = is_late(l, mark, err);
		if (late)
			continue;
		if (mark->after_seq > m->start_seq)
			m->start_seq = mark->after_seq;
		if (mark->time_ns > m->start_ns)
			m->start_ns = mark->time_ns;
	}
	free(seen);
	return late < 0 ? late : 0;
}

static void marks_measure(struct loader *l)
{
	const struct tape_resource *resource;
	const struct tape_stream *stream;

	for (size_t i = 0; (resource = tape_resource_at(l->tape, i)); i++) {
		if (resource->id >= l->marks->resource_count)
			l->marks->resource_count = resource->id + 1;
	}
	for (size_t i = 0; (stream = tape_stream_at(l->tape, i)); i++) {
		if (stream->id >= l->stream_count)
			l->stream_count = stream->id + 1;
	}
}

int marks_load(struct tape *tape, struct marks *ret, struct err *err)
{
	struct marks m = {0};
	struct loader l = {.tape = tape, .marks = &m};
	int rc;

	marks_measure(&l);
	l.begins = xcalloc(l.stream_count, sizeof(*l.begins));
	m.bookmarks = xcalloc(m.resource_count, sizeof(struct blob *));
	rc = tape_each_connection(tape, note_begin, &l, err);
	if (rc == 0)
		rc = tape_each_mark(tape, add_mark, &l, err);
	if (rc == 0)
		rc = find_start(&l, err);
	free(l.begins);
	if (rc)
		marks_release(&m);
	else
		*ret = m;
	return rc;
}

void marks_release(struct marks *m)
{
	for (size_t i = 0; i < m->resource_count; i++)
		blob_unref(m->bookmarks[i]);
	free(m->bookmarks);
	free(m->items);
	*m = (struct marks){0};
}

size_t marks_behind(const struct marks *m, uint64_t seq)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->items[middle].after_seq <= seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
