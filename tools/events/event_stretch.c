/* event_stretch.c: see event_stretch.h. */
#include "tools/events/event_stretch.h"

#include "schema/base/limits.h"
#include "tools/cli/progress.h"

#include <stdlib.h>

void event_stretch_init(struct event_stretch *s)
{
	*s = (struct event_stretch){.after_seq = 0};
	buf_init(&s->text, LIMIT_LIST_BYTES);
}

void event_stretch_release(struct event_stretch *s)
{
	free(s->lines);
	buf_release(&s->text);
}

static int by_seq(const void *left, const void *right)
{
	const struct line_place *a = left, *b = right;

	return (a->seq > b->seq) - (a->seq < b->seq);
}

static int add_line(struct event_stretch *s, const struct event_reader *r, struct tape_cursor *cursor,
	const struct tape_resource *resource, const struct event *e, struct err *err)
{
	size_t begin = s->text.len;
	int rc = event_changes_make(r->changes, r->tape, cursor, e, false, err);

	if (rc >= 0)
		rc = event_line_put(r->style, resource, e, r->changes, &s->text, err);
	if (rc)
		return rc;
	s->lines = xgrow(s->lines, s->count, sizeof(*s->lines));
	s->lines[s->count++] = (struct line_place){e->seq, begin, s->text.len - begin};
	return 0;
}

static int take_event(struct event_stretch *s, const struct event_reader *r, struct tape_cursor *cursor,
	const struct event *e, struct err *err)
{
	const struct object_patterns *patterns = r->wanted->patterns;
	const struct tape_resource *resource = tape_resource_by_id(r->tape, e->resource);
	enum object_wanted wanted = resource ? object_patterns_resource(patterns, resource) : OBJECT_UNWANTED;

	if (wanted == OBJECT_BOOKKEEPING)
		s->left_out++;
	if (wanted != OBJECT_WANTED || !object_patterns_name(patterns, resource, e->name))
		return 0;
	return add_line(s, r, cursor, resource, e, err);
}

static int walk(
	struct event_stretch *s, const struct event_reader *r, struct tape_cursor *cursor, struct err *err)
{
	struct event e;
	int more = 0, rc = 0;

	while (!rc && !progress_stop_asked() && (more = tape_cursor_next(cursor, &e, err)) > 0)
		rc = take_event(s, r, cursor, &e, err);
	return rc ? rc : more < 0 ? more : 0;
}

int event_stretch_read(struct event_stretch *s, const struct event_reader *r, struct err *err)
{
	const char *namespace = r->wanted->namespace;
	struct tape_filter filter = {.seq_min = s->after_seq + 1,
		.seq_max = s->last_seq,
		.namespace = *namespace ? namespace : NULL};
	struct tape_cursor *cursor = NULL;
	int rc;

	s->count = 0;
	s->left_out = 0;
	buf_clear(&s->text);
	event_changes_walk(r->changes, s->after_seq, s->last_seq);
	rc = tape_cursor_open(r->tape, &filter, TAPE_STORED, &cursor, err);
	if (!rc)
		rc = walk(s, r, cursor, err);
	tape_cursor_close(cursor);
	if (!rc && s->count)
		qsort(s->lines, s->count, sizeof(*s->lines), by_seq);
	return rc;
}
