/* picture_rows.c: gaps, what they hid, and watches: rows of the tape, which are few. */
#include "schema/view/picture_internal.h"

#include "schema/base/clock.h"
#include "schema/tape/gap_words.h"
#include "schema/view/answer_out.h"

#include <stdlib.h>

#define GAPS_TOLD    2000 /* in one answer; how many there are is told as well */
#define WATCHES_TOLD 4000

/* ---- loading ---- */

static int take_gap(void *context, const struct tape_gap *gap)
{
	struct picture *p = context;
	const struct tape_stream *s = tape_stream_by_id(p->tape, gap->stream);
	struct gap_row *row;

	p->gaps = xgrow(p->gaps, p->gap_count, sizeof(*p->gaps));
	row = &p->gaps[p->gap_count++];
	*row = (struct gap_row){*gap, s ? s->resource : 0};
	row->gap.from_rv = row->gap.to_rv = NULL;
	row->gap.reason = xstrdup(gap->reason);
	row->gap.how_ended = xstrdup(gap->how_ended);
	return 0;
}

static int take_connection(void *context, const struct tape_connection *c)
{
	struct picture *p = context;
	bool open = !c->end_reason || c->duration_ns < 0;

	if (!c->stream)
		return 0;
	p->watches = xgrow(p->watches, p->watch_count, sizeof(*p->watches));
	p->watches[p->watch_count++] = (struct watch_row){.stream = c->stream,
		.begin_ns = c->begin_ns,
		.end_ns = open ? INT64_MAX : time_add(c->begin_ns, c->duration_ns),
		.http_status = c->http_status,
		.open = open,
		.purpose = xstrdup(c->purpose),
		.end_reason = xstrdup(c->end_reason ? c->end_reason : "")};
	return 0;
}

struct missed_walk {
	struct picture *p;
	size_t known, count;
};

static const struct gap_row *find_gap(const struct picture *p, uint64_t id)
{
	for (size_t i = 0; i < p->gap_count; i++) {
		if (p->gaps[i].gap.id == id)
			return &p->gaps[i];
	}
	return NULL;
}

/* What a gap hid is a mark where it ended: that is when it became known. */
static int take_missed(void *context, const struct tape_missed *m)
{
	struct missed_walk *w = context;
	const struct gap_row *g = find_gap(w->p, m->gap);
	const struct tape_resource *r = tape_resource_by_id(w->p->tape, m->resource);
	struct point point = {.note = NOTE_MISSED, .state = LOOK_STATE_COUNT};

	if (w->count++ < w->known || !g || !r)
		return 0;
	if (w->p->namespace && !slice_is(m->namespace, w->p->namespace))
		return 0;
	point.time_ns = g->gap.end_ns;
	point.seq = g->gap.end_seq;
	picture_add_point(
		w->p, picture_track(w->p, r, (struct slice){NULL, 0}, m->namespace, m->name), &point);
	return 0;
}

void picture_release_rows(struct picture *p)
{
	for (size_t i = 0; i < p->gap_count; i++) {
		free((char *)p->gaps[i].gap.reason);
		free((char *)p->gaps[i].gap.how_ended);
	}
	for (size_t i = 0; i < p->watch_count; i++) {
		free(p->watches[i].purpose);
		free(p->watches[i].end_reason);
	}
	free(p->gaps);
	free(p->watches);
	p->gaps = NULL;
	p->watches = NULL;
	p->gap_count = p->watch_count = 0;
}

int picture_load_rows(struct picture *p, struct err *err)
{
	struct missed_walk walk = {p, p->missed_count, 0};
	struct coverage *c;
	int rc = coverage_load(p->tape, &c, err);

	if (rc)
		return rc;
	picture_release_rows(p);
	p->span = coverage_span(c);
	rc = coverage_each_gap(c, p->tape, take_gap, p, err);
	if (!rc)
		rc = tape_each_connection(p->tape, take_connection, p, err);
	if (!rc)
		rc = tape_each_missed(p->tape, take_missed, &walk, err);
	p->missed_count = walk.count;
	coverage_free(c);
	return rc;
}

/* ---- telling ---- */

static double pixel_of(const struct picture_window *w, int64_t time_ns)
{
	double length = (double)w->to_ns - (double)w->from_ns;

	return length > 0 ? ((double)time_ns - (double)w->from_ns) / length * w->width : 0;
}

