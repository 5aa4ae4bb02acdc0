/* tape_past.c: see tape_past.h. */
#include "tools/tee/tape_past.h"

#include "recorder/end_reason.h"
#include "recorder/restart.h"
#include "recorder/resume.h"
#include "schema/base/limits.h"
#include "schema/tape/position.h"
#include "schema/tape/reader.h"
#include "tools/tee/tee_stream.h"

#include <stdio.h>
#include <stdlib.h>

/* What the tape knows of one stream. */
struct stream_past {
	const struct tape_stream *row;
	struct tee_stream *stream;
	bool is_listed;
	char rv[RESUME_RV_BYTES];
	uint64_t connection;
	int64_t watch_end_ns; /* INT64_MIN: not known */
	char reason[END_REASON_BYTES];
	struct tape_gap gap; /* that is open; id 0: none */
	char gap_reason[END_REASON_BYTES], gap_rv[RESUME_RV_BYTES];
};

struct load {
	struct shelf *shelf;
	struct tape *tape;
	struct stream_past *pasts;
	size_t count;
	int64_t last_ns; /* of the last thing on the tape */
	struct err *err;
};

static struct stream_past *past_of(struct load *l, uint32_t stream)
{
	for (size_t i = 0; i < l->count; i++) {
		if (l->pasts[i].row->id == stream)
			return &l->pasts[i];
	}
	return NULL;
}

static void copy_text(char *to, size_t size, struct slice text)
{
	snprintf(to, size, "%.*s", (int)(text.len < size ? text.len : 0), text.len ? text.ptr : "");
}

static void reach(struct stream_past *p, struct slice rv)
{
	if (rv.len && rv.len < sizeof(p->rv) && (!*p->rv || shelf_compare(rv, slice_of(p->rv)) > 0))
		copy_text(p->rv, sizeof(p->rv), rv);
}

/* ---- rows ---- */

static int take_mark(void *context, const struct tape_mark *mark)
{
	struct load *l = context;
	struct stream_past *p = past_of(l, mark->stream);

	if (mark->time_ns > l->last_ns)
		l->last_ns = mark->time_ns;
	if (!p || mark->kind == MARK_ERROR)
		return 0;
	p->is_listed |= mark->kind == MARK_LIST || mark->kind == MARK_INITIAL_END;
	reach(p, mark->rv);
	return 0;
}

static int take_connection(void *context, const struct tape_connection *c)
{
	struct load *l = context;
	struct stream_past *p = past_of(l, c->stream);
	bool is_watch = strcmp(c->purpose, "watch") == 0 || strcmp(c->purpose, "watchlist") == 0;
	int64_t end_ns = restart_connection_end(c, l->last_ns);

	if (p && is_watch && c->http_status < 300 && end_ns >= p->watch_end_ns) {
		p->connection = c->id;
		p->watch_end_ns = end_ns;
		copy_text(p->reason, sizeof(p->reason),
			slice_of(c->end_reason ? c->end_reason : "recorder_died"));
	}
	return c->end_reason
		       ? 0
		       : restart_end_connection(tape_book_writer(l->shelf->book), c, l->last_ns, l->err);
}

static int take_gap(void *context, const struct tape_gap *gap)
{
	struct load *l = context;
	struct stream_past *p = past_of(l, gap->stream);

	if (!p)
		return 0;
	p->gap = *gap;
	if (strcmp(gap->how_ended, "open") != 0)
		p->gap.id = 0;
	copy_text(p->gap_reason, sizeof(p->gap_reason), slice_of(gap->reason));
	copy_text(p->gap_rv, sizeof(p->gap_rv), slice_of(gap->from_rv ? gap->from_rv : ""));
	p->gap.reason = p->gap_reason;
	p->gap.from_rv = p->gap_rv;
	return 0;
}

static int take_document(void *context, const struct tape_document *d)
{
	struct load *l = context;

	tape_book_learn(l->shelf->book, d);
	return 0;
}

/* ---- objects ---- */

/* Whether the stream's clients had it: one with selectors is known by the event that it brought. */
static int has_object(
	struct load *l, const struct stream_past *p, const struct tape_live *live, struct buf *keep)
{
	struct event e;
	int rc;

