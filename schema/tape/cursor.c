/*
 * cursor.c: walks over events, see reader.h.
 *
 * A cursor works extent by extent. For each it makes a plan: either every event in order, or, when the filter
 * says something about objects, the list of matching events, found through the sorted objects and their
 * layout. The cursor holds a reference to its extent, so that the strings it gave stay valid when the cache
 * lets go, and remembers the seq it stands at, so that a hot extent may be sealed under it.
 */
#include "schema/base/rv.h"
#include "schema/tape/reader_internal.h"

#include <stdio.h>
#include <stdlib.h>

struct cursor_text {
	char *copy; /* NULL: any */
	struct slice slice;
};

/* A bound of resourceVersions; a malformed one is none. */
struct cursor_rv {
	struct cursor_text text;
	bool is_number; /* fits 64 bits, as nearly all do */
	uint64_t number;
};

struct tape_cursor {
	struct tape *tape;
	struct tape_filter filter;
	struct cursor_text namespace, name, uid;
	struct cursor_rv rv_min, rv_max;
	enum tape_order order;
	bool selective; /* the filter says something about objects */
	bool ended;     /* backward and stored walks end once */

	struct extent *extent;        /* NULL between extents */
	size_t entry;                 /* its place in tape->events, which stays */
	uint64_t first_seq, last_seq; /* of the extent when it was planned */
	bool listed;                  /* the walk goes by the list below */
	uint32_t *list;               /* matching events in the order of the walk */
	size_t list_count, at;        /* at: the next one to give */
	size_t layout_count;          /* stored walks: as long as the layout was when they came */
	size_t current;               /* index of the event given last */
	uint64_t next_seq;            /* forward: where to go on; backward: one past it */
	size_t next_entry;            /* stored: where to go on */
	char rv[RV_TEXT_BYTES];
};

static struct cursor_text copy_text(const char *text)
{
	struct cursor_text t = {0};

	if (text) {
		t.copy = xstrdup(text);
		t.slice = slice_of(t.copy);
	}
	return t;
}

static struct cursor_rv copy_rv(const char *text)
{
	struct cursor_rv rv = {0};

	if (text && rv_valid(slice_of(text))) {
		while (text[0] == '0' && text[1])
			text++;
		rv.text = copy_text(text);
		rv.is_number = rv_to_u64(rv.text.slice, &rv.number);
	}
	return rv;
}

int tape_cursor_open(struct tape *t, const struct tape_filter *filter, enum tape_order order,
	struct tape_cursor **ret, struct err *err)
{
	struct tape_cursor *c = xcalloc(1, sizeof(*c));

	(void)err;
	c->tape = t;
	c->order = order;
	if (filter) {
		c->filter = *filter;
		c->namespace = copy_text(filter->namespace);
		c->name = copy_text(filter->name);
		c->uid = copy_text(filter->uid);
		c->rv_min = copy_rv(filter->rv_min);
		c->rv_max = copy_rv(filter->rv_max);
	}
	c->filter.namespace = c->filter.name = c->filter.uid = c->filter.rv_min = c->filter.rv_max = NULL;
	c->selective = c->filter.resource || c->namespace.copy || c->name.copy || c->uid.copy;
	c->next_seq = c->filter.seq_min;
	if (order == TAPE_BACKWARD)
		c->next_seq = c->filter.seq_max && c->filter.seq_max < UINT64_MAX ? c->filter.seq_max + 1
										  : UINT64_MAX;
	*ret = c;
	return 0;
}

static void leave_extent(struct tape_cursor *c)
{
	extent_unref(c->extent);
	free(c->list);
	c->extent = NULL;
	c->list = NULL;
}

void tape_cursor_close(struct tape_cursor *c)
{
	if (!c)
		return;
	leave_extent(c);
	free(c->namespace.copy);
	free(c->name.copy);
	free(c->uid.copy);
	free(c->rv_min.text.copy);
	free(c->rv_max.text.copy);
	free(c);
}

static bool text_matches(const struct cursor_text *want, struct slice have)
{
	return !want->copy || slice_equal(want->slice, have);
}

static bool object_matches(const struct tape_cursor *c, const struct extent_object *o)
{
	return (!c->filter.resource || c->filter.resource == o->resource) &&
	       text_matches(&c->namespace, o->namespace) && text_matches(&c->name, o->name) &&
	       text_matches(&c->uid, o->uid);
}

/* Malformed ones stand after all others. */
static int compare_rv(const struct extent *x, const struct extent_event *e, const struct cursor_rv *bound)
{
	char digits[RV_TEXT_BYTES];
	struct slice text;

	if (!e->rv_is_text && bound->is_number)
		return (e->rv > bound->number) - (e->rv < bound->number);
	if (e->rv_is_text) {
		text = x->texts[e->rv];
	} else {
		snprintf(digits, sizeof(digits), "%llu", (unsigned long long)e->rv);
		text = slice_of(digits);
	}
	return rv_valid(text) ? rv_compare(text, bound->text.slice) : 1;
}

