/* tee_stream.c: see tee_stream.h. Watches, gaps and marks of a stream; tee_listing.c takes in lists. */
#include "tools/tee/tee_stream_internal.h"

#include <stdio.h>
#include <stdlib.h>

#define LASTING_NS NS_PER_S /* a gap that lasts for this long is a row, even if it hid nothing */

/* ---- which ---- */

/* The name of an object never changes, nor does its namespace. */
static bool selects_by_name(const char *fields)
{
	struct slice rest = slice_of(fields);

	while (rest.len) {
		struct slice term = slice_cut(&rest, ',');

		if (!slice_begins(term, "metadata.name=") && !slice_begins(term, "metadata.namespace="))
			return false;
	}
	return true;
}

static struct tee_stream *find_stream(const struct ledger *l, const struct tee_stream_spec *spec)
{
	struct tee_stream *s = l->streams;

	while (s && (strcmp(s->namespace, spec->namespace) != 0 || strcmp(s->labels, spec->labels) != 0 ||
			    strcmp(s->fields, spec->fields) != 0))
		s = s->next;
	return s;
}

int tee_stream_get(
	struct ledger *l, const struct tee_stream_spec *spec, struct tee_stream **ret, struct err *err)
{
	const struct tape_stream row = {.resource = l->id,
		.namespace = (char *)(uintptr_t)spec->namespace,
		.label_selector = (char *)(uintptr_t)spec->labels,
		.field_selector = (char *)(uintptr_t)spec->fields};
	struct tape_writer *writer = tape_book_writer(l->shelf->book);
	struct tee_stream *s = find_stream(l, spec);
	uint32_t id;
	int rc;

	if (s) {
		*ret = s;
		return 0;
	}
	if (!writer)
		return err_set(err, ERR_STOPPED, "the tape is not written any more");
	rc = tape_writer_stream(writer, &row, &id, err);
	if (rc)
		return rc;
	s = xcalloc(1, sizeof(*s));
	*s = (struct tee_stream){.ledger = l,
		.next = l->streams,
		.id = id,
		.namespace = xstrdup(spec->namespace),
		.labels = xstrdup(spec->labels),
		.fields = xstrdup(spec->fields),
		.is_whole = !*spec->labels && selects_by_name(spec->fields),
		.view = known_new()};
	l->streams = s;
	*ret = s;
	return 0;
}

void tee_streams_free(struct ledger *l)
{
	for (struct tee_stream *s = l->streams, *next; s; s = next) {
		next = s->next;
		if (s->listing)
			s->listing->stream = NULL;
		known_free(s->view);
		free(s->namespace);
		free(s->labels);
		free(s->fields);
		free(s);
	}
	l->streams = NULL;
}

uint32_t tee_stream_id(const struct tee_stream *s)
{
	return s->id;
}

bool tee_stream_is_whole(const struct tee_stream *s)
{
	return s->is_whole;
}

struct known *tee_stream_view(struct tee_stream *s)
{
	return s->view;
}

bool tee_streams_have(const struct ledger *l, const struct tee_stream *but, struct slice namespace,
	struct slice name, struct slice uid)
{
	struct known_object o;

	for (const struct tee_stream *s = l->streams; s; s = s->next) {
		if (s != but && known_get(s->view, namespace, name, &o) && slice_equal(o.uid, uid))
			return true;
	}
	return false;
}

bool tee_stream_is_covered(const struct tee_stream *s)
{
	for (const struct tee_stream *w = s->ledger->streams; w; w = w->next) {
		bool is_wide = w != s && w->watches && !*w->labels && !*w->fields;

		if (is_wide && (!*w->namespace || strcmp(w->namespace, s->namespace) == 0))
			return true;
	}
	return false;
}

void tee_stream_reach(struct tee_stream *s, struct slice rv)
{
	if (rv.len && rv.len < sizeof(s->rv) && (!*s->rv || shelf_compare(rv, slice_of(s->rv)) > 0))
		snprintf(s->rv, sizeof(s->rv), "%.*s", (int)rv.len, rv.ptr);
}

/* ---- gaps ---- */

static uint64_t last_seq(const struct tee_stream *s)
{
	struct tape_writer_stats stats = {0};

	if (tape_book_writer(s->ledger->shelf->book))
		tape_writer_stats(tape_book_writer(s->ledger->shelf->book), &stats);
	return stats.last_seq;
}

void tee_gap_begin(struct tee_stream *s, const char *reason, uint64_t connection)
{
	struct tee_gap *g = &s->gap;

	if (g->is_open)
		return;
	*g = (struct tee_gap){.is_open = true,
		.begin_mono_ns = clock_mono_ns(&clock_system),
		.row = {.stream = s->id,
			.begin_seq = last_seq(s),
			.begin_ns = clock_wall_ns(&clock_system),
			.duration_ns = -1,
			.connection_before = connection}};
	snprintf(g->from_rv, sizeof(g->from_rv), "%s", s->rv);
	snprintf(g->reason, sizeof(g->reason), "%s", reason);
}

static int write_gap(struct tee_stream *s, struct err *err)
{
	struct tape_writer *writer = tape_book_writer(s->ledger->shelf->book);
	struct tee_gap *g = &s->gap;

	if (!writer)
		return 0;
	g->row.from_rv = g->from_rv;
	g->row.reason = g->reason;
	tape_book_dirty(s->ledger->shelf->book);
	return tape_writer_gap(writer, &g->row, err);
}

int tee_gap_write(struct tee_stream *s, struct err *err)
{
	if (!s->gap.is_open || s->gap.row.id)
		return 0;
	s->ledger->shelf->gaps++;
	s->gap.row.how_ended = "open";
	return write_gap(s, err);
}