static void put_stream(struct answer_out *o, const struct picture *p, uint32_t stream)
{
	const struct tape_stream *s = tape_stream_by_id(p->tape, stream);
	const struct tape_resource *r = s ? tape_resource_by_id(p->tape, s->resource) : NULL;

	answer_put(o, "\"stream\":%u,\"id\":%u", stream, r ? r->id : 0);
	answer_member(o, "resource", slice_of(r ? r->resource : "?"));
	answer_member(o, "group", slice_of(r ? r->apigroup : ""));
	answer_member(o, "namespace", slice_of(s ? s->namespace : ""));
	answer_member(o, "labels", slice_of(s ? s->label_selector : ""));
	answer_member(o, "fields", slice_of(s ? s->field_selector : ""));
}

static bool is_open(const struct tape_gap *g)
{
	return strcmp(g->how_ended, "open") == 0;
}

/* Whether changes were missed, or nobody can say. */
static bool hid_something(const struct tape_gap *g)
{
	return g->modified || g->added || g->deleted || g->recreated || is_open(g);
}

static void put_gap(struct answer_out *o, const struct picture *p, const struct tape_gap *g, uint32_t stream)
{
	answer_put(o, "{");
	put_stream(o, p, stream);
	answer_number(o, "gap", (int64_t)g->id);
	answer_number(o, "begin", g->begin_ns);
	answer_number(
		o, "end", is_open(g) ? (p->span.end_ns > g->end_ns ? p->span.end_ns : g->end_ns) : g->end_ns);
	answer_number(o, "begin_seq", (int64_t)g->begin_seq);
	answer_number(o, "end_seq", (int64_t)g->end_seq);
	answer_member(o, "reason", slice_of(g->reason));
	answer_member(o, "words", slice_of(gap_reason_words(g->reason)));
	answer_member(o, "how_ended", slice_of(g->how_ended));
	answer_put(o,
		",\"open\":%s,\"hid\":%s,\"added\":%llu,\"modified\":%llu,\"deleted\":%llu,\"recreated\":%llu}",
		is_open(g) ? "true" : "false", hid_something(g) ? "true" : "false",
		(unsigned long long)g->added, (unsigned long long)g->modified, (unsigned long long)g->deleted,
		(unsigned long long)g->recreated);
}

static bool is_in_window(const struct tape_gap *g, const struct picture_window *w)
{
	return g->begin_ns <= w->to_ns && (is_open(g) || g->end_ns >= w->from_ns);
}

/* Those that hid something come first: they are told whatever else there is. */
int picture_gaps(struct picture *p, const struct picture_window *w, struct buf *to, struct err *err)
{
	struct answer_out o = {to, err, 0};
	size_t total = 0, told = 0;

	answer_put(&o, "{\"gaps\":[");
	for (int turn = 0; turn < 2; turn++) {
		for (size_t i = 0; i < p->gap_count; i++) {
			const struct tape_gap *g = &p->gaps[i].gap;

			if (!is_in_window(g, w) || hid_something(g) != (turn == 0))
				continue;
			if (total++ >= GAPS_TOLD)
				continue;
			answer_put(&o, told++ ? "," : "");
			put_gap(&o, p, g, g->stream);
		}
	}
	answer_put(&o, "],\"total\":%zu}", total);
	return o.code;
}

static void put_watch(struct answer_out *o, const struct picture_window *w, const struct watch_row *row)
{
	answer_put(o, "{\"stream\":%u,\"x0\":%.2f,\"x1\":%.2f,\"status\":%d,\"open\":%s", row->stream,
		pixel_of(w, row->begin_ns), row->open ? (double)w->width : pixel_of(w, row->end_ns),
		row->http_status, row->open ? "true" : "false");
	answer_number(o, "begin", row->begin_ns);
	answer_member(o, "purpose", slice_of(row->purpose));
	answer_member(o, "reason", slice_of(row->end_reason));
	answer_put(o, "}");
}

static void put_streams(struct answer_out *o, const struct picture *p)
{
	const struct tape_stream *s;

	for (size_t i = 0; (s = tape_stream_at(p->tape, i)); i++) {
		answer_put(o, i ? ",{" : "{");
		put_stream(o, p, s->id);
		answer_put(o, "}");
	}
}

int picture_watches(struct picture *p, const struct picture_window *w, struct buf *to, struct err *err)
{
	struct answer_out o = {to, err, 0};
	size_t total = 0;

	answer_put(&o, "{\"streams\":[");
	put_streams(&o, p);
	answer_put(&o, "],\"watches\":[");
	for (size_t i = 0; i < p->watch_count; i++) {
		const struct watch_row *row = &p->watches[i];

		if (row->begin_ns > w->to_ns || row->end_ns < w->from_ns)
			continue;
		if (total++ >= WATCHES_TOLD)
			continue;
		answer_put(&o, total > 1 ? "," : "");
		put_watch(&o, w, row);
	}
	answer_put(&o, "],\"total\":%zu}", total);
	return o.code;
}
