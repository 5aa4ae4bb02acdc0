/* picture_notable.c: what stands out of a tape, for people who do not yet know what they look for. */
#include "schema/view/picture_internal.h"

#include "schema/base/clock.h"
#include "schema/view/answer_out.h"

#include <stdio.h>
#include <stdlib.h>

#define ITEMS_MAX 12 /* of each kind */

enum kind {
	KIND_ROLLOUT,
	KIND_RECREATED,
	KIND_OOM,
	KIND_CRASH,
	KIND_RESTART,
	KIND_WARNING,
	KIND_MISSED,
	KIND_COUNT
};

struct item {
	uint32_t track, count;
	uint64_t seq;
	int64_t time_ns;
	char words[120];
};

/* The first ones in time, in order. */
struct list {
	struct item items[ITEMS_MAX];
	size_t count;
	uint64_t total; /* objects; of rollouts, changes */
};

static void add_item(struct list *l, const struct item *item)
{
	size_t at = l->count;

	l->total++;
	while (at > 0 && l->items[at - 1].time_ns > item->time_ns)
		at--;
	if (at >= ITEMS_MAX)
		return;
	if (l->count < ITEMS_MAX)
		l->count++;
	memmove(&l->items[at + 1], &l->items[at], (l->count - 1 - at) * sizeof(*item));
	l->items[at] = *item;
}

/* ---- single notes ---- */

static enum kind kind_of(const struct point *point)
{
	switch (point->note) {
	case NOTE_RECREATED: return KIND_RECREATED;
	case NOTE_OOM: return KIND_OOM;
	case NOTE_RESTART: return KIND_RESTART;
	case NOTE_WARNING: return KIND_WARNING;
	case NOTE_MISSED: return KIND_MISSED;
	default: break;
	}
	return point->state == LOOK_CRASHING || point->state == LOOK_FAILED ? KIND_CRASH : KIND_COUNT;
}

static void note_points(struct list lists[KIND_COUNT], const struct track *t, uint32_t track)
{
	struct item found[KIND_COUNT] = {0};

	for (uint32_t i = 0; i < t->point_count; i++) {
		const struct point *point = &t->points[i];
		enum kind kind = kind_of(point);
		struct item *item = &found[kind < KIND_COUNT ? kind : 0];

		if (kind == KIND_COUNT)
			continue;
		if (!item->count++)
			*item = (struct item){track, 1, point->seq, point->time_ns, ""};
		if (kind == KIND_CRASH && !*item->words)
			snprintf(item->words, sizeof(item->words), "%s", look_state_name(point->state));
	}
	for (size_t k = 0; k < KIND_COUNT; k++) {
		if (found[k].count && k != KIND_ROLLOUT)
			add_item(&lists[k], &found[k]);
	}
}

/* ---- rollouts ---- */

/* How it went until somebody changed the workload again: how far down it was, and when all were ready. */
static void tell_rollout(const struct track *t, const struct point *from, int64_t until_ns, struct item *ret)
{
	int64_t lowest = INT64_MAX, wanted = 0, well_ns = INT64_MAX, worst_ns = from->time_ns;
	char took[TIME_TEXT_BYTES];

	for (uint32_t i = 0; i < t->step_count && t->steps[i].time_ns < until_ns; i++) {
		const struct step *s = &t->steps[i];

		if (s->seq < from->seq)
			continue;
		wanted = s->wanted;
		if (s->ready - s->wanted < lowest) {
			lowest = s->ready - s->wanted;
			worst_ns = s->time_ns;
		}
		if (s->ready != s->wanted)
			well_ns = INT64_MAX;
		else if (well_ns == INT64_MAX)
			well_ns = s->time_ns;
	}
	if (lowest < 0 && well_ns == INT64_MAX)
		snprintf(ret->words, sizeof(ret->words),
			"not all ready again; at worst %lld of %lld, %s after it",
			(long long)(wanted + lowest < 0 ? 0 : wanted + lowest), (long long)wanted,
			duration_format(took, worst_ns - from->time_ns));
	else if (lowest < 0)
		snprintf(ret->words, sizeof(ret->words), "%lld of %lld ready at worst, all after %s",
			(long long)(wanted + lowest < 0 ? 0 : wanted + lowest), (long long)wanted,
			duration_format(took, well_ns - from->time_ns));
	else
		snprintf(ret->words, sizeof(ret->words), "never fewer ready than wanted");
}

/* Only of those at the top: a Deployment's ReplicaSets follow it. */
static void note_rollouts(struct list *l, const struct picture *p, const struct track *t, uint32_t track)
{
	for (uint32_t i = 0; i < t->point_count && !t->owner; i++) {
		const struct point *point = &t->points[i];
		struct item item = {track, 1, point->seq, point->time_ns, ""};
		int64_t until_ns = p->info.last_time_ns + 1;

		if (point->note != NOTE_SPEC)
			continue;
		for (uint32_t k = i + 1; k < t->point_count; k++) {
			if (t->points[k].note == NOTE_SPEC || t->points[k].state == LOOK_GONE) {
				until_ns = t->points[k].time_ns;
				break;
			}
		}
		tell_rollout(t, point, until_ns, &item);
		add_item(l, &item);
	}
}

/* ---- telling ---- */

static void put_item(struct answer_out *o, const struct picture *p, const struct item *item)
{
	const struct track *t = &p->tracks[item->track];
	const struct tape_resource *r = tape_resource_by_id(p->tape, t->resource);

	answer_put(o, "{\"count\":%u", item->count);
	answer_number(o, "seq", (int64_t)item->seq);
	answer_number(o, "time_ns", item->time_ns);
	answer_member(o, "key", slice_of(t->key));
	answer_member(o, "kind", slice_of(r ? r->kind : t->kind));
	answer_member(o, "namespace", slice_of(t->namespace));
	answer_member(o, "name", slice_of(t->name));
	answer_member(o, "words", slice_of(item->words));
	answer_put(o, "}");
}

static void put_lists(struct answer_out *o, const struct picture *p, const struct list lists[KIND_COUNT])
{
	static const char *const names[] = {
		"spec", "recreated", "oom", "crash", "restart", "warning", "missed"};

	answer_put(o, "{\"share\":%.3f,\"kinds\":[", picture_share(p));
	for (size_t k = 0; k < KIND_COUNT; k++) {
		answer_put(o, "%s{\"note\":\"%s\",\"total\":%llu,\"items\":[", k ? "," : "", names[k],
			(unsigned long long)lists[k].total);
		for (size_t i = 0; i < lists[k].count; i++) {
			answer_put(o, i ? "," : "");
			put_item(o, p, &lists[k].items[i]);
		}
		answer_put(o, "]}");
	}
	answer_put(o, "]}");
}

int picture_notable(struct picture *p, struct buf *to, struct err *err)
{
	struct answer_out o = {to, err, 0};
	struct list *lists = xcalloc(KIND_COUNT, sizeof(*lists));

	picture_sort_points(p);
	for (uint32_t i = 0; i < p->track_count; i++) {
		const struct track *t = &p->tracks[i];

		note_points(lists, t, i);
		if (t->step_count)
			note_rollouts(&lists[KIND_ROLLOUT], p, t, i);
	}
	put_lists(&o, p, lists);
	free(lists);
	return o.code;
}
