/* ingest.c: see ingest.h. */
#include "recorder/ingest.h"

#include "recorder/last_words.h"
#include "recorder/list_item.h"
#include "recorder/pinner.h"
#include "schema/base/limits.h"
#include "schema/tape/redact.h"

void ingest_init(struct ingest *in, struct recorder_context *x, uint32_t stream,
	const struct tape_resource *resource, bool redacts)
{
	*in = (struct ingest){.x = x, .stream = stream, .resource = *resource, .redacts = redacts};
	in->known = known_new();
	buf_init(&in->typed, LIMIT_OBJECT_BYTES);
	buf_init(&in->clean, LIMIT_OBJECT_BYTES);
}

void ingest_release(struct ingest *in)
{
	known_free(in->known);
	buf_release(&in->typed);
	buf_release(&in->clean);
}

static int redact(struct ingest *in, struct slice *bytes, struct err *err)
{
	int rc;

	buf_clear(&in->clean);
	rc = redactor_object(in->x->redactor, *bytes, &in->clean, err);
	*bytes = buf_slice(&in->clean);
	return rc;
}

/* Scratch that one huge object made large is given back. */
static void shrink(struct buf *b)
{
	if (b->cap > 1u << 20)
		buf_release(b);
}

static int ingest_note(struct ingest *in, const struct ingest_object *o, uint64_t seq, struct err *err)
{
	const struct object_meta *m = o->meta;
	const struct known_object known = {m->namespace, m->name, m->uid, m->rv, seq};

	if (o->type != EVENT_DELETED)
		return known_put(in->known, &known, err);
	known_remove(in->known, m->namespace, m->name);
	return 0;
}

/* The event as a reader would find it. */
static void offer_event(
	struct ingest *in, struct event e, const struct object_meta *m, uint64_t seq, struct slice bytes)
{
	e.seq = seq;
	e.resource = in->resource.id;
	e.namespace = m->namespace;
	e.name = m->name;
	e.uid = m->uid;
	e.bytes = bytes.len;
	if (e.origin != ORIGIN_INFERRED)
		e.rv = m->rv;
	pinner_event(in->x->pinner, &in->resource, &e, bytes);
	last_words_event(in->x->last_words, &in->resource, &e, bytes);
}

int ingest_put(
	struct ingest *in, const struct ingest_object *o, struct connection *connection, struct err *err)
{
	struct recorder_context *x = in->x;
	struct event e = {.time_ns = o->time_ns,
		.type = o->type,
		.origin = o->origin,
		.stream = in->stream,
		.rv = o->rv};
	const struct list_type list = {o->list_kind, o->list_api_version};
	struct slice bytes = o->bytes;
	uint64_t seq;
	int rc = 0;

	if (o->list_kind.len && !o->meta->kind.len && !o->meta->api_version.len) {
		rc = list_item_type(&list, o->meta, &bytes, &in->typed, err);
		e.flags |= EVENT_TYPED;
	}
	/* Also what is inferred: it comes from the tape, which may have kept Secrets as they are until now.
	 */
	if (rc == 0 && in->redacts && x->redactor)
		rc = redact(in, &bytes, err);
	if (rc == 0) /* neither has changed what identifies the object */
		rc = tape_writer_append_scanned(flusher_tape(x->flusher), &e, bytes, o->meta, &seq, err);
	if (rc == 0) {
		x->counters.events++;
		x->counters.bytes += bytes.len;
		in->events++;
		in->bytes += bytes.len;
		flusher_dirty(x->flusher);
		if (connection)
			connection_event(connection, seq);
		if (x->pinner || x->last_words)
			offer_event(in, e, o->meta, seq, bytes);
		rc = ingest_note(in, o, seq, err);
	}
	shrink(&in->typed);
	shrink(&in->clean);
	return rc;
}
