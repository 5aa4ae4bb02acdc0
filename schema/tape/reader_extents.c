/*
 * reader_extents.c: from a seq to its extent, with decoded indexes kept as long as there is room. An extent
 * that somebody holds a reference to outlives its place here.
 */
#include "schema/tape/checksum.h"
#include "schema/tape/reader_internal.h"

#define INDEX_CACHE_BYTES (64u << 20)
#define INDEX_FIXED_BYTES 4096 /* of an extent without events, about */

static size_t index_cost(const struct tape_extent *x)
{
	return x->events * (sizeof(struct extent_event) + sizeof(uint32_t)) + INDEX_FIXED_BYTES;
}

static void drop_least_used_index(struct tape *t, const struct tape_extent *keep)
{
	struct extent_list *const lists[] = {&t->events, &t->states};
	struct tape_extent *oldest = NULL;

	for (size_t l = 0; l < 2; l++) {
		for (size_t i = 0; i < lists[l]->count; i++) {
			struct tape_extent *x = &lists[l]->items[i];

			if (x->index && x != keep && (!oldest || x->used < oldest->used))
				oldest = x;
		}
	}
	if (!oldest) {
		t->index_bytes = 0;
		return;
	}
	extent_unref(oldest->index);
	oldest->index = NULL;
	t->index_bytes -= index_cost(oldest);
}

static int check_against_row(const struct tape_extent *row, const struct extent *x, struct err *err)
{
	if (x->event_count == row->events && extent_first_seq(x) == row->first_seq &&
		extent_last_seq(x) == row->last_seq && x->raw_bytes == row->raw_bytes)
		return 0;
	return err_set(err, ERR_CORRUPT,
		"index: found %zu events from %llu to %llu, expected %llu from %llu to %llu", x->event_count,
		(unsigned long long)extent_first_seq(x), (unsigned long long)extent_last_seq(x),
		(unsigned long long)row->events, (unsigned long long)row->first_seq,
		(unsigned long long)row->last_seq);
}

/* Objects are sorted, so that the last one has the highest resource. */
static int check_names(const struct tape *t, const struct extent *x, struct err *err)
{
	if (x->object_count && !registry_resource(&t->registry, x->objects[x->object_count - 1].resource))
		return err_set(err, ERR_CORRUPT, "index: found resource %u, the tape has %zu",
			x->objects[x->object_count - 1].resource, t->registry.resource_count);
	for (size_t i = 0; i < x->event_count; i++) {
		const struct tape_stream *s = registry_stream(&t->registry, x->events[i].stream);

		if (!s || s->resource != x->objects[x->events[i].object].resource)
			return err_set(err, ERR_CORRUPT,
				"index: event %llu names stream %u, which is not one of its resource",
				(unsigned long long)x->events[i].seq, x->events[i].stream);
	}
	return 0;
}

static int decode_index(struct tape *t, const struct tape_extent *row, sqlite3_stmt *columns,
	struct extent **ret, struct err *err)
{
	struct slice index = {sqlite3_column_blob(columns, 0), (size_t)sqlite3_column_bytes(columns, 0)};
	int64_t raw_bytes = sqlite3_column_int64(columns, 1);
	struct extent *x;
	int failed = checksum_expect(codec_hash(index), (uint64_t)sqlite3_column_int64(columns, 2), err);

	if (failed)
		return err_prefix(err, failed, "index");
	if (unpack_extent(index, raw_bytes < 0 ? 0 : (uint64_t)raw_bytes, &x, err))
		return ERR_CORRUPT;
	if (check_against_row(row, x, err) || check_names(t, x, err)) {
		extent_unref(x);
		return ERR_CORRUPT;
	}
	*ret = x;
	return 0;
}

static void note_rvs(struct tape_extent *row)
{
	const struct extent *x = row->index;

	row->min_rv = UINT64_MAX;
	row->max_rv = 0;
	for (size_t i = 0; i < x->event_count; i++) {
		uint64_t rv = x->events[i].rv;

		row->min_rv = rv < row->min_rv ? rv : row->min_rv;
		row->max_rv = rv > row->max_rv ? rv : row->max_rv;
	}
	row->rvs_known = x->text_count == 0;
}

static int load_index(struct tape *t, struct tape_extent *row, struct err *err)
{
	sqlite3_stmt *columns;
	int failed = reader_prepare(t, row->segment,
		"SELECT \"index\", index_raw_bytes, index_xxh64 FROM extent WHERE id = ?", &columns, err);

	if (failed)
		return failed;
	sqlite3_bind_int64(columns, 1, row->id);
	if (sqlite3_step(columns) == SQLITE_ROW)
		failed = decode_index(t, row, columns, &row->index, err);
	else
		failed = segment_failed(sqlite3_db_handle(columns), err, "cannot read the index");
	sqlite3_finalize(columns);
	if (failed)
		return err_prefix(err, failed, "'%s' extent %lld", t->segments[row->segment].file.path,
			(long long)row->id);
	note_rvs(row);
	t->index_bytes += index_cost(row);
	while (t->index_bytes > INDEX_CACHE_BYTES)
		drop_least_used_index(t, row);
	return 0;
}

