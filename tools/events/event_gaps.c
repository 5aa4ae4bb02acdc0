/* event_gaps.c: see event_gaps.h. */
#include "tools/events/event_gaps.h"

#include <stdlib.h>

struct gap_loading {
	const struct event_gaps *before;
	struct event_gaps *to;
	struct tape *tape;
	const struct event_gaps_wanted *wanted;
};

void event_gaps_release(struct event_gaps *g)
{
	for (size_t i = 0; i < g->count; i++) {
		free(g->items[i].namespace);
		free(g->items[i].reason);
		free(g->items[i].how_ended);
	}
	free(g->items);
	*g = (struct event_gaps){0};
}

static bool is_wanted_gap(const struct gap_loading *l, const struct tape_gap *gap,
	const struct tape_stream *s, const struct tape_resource *r)
{
	const struct event_gaps_wanted *w = l->wanted;
	bool open = strcmp(gap->how_ended, "open") == 0;

	return r && object_patterns_resource(w->patterns, r) == OBJECT_WANTED &&
	       gap->begin_ns <= w->until_ns && (open || gap->end_ns > w->from_ns) &&
	       (!*w->namespace || !*s->namespace || strcmp(s->namespace, w->namespace) == 0);
}

/* What was told of it before. */
static void remember_gap(const struct event_gaps *before, struct event_gap *gap)
{
	for (size_t i = 0; i < before->count; i++) {
		const struct event_gap *old = &before->items[i];

		if (old->stream != gap->stream || old->begin_ns != gap->begin_ns || !old->told)
			continue;
		gap->told = old->open == gap->open;
		gap->was_open = old->was_open || (old->open && !gap->open);
	}
}

static int on_gap(void *context, const struct tape_gap *gap)
{
	struct gap_loading *l = context;
	const struct tape_stream *s = tape_stream_by_id(l->tape, gap->stream);
	const struct tape_resource *r = s ? tape_resource_by_id(l->tape, s->resource) : NULL;
	struct event_gap *item;

	if (!is_wanted_gap(l, gap, s, r))
		return 0;
	l->to->items = xgrow(l->to->items, l->to->count, sizeof(*l->to->items));
	item = &l->to->items[l->to->count++];
	*item = (struct event_gap){.id = gap->id,
		.stream = gap->stream,
		.resource = r,
		.namespace = xstrdup(s->namespace),
		.reason = xstrdup(gap->reason),
		.how_ended = xstrdup(gap->how_ended),
		.begin_ns = gap->begin_ns,
		.end_ns = gap->end_ns,
		.duration_ns = gap->duration_ns,
		.modified = gap->modified,
		.added = gap->added,
		.deleted = gap->deleted,
		.recreated = gap->recreated,
		.open = strcmp(gap->how_ended, "open") == 0};
	remember_gap(l->before, item);
	item->place = item->was_open ? gap->end_seq : gap->begin_seq;
	return 0;
}

static int by_place(const void *left, const void *right)
{
	const struct event_gap *a = left, *b = right;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return (a->stream > b->stream) - (a->stream < b->stream);
}

int event_gaps_load(
	struct event_gaps *g, struct tape *t, const struct event_gaps_wanted *wanted, struct err *err)
{
	struct event_gaps found = {0};
	struct gap_loading l = {g, &found, t, wanted};
	struct coverage *c;
	int rc = coverage_load(t, &c, err);

	if (rc)
		return rc;
	rc = coverage_each_gap(c, t, on_gap, &l, err);
	coverage_free(c);
	if (rc) {
		event_gaps_release(&found);
		return rc;
	}
	if (found.count)
		qsort(found.items, found.count, sizeof(*found.items), by_place);
	event_gaps_release(g);
	*g = found;
	return 0;
}

static bool is_alike(const struct event_gap *a, const struct event_gap *b)
{
	return strcmp(a->reason, b->reason) == 0 && strcmp(a->how_ended, b->how_ended) == 0 &&
	       a->was_open == b->was_open;
}

size_t event_gaps_take(struct event_gaps *g, uint64_t seq, const struct event_gap **ret)
{
	size_t first, count = 0;

	while (g->at < g->count && g->items[g->at].told)
		g->at++;
	first = g->at;
	while (g->at < g->count && g->items[g->at].place < seq && !g->items[g->at].told &&
		is_alike(&g->items[first], &g->items[g->at])) {
		g->items[g->at++].told = true;
		count++;
	}
	*ret = count ? &g->items[first] : NULL;
	return count;
}