static bool rv_matches(const struct tape_cursor *c, const struct extent_event *e)
{
	return (!c->rv_min.text.copy || compare_rv(c->extent, e, &c->rv_min) >= 0) &&
	       (!c->rv_max.text.copy || compare_rv(c->extent, e, &c->rv_max) <= 0);
}

static bool event_matches(const struct tape_cursor *c, const struct extent_event *e)
{
	const struct tape_filter *f = &c->filter;

	return e->seq >= f->seq_min && (!f->seq_max || e->seq <= f->seq_max) &&
	       (!f->time_min_ns || e->time_ns >= f->time_min_ns) &&
	       (!f->time_max_ns || e->time_ns <= f->time_max_ns) && rv_matches(c, e);
}

static int compare_up(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

/* The objects that may match: those of one key when the whole key is given, else all. */
static size_t first_object(const struct tape_cursor *c, size_t *ret_end)
{
	if (c->filter.resource && c->namespace.copy && c->name.copy)
		return extent_find_key(
			c->extent, c->filter.resource, c->namespace.slice, c->name.slice, ret_end);
	*ret_end = c->extent->object_count;
	return 0;
}

/* Lists the matching events, in layout order or by seq. */
static void plan_list(struct tape_cursor *c)
{
	const struct extent *x = c->extent;
	size_t end, cap = 0;

	c->list_count = 0;
	for (size_t o = first_object(c, &end); o < end; o++) {
		const struct extent_object *object = &x->objects[o];

		if (!object_matches(c, object))
			continue;
		if (c->list_count + object->count > cap) {
			cap = 2 * (c->list_count + object->count);
			c->list = xrealloc(c->list, cap * sizeof(*c->list));
		}
		memcpy(c->list + c->list_count, x->layout + object->first, object->count * sizeof(*c->list));
		c->list_count += object->count;
	}
	if (c->order != TAPE_STORED && c->list_count)
		qsort(c->list, c->list_count, sizeof(*c->list), compare_up);
}

/* Puts `at` on the first event of the walk in this extent that is not before next_seq. */
static void cursor_plan(struct tape_cursor *c)
{
	const struct extent *x = c->extent;
	size_t count = x->event_count;

	/* The layout of a hot extent changes when it grows. */
	c->listed = c->selective || (c->order == TAPE_STORED && x->bytes.len);
	if (c->listed) {
		plan_list(c);
		count = c->list_count;
	}
	c->at = 0;
	c->layout_count = count;
	if (c->order == TAPE_BACKWARD) {
		c->at = count;
		while (c->at > 0 && x->events[c->listed ? c->list[c->at - 1] : c->at - 1].seq >= c->next_seq)
			c->at--;
	} else if (c->order == TAPE_FORWARD && !c->listed) {
		c->at = extent_find_seq(x, c->next_seq);
	} else if (c->order == TAPE_FORWARD) {
		while (c->at < count && x->events[c->list[c->at]].seq < c->next_seq)
			c->at++;
	}
}

/* False only when what was seen of the extent before excludes it. */
static bool rvs_may_match(const struct tape_cursor *c, const struct tape_extent *x)
{
	return !x->rvs_known || ((!c->rv_min.is_number || x->max_rv >= c->rv_min.number) &&
					(!c->rv_max.is_number || x->min_rv <= c->rv_max.number));
}

/* Cheap reasons to pass an extent by: bounds of seq, time and resourceVersion, and the filter of hashes. */
static int may_match(struct tape_cursor *c, struct tape_extent *x, bool *ret, struct err *err)
{
	const struct tape_filter *f = &c->filter;

	*ret = x->last_seq >= f->seq_min && (!f->seq_max || x->first_seq <= f->seq_max) &&
	       (!f->time_min_ns || x->max_time_ns >= f->time_min_ns) &&
	       (!f->time_max_ns || x->min_time_ns <= f->time_max_ns) && rvs_may_match(c, x);
	if (*ret && c->uid.copy)
		return reader_may_have(c->tape, x, filter_hash_uid(c->uid.slice), ret, err);
	if (*ret && f->resource && c->namespace.copy && c->name.copy)
		return reader_may_have(c->tape, x,
			filter_hash_key(f->resource, c->namespace.slice, c->name.slice), ret, err);
	return 0;
}

/* How many extents of the list lie before that seq: all of theirs are lower. */
static size_t count_before(const struct extent_list *list, uint64_t seq)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->items[middle].last_seq < seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The extents that still lie ahead of the walk: [begin, end), to be entered from the front or the back. */
static size_t first_ahead(const struct tape_cursor *c, size_t *ret_end)
{
	const struct extent_list *list = &c->tape->events;

	*ret_end = list->count;
	if (c->order == TAPE_STORED)
		return c->next_entry;
	if (c->order == TAPE_FORWARD)
		return count_before(list, c->next_seq);
	*ret_end = count_before(list, c->next_seq);
	if (*ret_end < list->count && list->items[*ret_end].first_seq < c->next_seq)
		++*ret_end;
	return 0;
}

static int cursor_enter(struct tape_cursor *c, size_t i, struct err *err)
{
	struct tape_extent *entry = &c->tape->events.items[i];
	struct extent *x;
	int rc = reader_extent(c->tape, entry, &x, err);

	if (rc)
		return rc;
	c->extent = extent_ref(x);
	c->entry = i;
	c->first_seq = entry->first_seq;
	c->last_seq = entry->last_seq;
	cursor_plan(c);
	return 1;
}

/* Enters the next extent of the walk: 1, or 0 when there is none. */
static int enter_next(struct tape_cursor *c, struct err *err)
{
	size_t end, begin = first_ahead(c, &end);

	while (begin < end) {
		size_t i = c->order == TAPE_BACKWARD ? --end : begin++;
		bool perhaps;
		int rc = may_match(c, &c->tape->events.items[i], &perhaps, err);

		if (rc)
			return rc;
		if (perhaps)
			return cursor_enter(c, i, err);
	}
	return 0;
}

/* The next event of this extent in the order of the walk, matching or not; false at its end. */
static bool cursor_step(struct tape_cursor *c)
{
	const struct extent *x = c->extent;
	size_t count = c->listed ? c->list_count : c->order == TAPE_STORED ? c->layout_count : x->event_count;

	if (c->order == TAPE_BACKWARD ? c->at == 0 : c->at >= count)
		return false;
	if (c->order == TAPE_BACKWARD)
		c->at--;
	if (c->listed)
		c->current = c->list[c->at];
	else
		c->current = c->order == TAPE_STORED ? x->layout[c->at] : c->at;
	if (c->order != TAPE_BACKWARD)
		c->at++;
	return true;
}

static void pass_extent(struct tape_cursor *c)
{
	c->next_entry = c->entry + 1;
	if (c->order == TAPE_FORWARD && c->last_seq >= c->next_seq)
		c->next_seq = c->last_seq + 1;
	else if (c->order == TAPE_BACKWARD && c->first_seq < c->next_seq)
		c->next_seq = c->first_seq;
	leave_extent(c);
}

static void cursor_give(struct tape_cursor *c, struct event *ret)
{
	extent_event_get(c->extent, c->current, c->rv, ret);
	if (c->order == TAPE_FORWARD)
		c->next_seq = ret->seq + 1;
	else if (c->order == TAPE_BACKWARD)
		c->next_seq = ret->seq;
}

int tape_cursor_next(struct tape_cursor *c, struct event *ret, struct err *err)
{
	while (!c->ended) {
		if (!c->extent) {
			int entered = enter_next(c, err);

			if (entered < 0)
				return entered;
			if (entered == 0)
				break;
		}
		while (cursor_step(c)) {
			if (!event_matches(c, &c->extent->events[c->current]))
				continue;
			cursor_give(c, ret);
			return 1;
		}
		pass_extent(c);
	}
	c->ended = c->order != TAPE_FORWARD;
	return 0;
}

int tape_cursor_object(struct tape_cursor *c, struct slice *ret, struct err *err)
{
	if (!c->extent)
		return err_set(err, ERR_USAGE, "cursor stands on no event");
	return reader_object(c->tape, &c->tape->events.items[c->entry], c->extent, c->current, ret, err);
}

uint64_t tape_cursor_part_end(const struct tape_cursor *c)
{
	return c->extent ? c->last_seq : 0;
}

uint64_t tape_part_end(const struct tape *t, uint64_t seq)
{
	const struct extent_list *list = &t->events;
	size_t i = count_before(list, seq + 1);

	if (list->count == 0)
		return 0;
	return list->items[i < list->count ? i : list->count - 1].last_seq;
}

double tape_cursor_share(const struct tape_cursor *c)
{
	const struct extent_list *list = &c->tape->events;
	double first, last, at, share;

	if (list->count == 0 || c->ended)
		return 1;
	if (c->order == TAPE_STORED) {
		at = (double)(c->extent ? c->entry : c->next_entry);
		if (c->extent && c->layout_count)
			at += (double)c->at / (double)c->layout_count;
		return at / (double)list->count;
	}
	first = (double)list->items[0].first_seq;
	last = (double)list->items[list->count - 1].last_seq + 1;
	first = (double)c->filter.seq_min > first ? (double)c->filter.seq_min : first;
	last = c->filter.seq_max && (double)c->filter.seq_max < last ? (double)c->filter.seq_max + 1 : last;
	at = (double)c->next_seq;
	share = c->order == TAPE_BACKWARD ? last - at : at - first;
	share = last > first ? share / (last - first) : 1;
	return share < 0 ? 0 : share > 1 ? 1 : share;
}
