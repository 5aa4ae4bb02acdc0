/*
 * tee_listing.c: lists of a stream, see tee_stream.h. The first gives events of origin `list`; a later one
 * shows what was missed: what it has is compared with what the stream's clients knew, and what is older than
 * the tape (lists from a cache may be) changes nothing.
 */
#include "tools/tee/tee_stream_internal.h"

#include "schema/base/limits.h"
#include "schema/tape/reader.h"

#include <stdio.h>
#include <stdlib.h>

struct tee_listing *tee_stream_list(struct tee_stream *s, bool is_watch, struct err *err)
{
	struct tee_listing *l;

	if (s->watches)
		return NULL;
	if (s->listing)
		s->listing->stream = NULL;
	s->listing = NULL;
	if (s->is_listed) {
		tee_gap_begin(s, "unknown", 0);
		if (tee_gap_write(s, err))
			return NULL;
	}
	l = xcalloc(1, sizeof(*l));
	*l = (struct tee_listing){.stream = s,
		.is_watch = is_watch,
		.is_first = !s->is_listed && !s->gap.row.id,
		.is_covered = tee_stream_is_covered(s)};
	s->listing = l;
	known_sweep_begin(s->view);
	return l;
}

void tee_listing_drop(struct tee_listing *l)
{
	if (!l)
		return;
	if (l->stream)
		l->stream->listing = NULL;
	tape_close(l->reader);
	free(l);
}

/* ---- differences ---- */

/* `now` or `before` may be NULL. */
static int miss(struct tee_listing *l, const char *change, const struct object_meta *now,
	const struct known_object *before, struct err *err)
{
	struct tape_gap *gap = &l->stream->gap.row;
	struct tape_writer *writer = tape_book_writer(l->stream->ledger->shelf->book);
	struct tape_missed row = {.gap = gap->id, .change = change, .resource = l->stream->ledger->id};

	if (l->is_first || !gap->id || !writer)
		return 0;
	if (before) {
		row.namespace = before->namespace;
		row.name = before->name;
		row.old_uid = row.uid = before->uid;
		row.old_rv = before->rv;
	}
	if (now) {
		row.namespace = now->namespace;
		row.name = now->name;
		row.uid = now->uid;
		row.rv = now->rv;
	}
	switch (*change) {
	case 'm': gap->modified++; break;
	case 'a': gap->added++; break;
	case 'd': gap->deleted++; break;
	default: gap->recreated++; break;
	}
	l->stream->ledger->shelf->missed++;
	return tape_writer_missed(writer, &row, err);
}

static int tee_listing_append(struct tee_listing *l, const struct shelf_object *o, struct err *err)
{
	uint64_t seq;
	int rc = shelf_append(l->stream->ledger, l->stream, o, &seq, err);

	if (rc || !seq)
		return rc;
	if (!l->first_seq)
		l->first_seq = seq;
	l->last_seq = seq;
	return 0;
}

/* ---- the last state of what is gone ---- */

static int read_object(struct tape *t, uint64_t seq, struct slice *ret)
{
	int rc = tape_object(t, seq, ret, NULL);

	if (rc == ERR_NOT_FOUND && tape_refresh(t, NULL) > 0)
		rc = tape_object(t, seq, ret, NULL);
	return rc;
}

static int last_state(struct tee_listing *l, const struct known_object *gone, struct buf *to, struct err *err)
{
	struct tape_book *book = l->stream->ledger->shelf->book;
	struct slice object;
	int rc;

	if (tape_book_writer(book) && tape_writer_object(tape_book_writer(book), gone->seq, &object))
		return buf_append(to, object.ptr, object.len, err);
	if (!l->reader && (rc = tape_open(tape_book_path(book), &l->reader, err)))
		return rc;
	if (gone->seq && read_object(l->reader, gone->seq, &object) == 0)
		return buf_append(to, object.ptr, object.len, err);
	return known_stub(gone, to, err);
}

/* `gone` is what the tape has; invalid afterwards. */
static int put_deletion(struct tee_listing *l, const struct known_object *gone, struct slice list_rv,
	int64_t time_ns, struct err *err)
{
	struct object_meta meta;
	struct buf bytes;
	int rc;

	buf_init(&bytes, LIMIT_OBJECT_BYTES);
	rc = last_state(l, gone, &bytes, err);
	if (rc == 0)
		rc = json_scan_object(buf_slice(&bytes), &meta, err);
	if (rc == 0)
		rc = tee_listing_append(l,
			&(struct shelf_object){.type = EVENT_DELETED,
				.origin = ORIGIN_INFERRED,
				.time_ns = time_ns,
				.meta = &meta,
				.bytes = buf_slice(&bytes),
				.rv = list_rv},
			err);
	buf_release(&bytes);
	return rc;
}