int reader_extent(struct tape *t, struct tape_extent *row, struct extent **ret, struct err *err)
{
	int failed;

	if (row->hot) {
		extent_sort(row->hot->extent);
		*ret = row->hot->extent;
		return 0;
	}
	row->used = ++t->tick;
	if (!row->index && (failed = load_index(t, row, err)))
		return failed;
	*ret = row->index;
	return 0;
}

static int load_filter(struct tape *t, struct tape_extent *row, struct err *err)
{
	sqlite3_stmt *columns;
	struct slice filter;
	int failed = reader_prepare(
		t, row->segment, "SELECT filter, filter_xxh64 FROM extent WHERE id = ?", &columns, err);

	if (failed)
		return failed;
	sqlite3_bind_int64(columns, 1, row->id);
	if (sqlite3_step(columns) == SQLITE_ROW) {
		filter = (struct slice){
			sqlite3_column_blob(columns, 0), (size_t)sqlite3_column_bytes(columns, 0)};
		failed = checksum_expect(codec_hash(filter), (uint64_t)sqlite3_column_int64(columns, 1), err);
		if (failed)
			err_prefix(err, failed, "filter");
		else
			failed = filter_decode(filter, &row->filter, &row->filter_count, err);
	} else {
		failed = segment_failed(sqlite3_db_handle(columns), err, "cannot read the filter");
	}
	sqlite3_finalize(columns);
	return failed ? err_prefix(err, failed, "'%s' extent %lld", t->segments[row->segment].file.path,
				(long long)row->id)
		      : 0;
}

int reader_may_have(struct tape *t, struct tape_extent *row, uint32_t hash, bool *ret, struct err *err)
{
	int failed;

	*ret = true;
	if (row->hot)
		return 0;
	if (!row->filter && (failed = load_filter(t, row, err)))
		return failed;
	*ret = filter_has(row->filter, row->filter_count, hash);
	return 0;
}

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
	int failed = reader_extent(t, entry, &place.extent, err);

	if (failed)
		return failed;
	place.index = extent_find_seq(place.extent, seq);
	if (place.index == place.extent->event_count || place.extent->events[place.index].seq != seq)
		return ERR_NOT_FOUND;
	*ret = place;
	return 0;
}

/* An event from before the first segment that is still there may be kept as state. */
static int find_in_state(struct tape *t, uint64_t seq, struct place *ret, struct err *err)
{
	for (size_t i = 0; i < t->states.count; i++) {
		struct tape_extent *entry = &t->states.items[i];
		int found;

		if (entry->segment != 0 || seq < entry->first_seq || seq > entry->last_seq)
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
	int failed;

	failed = find_seq(t, seq, &place, err);
	if (failed)
		return failed;
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
	int failed;

	failed = find_seq(t, seq, &place, err);
	if (failed)
		return failed;
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

/* In what lies before the extent `before` of a list, unless it is found already. Lists of states: of the
 * first segment alone, the others repeat its events. */
static int look_before(
	struct tape *t, struct extent_list *list, size_t before, struct look_back *look, struct err *err)
{
	const struct extent_object *key = look->key;
	uint32_t hash = filter_hash_key(key->resource, key->namespace, key->name);
	int failed;

	while (before-- > 0 && !look->best) {
		struct tape_extent *entry = &list->items[before];
		struct extent *x;
		bool perhaps;

		if (list == &t->states && entry->segment)
			continue;
		failed = reader_may_have(t, entry, hash, &perhaps, err);
		if (failed)
			return failed;
		if (!perhaps)
			continue;
		failed = reader_extent(t, entry, &x, err);
		if (failed)
			return failed;
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
	int failed = 0;

	failed = find_seq(t, seq, &place, err);
	if (failed)
		return failed;
	own = extent_ref(place.extent);
	look.key = &own->objects[own->events[place.index].object];
	look.best = last_before(own, look.key, seq);
	if (is_in(&t->events, place.entry))
		failed = look_before(t, &t->events, (size_t)(place.entry - t->events.items), &look, err);
	if (!failed)
		failed = look_before(t, &t->states, t->states.count, &look, err);
	extent_unref(own);
	if (!failed)
		*ret_seq = look.best;
	return failed;
}

int tape_seq_at_time(struct tape *t, int64_t time_ns, uint64_t *ret_seq, struct err *err)
{
	uint64_t after = 1;
	int failed;

	for (size_t i = 0; i < t->events.count; i++) {
		struct tape_extent *entry = &t->events.items[i];
		struct extent *x;

		after = entry->last_seq + 1;
		if (entry->max_time_ns < time_ns)
			continue;
		failed = reader_extent(t, entry, &x, err);
		if (failed)
			return failed;
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
