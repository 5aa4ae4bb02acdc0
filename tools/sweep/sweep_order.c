/* sweep_order.c: which places are tried first: the most telling ones. See sweep.h. */
#include "tools/sweep/sweep.h"

#include <stdlib.h>

#define LATE_WRITES_A_TURN 5 /* see late_turns */
#define CHANGES_A_TURN     5 /* see spread_changes */

/* Places of one pattern, kind, kind of write and of the same resources are of one sort; writes to objects that are being
 * deleted, or after which watches stay away until others have done something, or that are not the first after an event, or the last
 * in answer to it, are of another. What lasts the whole tape is of one sort for all resources: each takes seconds. */
static int sort_order(const struct sweep_position *a, const struct sweep_position *b)
{
	int order = (int)a->pattern - (int)b->pattern;

	if (order == 0)
		order = (int)a->kind - (int)b->kind;
	if (order == 0 && a->kind != SWEEP_ALWAYS)
		order = strcmp(a->resource, b->resource);
	if (order == 0 && a->write && b->write)
		order = strcmp(a->write, b->write);
	if (order == 0)
		order = a->is_farewell - b->is_farewell;
	if (order == 0 && a->kind == SWEEP_OWN)
		order = !a->until_seq - !b->until_seq;
	if (order == 0)
		order = !b->nth - !a->nth;
	if (order == 0)
		order = a->is_part - b->is_part;
	if (order == 0)
		order = sweep_is_late_answer(a) - sweep_is_late_answer(b);
	if (order == 0)
		order = strcmp(a->others ? a->others : "", b->others ? b->others : "");
	return order;
}

/* What is done by half when everything is new is mostly done anew; later it may leave what was there before. */
static int by_time(const struct sweep_position *a, const struct sweep_position *b)
{
	int order = (a->seq > b->seq) - (a->seq < b->seq);

	return a->is_part ? -order : order;
}

static int by_sort(const void *left, const void *right)
{
	const struct sweep_position *a = left, *b = right;
	int order = sort_order(a, b);

	if (order == 0)
		order = a->is_empty - b->is_empty;
	if (order == 0)
		order = (a->late_writes > b->late_writes) - (a->late_writes < b->late_writes);
	if (order == 0)
		order = (a->nth > b->nth) - (a->nth < b->nth);
	if (order == 0)
		order = a->is_healed - b->is_healed;
	if (order == 0)
		order = by_time(a, b);
	return order ? order : strcmp(a->resource, b->resource);
}

/* Its run takes 4 s for each write in lock-step. */
static size_t late_turns(const struct sweep_position *p)
{
	return p->late_writes / LATE_WRITES_A_TURN;
}

/* There are many of these, each hiding something at random. */
static bool is_one_of_many(const struct sweep_position *p)
{
	return p->kind == SWEEP_CHANGES || p->kind == SWEEP_STRETCH || p->nth;
}

/* One of each pattern comes first. The first of each sort come before the second of any, one resource before several, what is
 * chosen for a reason before what is not, what does a part before what does all, and what is rare on the tape before what is not; how often the program writes says
 * nothing of that. */
static int by_telling(const void *left, const void *right)
{
	const struct sweep_position *a = left, *b = right;

	if (a->leads != b->leads)
		return a->leads ? -1 : 1;
	if (a->turn != b->turn)
		return a->turn < b->turn ? -1 : 1;
	if (!a->others != !b->others)
		return a->others ? 1 : -1;
	if (is_one_of_many(a) != is_one_of_many(b))
		return is_one_of_many(a) ? 1 : -1;
	if (a->is_healed != b->is_healed)
		return a->is_healed ? 1 : -1;
	if (a->is_part != b->is_part)
		return a->is_part ? -1 : 1;
	if (a->alike != b->alike)
		return a->alike < b->alike ? -1 : 1;
	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	return (int)a->kind - (int)b->kind;
}

static bool is_end(const struct sweep_position *p)
{
	return p->kind == SWEEP_DELETION || p->kind == SWEEP_TERMINATION;
}

/* Who takes the answer for the newest state then takes back what has come meanwhile. */
static bool changes_something(const struct sweep_position *p)
{
	return strncmp(p->write, "update ", 7) == 0 || strncmp(p->write, "patch ", 6) == 0;
}

