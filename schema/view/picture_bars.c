/* picture_bars.c: see picture_bars.h. */
#include "schema/view/picture_bars.h"

#include "schema/view/picture_internal.h"

#include <math.h>
#include <stdlib.h>

#define DENSE_TIMES 4 /* above this many points a pixel, pixels are looked at and not points */

const char *picture_note_name(unsigned note)
{
	static const char *const names[NOTE_COUNT] = {"", "changed", "added", "deleted", "inferred", "spec",
		"restart", "warning", "missed", "recreated", "oom"};

	return names[note];
}

/* ---- places ---- */

static double x_of(const struct picture_window *w, int64_t time_ns)
{
	double length = (double)w->to_ns - (double)w->from_ns;

	if (time_ns <= w->from_ns)
		return 0;
	if (time_ns >= w->to_ns)
		return w->width;
	return ((double)time_ns - (double)w->from_ns) / length * w->width;
}

static int64_t time_of(const struct picture_window *w, unsigned x)
{
	double length = (double)w->to_ns - (double)w->from_ns;

	return w->from_ns + (int64_t)(length * x / w->width);
}

/* Of the points in the window: the first, and the one after the last. */
static size_t points_from(const struct track *t, const struct picture_window *w)
{
	return track_last_at(t, w->from_ns - 1);
}

/* ---- bars ---- */

struct bar {
	double x0;
	unsigned state; /* LOOK_GONE: none is being drawn */
	bool any;       /* one was written */
};

static void end_bar(struct answer_out *o, struct bar *b, double x)
{
	if (b->state != LOOK_GONE && x >= b->x0) {
		answer_put(o, "%s[%.2f,%.2f,%u]", b->any ? "," : "", b->x0, x, b->state);
		b->any = true;
	}
	b->state = LOOK_GONE;
}

/* A state that lasts less than a pixel gives way to one that matters more; else the one before ends here. */
static void change_bar(struct answer_out *o, struct bar *b, double x, unsigned state)
{
	if (state == b->state)
		return;
	if (b->state != LOOK_GONE && floor(x) == floor(b->x0) && state != LOOK_GONE) {
		b->state = state > b->state ? state : b->state;
		return;
	}
	end_bar(o, b, x);
	b->state = state;
	b->x0 = x;
}

static unsigned state_before(const struct track *t, size_t at)
{
	while (at > 0) {
		unsigned state = t->points[--at].state;

		if (state != LOOK_STATE_COUNT)
			return state;
	}
	return LOOK_GONE;
}

static void put_sparse(
	struct answer_out *o, const struct track *t, const struct picture_window *w, struct bar *b)
{
	for (size_t i = points_from(t, w); i < t->point_count && t->points[i].time_ns <= w->to_ns; i++) {
		const struct point *point = &t->points[i];

		if (point->note == NOTE_RECREATED)
			end_bar(o, b, x_of(w, point->time_ns));
		if (point->state != LOOK_STATE_COUNT)
			change_bar(o, b, x_of(w, point->time_ns), point->state);
	}
}

/* Of each pixel, the state at its end. */
static void put_dense(
	struct answer_out *o, const struct track *t, const struct picture_window *w, struct bar *b)
{
	for (unsigned x = 1; x <= w->width; x++)
		change_bar(o, b, x - 1, state_before(t, track_last_at(t, time_of(w, x))));
}

static bool is_dense(const struct track *t, const struct picture_window *w)
{
	return track_last_at(t, w->to_ns) - points_from(t, w) > (size_t)DENSE_TIMES * w->width;
}

static void put_bars(
	struct answer_out *o, const struct track *t, const struct picture_window *w, int64_t end_ns)
{
	struct bar b = {0, state_before(t, points_from(t, w)), false};

	answer_put(o, ",\"bars\":[");
	if (is_dense(t, w))
		put_dense(o, t, w, &b);
	else
		put_sparse(o, t, w, &b);
	end_bar(o, &b, x_of(w, end_ns < w->to_ns ? end_ns : w->to_ns));
	answer_put(o, "]");
}

/* ---- marks ---- */

struct pixel_note {
	uint64_t seq;
	uint32_t count;
	uint8_t note;
};

static void note_pixel(struct pixel_note *pixels, const struct point *point, const struct picture_window *w)
{
	struct pixel_note *at = &pixels[(unsigned)x_of(w, point->time_ns)];

	at->count++;
	if (point->note <= at->note)
		return;
	at->note = (uint8_t)point->note;
	at->seq = point->seq;
}

/* All that happened to an object, as one note a pixel. */
static void note_track(struct pixel_note *pixels, const struct track *t, const struct picture_window *w)
{
	for (size_t i = points_from(t, w); i < t->point_count && t->points[i].time_ns <= w->to_ns; i++) {
		if (t->points[i].note >= NOTE_ADDED)
			note_pixel(pixels, &t->points[i], w);
	}
}

