/* reader_extents.c: from a seq, a time or an object to the extent that has it. */
#include "schema/tape/reader_internal.h"

/* The extent of events that has seq, or NULL. */
static struct tape_extent *find_entry(struct tape *t, uint64_t seq)
{
	size_t low = 0, high = t->events.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->events.items[middle].last_seq < seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low < t->events.count && seq >= t->events.items[low].first_seq ? &t->events.items[low] : NULL;
}

/* Where a seq is: the extent and the event's index in it. Both stay valid until the next call that looks for
 * one; take a reference to the extent to keep it longer. */
struct place {
	struct tape_extent *entry;
	struct extent *extent;
	size_t index;
};

static int find_in(
	struct tape *t, struct tape_extent *entry, uint64_t seq, struct place *ret, struct err *err)
{
	struct place place = {.entry = entry};
	int rc = reader_extent(t, entry, &place.extent, err);

	if (rc)
		return rc;
	place.index = extent_find_seq(place.extent, seq);
	if (place.index == place.extent->event_count || place.extent->events[place.index].seq != seq)
		return ERR_NOT_FOUND;
	*ret = place;
	return 0;
}

/* Extents of the first segment's state, which come first. */
static size_t count_first_states(const struct tape *t)
{
	size_t count = 0;

	while (count < t->states.count && t->states.items[count].segment == 0)
		count++;
	return count;
}

/* An event from before the first segment that is still there may be kept as state. */
static int find_in_state(struct tape *t, uint64_t seq, struct place *ret, struct err *err)
{
	size_t count = count_first_states(t);

	for (size_t i = 0; i < count; i++) {
		struct tape_extent *entry = &t->states.items[i];
		int found;

		if (seq < entry->first_seq || seq > entry->last_seq)
			continue;
		found = find_in(t, entry, seq, ret, err);
		if (found != ERR_NOT_FOUND)
			return found;
	}
	return ERR_NOT_FOUND;
}

static int find_seq(struct tape *t, uint64_t seq, struct place *ret, struct err *err)
{
	struct tape_extent *entry = find_entry(t, seq);
	int found = entry ? find_in(t, entry, seq, ret, err) : find_in_state(t, seq, ret, err);

	if (found == ERR_NOT_FOUND)
		return err_set(
			err, ERR_NOT_FOUND, "tape '%s' has no event %llu", t->path, (unsigned long long)seq);
	return found;
}

int tape_event(struct tape *t, uint64_t seq, struct event *ret, struct buf *keep, struct err *err)
{
	char rv[RV_TEXT_BYTES];
	struct place place;
	struct event e;
	struct slice *const texts[] = {&e.namespace, &e.name, &e.uid, &e.rv};
	size_t bytes = 0;
	int rc;

	rc = find_seq(t, seq, &place, err);
	if (rc)
		return rc;
	extent_event_get(place.extent, place.index, rv, &e);
	for (size_t i = 0; i < 4; i++)
		bytes += texts[i]->len;
	buf_clear(keep);
	if (!buf_reserve(keep, bytes + 1))
		return err_set(err, ERR_TOO_LARGE, "names of event %llu exceed %zu bytes",
			(unsigned long long)seq, keep->max);
	for (size_t i = 0; i < 4; i++) {
		char *at = keep->ptr + keep->len;

		if (texts[i]->len)
			memcpy(at, texts[i]->ptr, texts[i]->len);
		keep->len += texts[i]->len;
		texts[i]->ptr = at;
	}
	*ret = e;
	return 0;
}

int tape_object(struct tape *t, uint64_t seq, struct slice *ret, struct err *err)
{
	struct place place;
	int rc;

	rc = find_seq(t, seq, &place, err);
	if (rc)
		return rc;
	return reader_object(t, place.entry, place.extent, place.index, ret, err);
}

/* Looks for the last event of a key before seq. */
struct look_back {
	const struct extent_object *key;
	uint64_t seq;
	uint64_t best; /* 0: none so far */
};

/* In x alone; 0 when there is none. */
static uint64_t last_before(const struct extent *x, const struct extent_object *key, uint64_t seq)
{
	size_t end, o = extent_find_key(x, key->resource, key->namespace, key->name, &end);
	uint64_t best = 0;

	for (; o < end; o++) {
		const struct extent_object *object = &x->objects[o];

		for (uint32_t k = object->count; k-- > 0;) {
			uint64_t candidate = x->events[x->layout[object->first + k]].seq;

			if (candidate >= seq)
				continue;
			best = candidate > best ? candidate : best;
			break;
		}
	}
	return best;
}

/* In what lies before the extent `before` of a list, unless it is found already. */
static int look_before(
	struct tape *t, struct extent_list *list, size_t before, struct look_back *look, struct err *err)
{
	const struct extent_object *key = look->key;
	uint32_t hash = filter_hash_key(key->resource, key->namespace, key->name);
	int rc;

	while (before-- > 0 && !look->best) {
		struct tape_extent *entry = &list->items[before];
		struct extent *x;
		bool perhaps;

		rc = reader_may_have(t, entry, hash, &perhaps, err);
		if (rc)
			return rc;
		if (!perhaps)
			continue;
		rc = reader_extent(t, entry, &x, err);
		if (rc)
			return rc;
		look->best = last_before(x, key, look->seq);
	}
	return 0;
}

static bool is_in(const struct extent_list *list, const struct tape_extent *entry)
{
	return list->count && entry >= list->items && entry < list->items + list->count;
}

int tape_previous(struct tape *t, uint64_t seq, uint64_t *ret_seq, struct err *err)
{
	struct place place;
	struct look_back look = {.seq = seq};
	struct extent *own;
	int rc = 0;

	rc = find_seq(t, seq, &place, err);
	if (rc)
		return rc;
	own = extent_ref(place.extent);
	look.key = &own->objects[own->events[place.index].object];
	look.best = last_before(own, look.key, seq);
	if (is_in(&t->events, place.entry))
		rc = look_before(t, &t->events, (size_t)(place.entry - t->events.items), &look, err);
	if (!rc)
		rc = look_before(t, &t->states, count_first_states(t), &look, err);
	extent_unref(own);
	if (!rc)
		*ret_seq = look.best;
	return rc;
}

int tape_seq_at_time(struct tape *t, int64_t time_ns, uint64_t *ret_seq, struct err *err)
{
	uint64_t after =
		t->segment_count && !t->events.count ? t->segments[t->segment_count - 1].first_seq : 1;
	int rc;

	for (size_t i = 0; i < t->events.count; i++) {
		struct tape_extent *entry = &t->events.items[i];
		struct extent *x;

		after = entry->last_seq + 1;
		if (entry->max_time_ns < time_ns)
			continue;
		rc = reader_extent(t, entry, &x, err);
		if (rc)
			return rc;
		for (size_t k = 0; k < x->event_count; k++) {
			if (x->events[k].time_ns >= time_ns) {
				*ret_seq = x->events[k].seq;
				return 0;
			}
		}
	}
	*ret_seq = after;
	return 0;
}