	if (*p->row->namespace && !slice_is(live->namespace, p->row->namespace))
		return 0;
	if (!*p->row->label_selector && !*p->row->field_selector)
		return 1;
	rc = tape_event(l->tape, live->seq, &e, keep, l->err);
	return rc ? rc : e.stream == p->row->id;
}

static int put_object(struct load *l, struct ledger *ledger, const struct tape_live *live, struct buf *keep)
{
	const struct known_object known = {live->namespace, live->name, live->uid, live->rv, live->seq};
	int rc = known_put(ledger->live, &known, l->err);

	for (size_t i = 0; i < l->count && rc == 0; i++) {
		struct stream_past *p = &l->pasts[i];

		if (p->row->resource != live->resource)
			continue;
		rc = has_object(l, p, live, keep);
		if (rc > 0)
			rc = known_put(tee_stream_view(p->stream), &known, l->err);
		if (rc == 0)
			reach(p, live->rv);
	}
	return rc;
}

static int load_objects(struct load *l, struct ledger *ledger)
{
	struct tape_state *state;
	struct tape_info info;
	struct buf keep;
	int rc = tape_info(l->tape, &info, l->err);

	if (rc == 0)
		rc = tape_state_at(l->tape, info.last_seq, ledger->id, &state, l->err);
	if (rc)
		return rc;
	buf_init(&keep, LIMIT_OBJECT_BYTES);
	for (size_t i = 0; rc == 0 && i < state->count; i++)
		rc = put_object(l, ledger, &state->live[i], &keep);
	buf_release(&keep);
	tape_state_free(state);
	return rc;
}

/* ---- streams ---- */

static int open_stream(struct load *l, struct stream_past *p)
{
	const struct tape_resource *r = tape_resource_by_id(l->tape, p->row->resource);
	const struct tee_stream_spec spec = {
		p->row->namespace, p->row->label_selector, p->row->field_selector};
	struct ledger *ledger;
	int rc = shelf_ledger(l->shelf, r, &ledger, l->err);

	return rc ? rc : tee_stream_get(ledger, &spec, &p->stream, l->err);
}

static int resume_stream(struct load *l, struct stream_past *p)
{
	struct tee_stream_past past = {.is_listed = p->is_listed,
		.rv = slice_of(p->rv),
		.last_ns = p->watch_end_ns != INT64_MIN ? p->watch_end_ns : l->last_ns,
		.reason = *p->reason ? p->reason : "recorder_died",
		.connection = p->connection,
		.open = p->gap.id ? &p->gap : NULL};
	int rc = tape_position_at_time(l->tape, past.last_ns, &past.last_seq, l->err);

	return rc ? rc : tee_stream_resume(p->stream, &past, l->err);
}

static int load_streams(struct load *l)
{
	int rc = 0;

	while (tape_stream_at(l->tape, l->count))
		l->count++;
	l->pasts = xcalloc(l->count + 1, sizeof(*l->pasts));
	for (size_t i = 0; i < l->count && rc == 0; i++) {
		l->pasts[i].row = tape_stream_at(l->tape, i);
		l->pasts[i].watch_end_ns = INT64_MIN;
		rc = open_stream(l, &l->pasts[i]);
	}
	return rc;
}

static int load_all(struct load *l)
{
	struct tape_info info;
	int rc = tape_info(l->tape, &info, l->err);

	l->last_ns = info.last_time_ns;
	if (rc == 0)
		rc = load_streams(l);
	if (rc == 0)
		rc = tape_each_mark(l->tape, take_mark, l, l->err);
	if (rc == 0)
		rc = tape_each_connection(l->tape, take_connection, l, l->err);
	if (rc == 0)
		rc = tape_each_gap(l->tape, take_gap, l, l->err);
	if (rc == 0)
		rc = tape_each_document(l->tape, take_document, l, l->err);
	for (struct ledger *g = l->shelf->ledgers; g && rc == 0; g = g->next)
		rc = load_objects(l, g);
	for (size_t i = 0; i < l->count && rc == 0; i++)
		rc = resume_stream(l, &l->pasts[i]);
	return rc;
}

int tape_past_load(struct shelf *s, struct err *err)
{
	struct load l = {.shelf = s, .err = err};
	int rc = tape_open(tape_book_path(s->book), &l.tape, err);

	if (rc)
		return rc;
	rc = load_all(&l);
	free(l.pasts);
	tape_close(l.tape);
	return rc;
}