/* What a closed lane shows of one below it. */
static void note_track_below(struct pixel_note *pixels, const struct track *t, const struct picture_window *w)
{
	size_t i = t->loud_count ? track_last_loud_at(t, w->from_ns - 1) : 0;

	for (; i < t->loud_count && t->points[t->loud[i]].time_ns <= w->to_ns; i++)
		note_pixel(pixels, &t->points[t->loud[i]], w);
}

static void put_marks(struct answer_out *o, const struct pixel_note *pixels, unsigned width)
{
	bool any = false;

	answer_put(o, ",\"marks\":[");
	for (unsigned x = 0; x <= width; x++) {
		if (!pixels[x].note)
			continue;
		answer_put(o, "%s[%u,\"%s\",\"%llu\",%u]", any ? "," : "", x,
			picture_note_name(pixels[x].note), (unsigned long long)pixels[x].seq,
			pixels[x].count);
		any = true;
	}
	answer_put(o, "]");
}

/* Where something changed: each pixel once, and no point between two pixels is looked at. */
static void put_ticks(struct answer_out *o, const struct track *t, const struct picture_window *w)
{
	bool any = false;

	answer_put(o, ",\"ticks\":[");
	for (size_t i = points_from(t, w); i < t->point_count && t->points[i].time_ns <= w->to_ns;) {
		unsigned x = (unsigned)x_of(w, t->points[i].time_ns);
		size_t next = x < w->width ? track_last_at(t, time_of(w, x + 1) - 1) : t->point_count;

		answer_put(o, "%s%u", any ? "," : "", x);
		any = true;
		i = next > i ? next : i + 1;
	}
	answer_put(o, "]");
}

/* ---- lives and replicas ---- */

static void put_lives(struct answer_out *o, const struct track *t, const struct picture_window *w)
{
	bool any = false;
	double before = -2;

	answer_put(o, ",\"lives\":[");
	for (uint32_t i = 0; i < t->life_count && t->life_count > 1; i++) {
		const struct life *l = &t->lives[i];
		double x = x_of(w, l->begin_ns);

		if (l->begin_ns > w->to_ns || (x - before < 1 && l->begin_ns > w->from_ns))
			continue;
		before = x;
		answer_put(o, "%s[%.2f,", any ? "," : "", x);
		answer_text(o, slice_of(l->uid));
		answer_put(o, ",\"%llu\"]", (unsigned long long)l->first_seq);
		any = true;
	}
	answer_put(o, "]");
}

/* The last of each pixel, and the one before the window. */
static void put_steps(struct answer_out *o, const struct track *t, const struct picture_window *w)
{
	bool any = false;

	answer_put(o, ",\"steps\":[");
	for (uint32_t i = 0; i < t->step_count && t->steps[i].time_ns <= w->to_ns; i++) {
		const struct step *s = &t->steps[i], *next = i + 1 < t->step_count ? s + 1 : NULL;
		double x = x_of(w, s->time_ns);

		if (next && next->time_ns <= w->to_ns && x_of(w, next->time_ns) - x < 0.5)
			continue;
		answer_put(o, "%s[%.2f,%d,%d]", any ? "," : "", x, s->wanted, s->ready);
		any = true;
	}
	answer_put(o, "]");
}

/* ---- the lane ---- */

static void put_marks_below(struct answer_out *o, const struct picture *p, const struct node *n, bool closed,
	const struct picture_window *w, struct pixel_note *pixels)
{
	memset(pixels, 0, (w->width + 1) * sizeof(*pixels));
	if (n->kind == NODE_OBJECT)
		note_track(pixels, &p->tracks[n->track], w);
	for (uint32_t i = 1; closed && i <= n->span; i++) {
		if (n[i].kind == NODE_OBJECT)
			note_track_below(pixels, &p->tracks[n[i].track], w);
	}
	put_marks(o, pixels, w->width);
}

void picture_put_bars(struct answer_out *o, struct picture *p, const struct node *n, bool closed,
	const struct picture_window *w)
{
	struct pixel_note *pixels = xcalloc(w->width + 1, sizeof(*pixels));
	int64_t end_ns = p->span.end_ns > p->info.last_time_ns ? p->span.end_ns : p->info.last_time_ns;
	const struct track *t = &p->tracks[n->track];

	put_marks_below(o, p, n, closed, w, pixels);
	if (n->kind == NODE_OBJECT) {
		put_bars(o, t, w, end_ns);
		put_ticks(o, t, w);
		put_lives(o, t, w);
		put_steps(o, t, w);
	} else {
		answer_put(o, ",\"begin\":%.2f", x_of(w, n->begin_ns));
	}
	free(pixels);
}