/* Of what nothing heals, if there is any. */
static bool is_last_to_stay(const struct sweep_positions *p, size_t first, size_t at, size_t end)
{
	return at + 1 == end ||
	       (!p->items[first].is_healed && !p->items[at].is_healed && p->items[at + 1].is_healed);
}

/* Of those from `first` to `end`. The last write and the last end of an object come second: nothing that happens later heals
 * what follows from them. Then come deaths between several writes at once, and after these errors there. */
static size_t turn_of(const struct sweep_positions *p, size_t first, size_t at, size_t end)
{
	const struct sweep_position *of = &p->items[at];
	bool replaces = of->kind == SWEEP_RECREATION || of->kind == SWEEP_REPLACEMENT;

	if (of->nth)
		return of->pattern == SWEEP_WRITES ? 2 : 1;
	if (sweep_is_late_answer(of) && !changes_something(of))
		return at - first + 1;
	if (!(of->write || replaces || is_end(of)) || at == first)
		return at - first;
	return is_last_to_stay(p, first, at, end) ? 1 : at - first + 1;
}

/* Of what lasts the whole tape none leads: its run takes long. Nor what misses nothing: few programs mind. */
static bool can_lead(const struct sweep_position *p, bool ends)
{
	return p->turn == 0 && p->kind != SWEEP_ALWAYS && !sweep_is_resumption(p) && (is_end(p) || !ends);
}

/* The first of each pattern that does not lead yet; ends: of the ends of objects. */
static void choose_first(struct sweep_positions *p, bool ends, unsigned *led)
{
	for (size_t i = 0; i < p->count; i++) {
		struct sweep_position *item = &p->items[i];

		if (*led >> item->pattern & 1 || !can_lead(item, ends))
			continue;
		item->leads = true;
		*led |= 1u << item->pattern;
	}
}

/* An end that passes unseen is what caches get wrong most. Returns whether there are any. */
static bool choose_leaders(struct sweep_positions *p)
{
	unsigned led = 0;

	for (size_t i = 0; i < p->count; i++)
		p->items[i].leads = false;
	choose_first(p, true, &led);
	choose_first(p, false, &led);
	return led;
}

/* What later changes do not heal comes first, and what is rare. */
static bool is_change_before(const struct sweep_position *a, const struct sweep_position *b)
{
	if (a->is_healed != b->is_healed)
		return b->is_healed;
	return a->alike != b->alike ? a->alike < b->alike : a->seq < b->seq;
}

/* Each change of another sort is rare: but few of them come before the second of anything else. */
static void spread_changes(struct sweep_positions *p)
{
	for (size_t i = 0; i < p->count; i++) {
		struct sweep_position *at = &p->items[i];
		size_t before = 0;

		for (size_t k = 0; at->kind == SWEEP_CHANGES && k < p->count; k++) {
			const struct sweep_position *other = &p->items[k];

			before += other->kind == SWEEP_CHANGES && other->pattern == at->pattern &&
				  is_change_before(other, at);
		}
		at->turn = at->kind == SWEEP_CHANGES ? before / CHANGES_A_TURN : at->turn;
	}
}

/* Places of one sort are alike, but those of different resources are not; those of changes know it themselves. */
void sweep_positions_order(struct sweep_positions *p)
{
	size_t end;

	if (p->count)
		qsort(p->items, p->count, sizeof(*p->items), by_sort);
	for (size_t i = 0; i < p->count; i = end) {
		for (end = i + 1; end < p->count && sort_order(&p->items[i], &p->items[end]) == 0;)
			end++;
		for (size_t k = i; k < end && p->items[k].kind != SWEEP_CHANGES; k++) {
			p->items[k].turn = turn_of(p, i, k, end) + late_turns(&p->items[k]);
			p->items[k].alike =
				p->items[k].kind == SWEEP_ALWAYS || p->items[k].write ? 1 : end - i;
		}
	}
	spread_changes(p);
	if (p->count)
		qsort(p->items, p->count, sizeof(*p->items), by_telling);
	if (choose_leaders(p))
		qsort(p->items, p->count, sizeof(*p->items), by_telling);
}
