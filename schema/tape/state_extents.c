/* state_extents.c: see state_extents.h. */
#include "schema/tape/state_extents.h"

#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/tape/extent_store.h"

#include <stdlib.h>

/* A segment is begun while a recording goes on: so much of its state is in memory at a time. */
#define PORTION_BYTES (8u << 20)

struct state_item {
	struct event event; /* its texts and the object stand in bytes, one after the other */
	size_t offset, length;
};

void state_extents_init(
	struct state_extents *s, sqlite3 *db, int64_t *extent_id, const struct pack_options *options)
{
	*s = (struct state_extents){.db = db, .extent_id = extent_id, .options = options};
	buf_init(&s->bytes, LIMIT_CHUNK_BYTES);
}

void state_extents_release(struct state_extents *s)
{
	buf_release(&s->bytes);
	free(s->items);
	s->items = NULL;
}

static int compare_seq(const void *left, const void *right)
{
	const struct state_item *a = left, *b = right;

	return (a->event.seq > b->event.seq) - (a->event.seq < b->event.seq);
}

/* Gives a text its place among the bytes, and takes it off them. */
static struct slice take_text(const char **at, size_t len)
{
	struct slice text = {*at, len};

	*at += len;
	return text;
}

static int add_item(struct state_extents *s, const struct state_item *item, struct extent *x, struct err *err)
{
	const char *at = s->bytes.ptr + item->offset;
	struct event e = item->event;

	e.namespace = take_text(&at, e.namespace.len);
	e.name = take_text(&at, e.name.len);
	e.uid = take_text(&at, e.uid.len);
	e.rv = take_text(&at, e.rv.len);
	return extent_add(x, &e, (struct slice){at, item->length}, err);
}

static int state_extents_store(struct state_extents *s, struct err *err)
{
	struct extent *x;
	int rc = 0;

	if (!s->count)
		return 0;
	x = extent_new();
	qsort(s->items, s->count, sizeof(*s->items), compare_seq);
	for (size_t i = 0; i < s->count && !rc; i++)
		rc = add_item(s, &s->items[i], x, err);
	if (!rc)
		rc = extent_store(s->db, (*s->extent_id)++, "state", x, s->options, err);
	extent_unref(x);
	s->count = 0;
	buf_clear(&s->bytes);
	return rc;
}

static int put_bytes(struct state_extents *s, const struct event *e, struct slice object, struct err *err)
{
	const struct slice parts[] = {e->namespace, e->name, e->uid, e->rv, object};
	int rc = 0;

	for (size_t i = 0; i < COUNT_OF(parts) && !rc; i++)
		rc = buf_append(&s->bytes, parts[i].ptr, parts[i].len, err);
	return rc;
}

int state_extents_add(struct state_extents *s, const struct event *e, struct slice object, struct err *err)
{
	struct state_item item = {.event = *e, .offset = s->bytes.len, .length = object.len};
	int rc = put_bytes(s, e, object, err);

	if (rc)
		return rc;
	s->items = xgrow(s->items, s->count, sizeof(*s->items));
	s->items[s->count++] = item;
	return s->bytes.len >= PORTION_BYTES ? state_extents_store(s, err) : 0;
}

int state_extents_end(struct state_extents *s, struct err *err)
{
	return state_extents_store(s, err);
}