/* ---- one item ---- */

static int put_item(struct tee_listing *l, const struct shelf_object *o, struct err *err)
{
	const struct object_meta *m = o->meta;
	struct known_object live;
	struct shelf_object item = *o;
	int rc;

	item.origin = l->is_first ? ORIGIN_LIST : ORIGIN_RELIST;
	if (!known_get(l->stream->ledger->live, m->namespace, m->name, &live)) {
		rc = miss(l, "added", m, NULL, err);
		return rc ? rc : tee_listing_append(l, &item, err);
	}
	if (slice_equal(live.uid, m->uid) && slice_equal(live.rv, m->rv)) {
		l->unchanged++;
		return 0;
	}
	if (shelf_compare(m->rv, live.rv) <= 0)
		return 0;
	item.origin = ORIGIN_RELIST;
	if (slice_equal(live.uid, m->uid)) {
		item.type = EVENT_MODIFIED;
		rc = miss(l, "modified", m, &live, err);
		return rc ? rc : tee_listing_append(l, &item, err);
	}
	rc = miss(l, "recreated", m, &live, err);
	if (rc == 0)
		rc = put_deletion(l, &live, m->rv, o->time_ns, err);
	return rc ? rc : tee_listing_append(l, &item, err);
}

int tee_listing_item(struct tee_listing *l, const struct object_meta *meta, struct slice bytes,
	unsigned flags, int64_t time_ns, struct err *err)
{
	const struct known_object known = {meta->namespace, meta->name, meta->uid, meta->rv, 0};
	const struct shelf_object o = {
		.type = EVENT_ADDED, .time_ns = time_ns, .meta = meta, .bytes = bytes, .flags = flags};
	int rc;

	if (!l->stream)
		return 0;
	rc = known_put(l->stream->view, &known, err);
	return rc || l->is_covered ? rc : put_item(l, &o, err);
}

void tee_listing_events(const struct tee_listing *l, uint64_t *ret_first_seq, uint64_t *ret_last_seq)
{
	*ret_first_seq = l->first_seq;
	*ret_last_seq = l->last_seq;
}

/* ---- the end ---- */

/* What the view has and the list lacks. A list from a cache may be older than it. */
static int put_unseen(struct tee_listing *l, struct slice rv, int64_t time_ns, struct err *err)
{
	struct ledger *ledger = l->stream->ledger;
	struct known_object gone, live;
	int rc = 0;

	while (rc == 0 && known_unseen(l->stream->view, &gone)) {
		bool lives = known_get(ledger->live, gone.namespace, gone.name, &live) &&
			     slice_equal(live.uid, gone.uid) && shelf_compare(rv, live.rv) >= 0 &&
			     !l->is_covered;
		char *namespace = slice_dup(gone.namespace), *name = slice_dup(gone.name);

		if (lives && !l->stream->is_whole)
			lives = !tee_streams_have(ledger, l->stream, gone.namespace, gone.name, gone.uid);
		if (lives)
			rc = miss(l, "deleted", NULL, &live, err);
		if (lives && rc == 0)
			rc = put_deletion(l, &live, rv, time_ns, err);
		known_remove(l->stream->view, slice_of(namespace), slice_of(name));
		free(namespace);
		free(name);
	}
	return rc;
}

static int put_mark(
	struct tee_listing *l, struct slice rv, uint64_t connection, int64_t time_ns, struct err *err)
{
	const struct tape_mark mark = {.time_ns = time_ns,
		.kind = MARK_LIST,
		.stream = l->stream->id,
		.connection = connection,
		.rv = rv};
	struct tape_writer *writer = tape_book_writer(l->stream->ledger->shelf->book);

	tape_book_dirty(l->stream->ledger->shelf->book);
	return writer ? tape_writer_mark(writer, &mark, err) : 0;
}

int tee_listing_end(
	struct tee_listing *l, struct slice rv, uint64_t connection, int64_t time_ns, struct err *err)
{
	struct tee_stream *s = l->stream;
	int rc = s ? put_unseen(l, rv, time_ns, err) : 0;

	if (s && rc == 0 && !l->is_watch)
		rc = put_mark(l, rv, connection, time_ns, err);
	if (s && rc == 0) {
		s->gap.row.unchanged = l->unchanged;
		rc = tee_gap_end(s, "relist", rv, connection, err);
	}
	if (s && rc == 0) {
		s->is_listed = true;
		snprintf(s->rv, sizeof(s->rv), "%.*s", (int)(rv.len < sizeof(s->rv) ? rv.len : 0),
			rv.len ? rv.ptr : "");
		if (!s->watches)
			tee_gap_begin(s, "polled", connection);
	}
	tee_listing_drop(l);
	return rc;
}
