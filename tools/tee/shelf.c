/* shelf.c: see shelf.h. */
#include "tools/tee/shelf.h"

#include "schema/base/rv.h"
#include "tools/tee/tee_stream.h"

#include <stdlib.h>

struct shelf *shelf_new(struct tape_book *book)
{
	struct shelf *s = xcalloc(1, sizeof(*s));

	s->book = book;
	s->recents = recents_new();
	return s;
}

static void free_ledger(struct ledger *l)
{
	tee_streams_free(l);
	known_free(l->live);
	free(l->group);
	free(l->version);
	free(l->resource);
	free(l);
}

void shelf_free(struct shelf *s)
{
	if (!s)
		return;
	for (struct ledger *l = s->ledgers, *next; l; l = next) {
		next = l->next;
		free_ledger(l);
	}
	recents_free(s->recents);
	free(s);
}

struct ledger *shelf_find(
	const struct shelf *s, struct slice group, struct slice version, struct slice resource)
{
	for (struct ledger *l = s->ledgers; l; l = l->next) {
		if (slice_is(resource, l->resource) && slice_is(group, l->group) &&
			slice_is(version, l->version))
			return l;
	}
	return NULL;
}

int shelf_ledger(struct shelf *s, const struct tape_resource *r, struct ledger **ret, struct err *err)
{
	struct ledger *l = shelf_find(s, slice_of(r->apigroup), slice_of(r->version), slice_of(r->resource));
	struct tape_writer *writer = tape_book_writer(s->book);
	uint32_t id;
	int rc;

	if (l) {
		*ret = l;
		return 0;
	}
	if (!writer)
		return err_set(err, ERR_STOPPED, "the tape is not written any more");
	rc = tape_writer_resource(writer, r, &id, err);
	if (rc)
		return rc;
	l = xcalloc(1, sizeof(*l));
	*l = (struct ledger){.shelf = s,
		.next = s->ledgers,
		.id = id,
		.group = xstrdup(r->apigroup),
		.version = xstrdup(r->version),
		.resource = xstrdup(r->resource),
		.redacts = tape_book_redacts(s->book, r->apigroup, r->resource),
		.live = known_new()};
	s->ledgers = l;
	*ret = l;
	return 0;
}

/* ---- events ---- */

int shelf_compare(struct slice a, struct slice b)
{
	return rv_valid(a) && rv_valid(b) ? rv_compare(a, b) : 1;
}

static struct recent_key key_of(const struct ledger *l, const struct shelf_object *o)
{
	return (struct recent_key){l->id, o->type == EVENT_DELETED, o->meta->uid, o->meta->rv};
}

static int note_live(struct ledger *l, const struct shelf_object *o, uint64_t seq, struct err *err)
{
	const struct object_meta *m = o->meta;
	const struct known_object known = {m->namespace, m->name, m->uid, m->rv, seq};

	if (o->type != EVENT_DELETED)
		return known_put(l->live, &known, err);
	known_remove(l->live, m->namespace, m->name);
	return 0;
}

int shelf_append(struct ledger *l, struct tee_stream *by, const struct shelf_object *o, uint64_t *ret_seq,
	struct err *err)
{
	const struct recent_key key = key_of(l, o);
	const struct event e = {.time_ns = o->time_ns,
		.type = o->type,
		.origin = o->origin,
		.flags = o->flags,
		.stream = tee_stream_id(by),
		.rv = o->rv};
	struct tape_writer *writer = tape_book_writer(l->shelf->book);
	int rc;

	*ret_seq = 0;
	if (!writer)
		return 0;
	rc = tape_writer_append_scanned(writer, &e, o->bytes, o->meta, ret_seq, err);
	if (rc)
		return rc;
	l->shelf->events++;
	tape_book_dirty(l->shelf->book);
	recents_add(l->shelf->recents, &key, o->bytes, *ret_seq);
	return note_live(l, o, *ret_seq, err);
}

/* Whether it moves the tape's state on. */
static bool is_news(struct ledger *l, struct tee_stream *by, const struct shelf_object *o)
{
	const struct object_meta *m = o->meta;
	struct known_object live;
	bool lives = known_get(l->live, m->namespace, m->name, &live);

	if (o->type != EVENT_DELETED)
		return !lives || shelf_compare(m->rv, live.rv) > 0;
	if (!lives || !slice_equal(live.uid, m->uid))
		return tee_stream_is_whole(by) && (!lives || shelf_compare(m->rv, live.rv) > 0);
	return shelf_compare(m->rv, live.rv) >= 0 &&
	       (tee_stream_is_whole(by) || !tee_streams_have(l, by, m->namespace, m->name, m->uid));
}

/* A version that came in a list is there under the list's seq. */
static bool is_live_version(const struct ledger *l, const struct shelf_object *o, uint64_t *ret_seq)
{
	struct known_object live;

	if (o->type == EVENT_DELETED || !known_get(l->live, o->meta->namespace, o->meta->name, &live) ||
		!slice_equal(live.uid, o->meta->uid) || !slice_equal(live.rv, o->meta->rv))
		return false;
	*ret_seq = live.seq;
	return true;
}

void shelf_look(const struct ledger *l, const struct shelf_object *o, struct placed *ret)
{
	const struct recent_key key = key_of(l, o);

	*ret = (struct placed){0};
	ret->seq = recents_find(l->shelf->recents, &key, o->bytes, &ret->is_exact);
	if (!ret->seq)
		(void)is_live_version(l, o, &ret->seq);
}

/* A watch calls ADDED what is new to it; the tape may have it in an older version. */
static enum event_type type_on_tape(const struct ledger *l, const struct shelf_object *o)
{
	struct known_object live;
	bool lives = known_get(l->live, o->meta->namespace, o->meta->name, &live) &&
		     slice_equal(live.uid, o->meta->uid);

	return o->type == EVENT_ADDED && lives ? EVENT_MODIFIED : o->type;
}

int shelf_deliver(struct ledger *l, struct tee_stream *by, const struct shelf_object *o, struct placed *ret,
	struct err *err)
{
	struct shelf_object event = *o;

	shelf_look(l, o, ret);
	if (ret->seq) {
		l->shelf->repeats++;
		return 0;
	}
	if (!is_news(l, by, o))
		return 0;
	ret->is_exact = true;
	event.type = type_on_tape(l, o);
	return shelf_append(l, by, &event, &ret->seq, err);
}