int tee_gap_end(
	struct tee_stream *s, const char *how, struct slice to_rv, uint64_t connection, struct err *err)
{
	struct tee_gap *g = &s->gap;
	char rv[RESUME_RV_BYTES];
	int rc = 0;

	if (g->is_open && g->row.id) {
		snprintf(rv, sizeof(rv), "%.*s", (int)(to_rv.len < sizeof(rv) ? to_rv.len : 0),
			to_rv.len ? to_rv.ptr : "");
		g->row.end_seq = last_seq(s);
		g->row.end_ns = clock_wall_ns(&clock_system);
		/* Across a restart it has no beginning on this monotonic clock. */
		g->row.duration_ns =
			g->begin_mono_ns < 0 ? -1 : clock_mono_ns(&clock_system) - g->begin_mono_ns;
		g->row.to_rv = rv;
		g->row.how_ended = how;
		g->row.connection_after = connection;
		rc = write_gap(s, err);
	}
	*g = (struct tee_gap){.is_open = false};
	return rc;
}

/* ---- watches ---- */

void tee_stream_opened(struct tee_stream *s)
{
	s->watches++;
}

int tee_stream_settled(struct tee_stream *s, struct slice from_rv, uint64_t connection, struct err *err)
{
	bool goes_on = from_rv.len && !slice_is(from_rv, "0") && *s->rv &&
		       shelf_compare(from_rv, slice_of(s->rv)) <= 0;
	int rc;

	if (!s->gap.is_open || s->is_lost)
		return 0;
	if (goes_on)
		return tee_gap_end(s, "rewatch", from_rv, connection, err);
	if (!s->is_listed && !s->gap.row.id)
		return tee_gap_end(s, "rewatch", from_rv, connection, err);
	rc = tee_gap_write(s, err);
	return rc ? rc : tee_gap_end(s, "skipped", from_rv, connection, err);
}

int tee_stream_refused(struct tee_stream *s, struct err *err)
{
	return s->watches ? 0 : tee_gap_write(s, err);
}

void tee_stream_closed(struct tee_stream *s, const char *reason, uint64_t connection)
{
	if (s->watches && --s->watches == 0) {
		s->is_lost = false;
		tee_gap_begin(s, reason, connection);
	}
}

static int note_view(struct tee_stream *s, const struct shelf_object *o, struct err *err)
{
	const struct object_meta *m = o->meta;
	const struct known_object known = {m->namespace, m->name, m->uid, m->rv, 0};

	if (o->type != EVENT_DELETED)
		return known_put(s->view, &known, err);
	known_remove(s->view, m->namespace, m->name);
	return 0;
}

int tee_stream_event(struct tee_stream *s, const struct shelf_object *o, struct placed *ret, struct err *err)
{
	int rc = note_view(s, o, err);

	if (rc == 0)
		rc = shelf_deliver(s->ledger, s, o, ret, err);
	if (rc)
		return rc;
	tee_stream_reach(s, o->meta->rv);
	if (!s->is_lost)
		return 0;
	s->is_lost = false;
	return tee_gap_end(s, "skipped", o->meta->rv, 0, err);
}

int tee_stream_mark(struct tee_stream *s, const struct tape_mark *mark, struct err *err)
{
	struct tape_writer *writer = tape_book_writer(s->ledger->shelf->book);
	struct tape_mark row = *mark;

	/* Each watch has bookmarks of its own; what was reached already is no news. */
	if (mark->kind == MARK_BOOKMARK && *s->rv && shelf_compare(mark->rv, slice_of(s->rv)) <= 0 &&
		s->watches > 1)
		return 0;
	if (mark->kind != MARK_ERROR)
		tee_stream_reach(s, mark->rv);
	row.stream = s->id;
	if (!writer)
		return 0;
	tape_book_dirty(s->ledger->shelf->book);
	return tape_writer_mark(writer, &row, err);
}

int tee_stream_lost(struct tee_stream *s, uint64_t connection, struct err *err)
{
	int rc;

	if (s->is_lost)
		return 0;
	s->is_lost = true;
	tee_gap_begin(s, "not_recorded", connection);
	rc = tee_gap_write(s, err);
	return rc;
}

/* ---- time ---- */

int tee_streams_tick(struct shelf *shelf, int64_t now_ns, struct err *err)
{
	int rc = 0;

	for (struct ledger *l = shelf->ledgers; l; l = l->next) {
		for (struct tee_stream *s = l->streams; s && rc == 0; s = s->next) {
			bool lasts = s->gap.is_open && now_ns - s->gap.begin_mono_ns > LASTING_NS;

			if (lasts && !tee_stream_is_covered(s))
				rc = tee_gap_write(s, err);
		}
	}
	return rc;
}

int tee_stream_resume(struct tee_stream *s, const struct tee_stream_past *past, struct err *err)
{
	s->is_listed = past->is_listed;
	tee_stream_reach(s, past->rv);
	if (!past->is_listed)
		return 0;
	tee_gap_begin(s, past->reason, past->connection);
	s->gap.begin_mono_ns = -1;
	s->gap.row.begin_ns = past->last_ns;
	s->gap.row.begin_seq = past->last_seq;
	if (past->open) {
		s->gap.row.id = past->open->id;
		s->gap.row.begin_ns = past->open->begin_ns;
		s->gap.row.begin_seq = past->open->begin_seq;
		s->gap.row.connection_before = past->open->connection_before;
		snprintf(s->gap.reason, sizeof(s->gap.reason), "%s", past->open->reason);
	}
	return tee_gap_write(s, err);
}
