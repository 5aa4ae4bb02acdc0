/*
 * reader_load.c: keeping up with the writer. A segment is read in one snapshot, so that each extent is seen
 * either hot or sealed:
 *
 *   (not known) --> hot, growing --> sealed; the order of extents never changes
 *
 * A segment that was sealed is read once more under its new name and then never again.
 */
#include "schema/base/limits.h"
#include "schema/tape/fetched.h"
#include "schema/tape/reader_internal.h"

#include <stdlib.h>

static struct tape_extent *add_entry(struct extent_list *list)
{
	list->items = xrealloc(list->items, (list->count + 1) * sizeof(*list->items));
	list->items[list->count] = (struct tape_extent){0};
	return &list->items[list->count++];
}

static void release_hot(struct tape_extent *entry)
{
	if (!entry->hot)
		return;
	hot_reader_release(entry->hot);
	free(entry->hot);
	entry->hot = NULL;
}

void reader_release_extents(struct extent_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		release_hot(&list->items[i]);
		extent_unref(list->items[i].index);
		free(list->items[i].filter);
	}
	free(list->items);
	*list = (struct extent_list){0};
}

static int check_bounds(const struct tape *t, const struct tape_extent *x, bool is_state, struct err *err)
{
	uint64_t span = x->last_seq - x->first_seq;

	if (x->id >= 1 && x->id <= EXTENT_ID_MAX && x->events && x->events <= LIMIT_EXTENT_EVENTS &&
		x->first_seq && x->last_seq >= x->first_seq && x->last_seq <= FORMAT_SEQ_MAX &&
		(is_state ? x->events <= span + 1 : x->events == span + 1))
		return 0;
	return err_set(err, ERR_CORRUPT, "extent %lld of '%s' makes no sense: %llu events from %llu to %llu",
		(long long)x->id, t->segments[x->segment].file.path, (unsigned long long)x->events,
		(unsigned long long)x->first_seq, (unsigned long long)x->last_seq);
}

/* The seq that the extent after the first `count` ones begins with. */
static uint64_t expected_first(const struct tape *t, size_t count, size_t segment)
{
	return count ? t->events.items[count - 1].last_seq + 1 : t->segments[segment].first_seq;
}

static int check_first(const struct tape *t, size_t count, const struct tape_extent *x, struct err *err)
{
	uint64_t expected = expected_first(t, count, x->segment);

	if (x->first_seq == expected)
		return 0;
	return err_set(err, ERR_CORRUPT, "extent %lld of '%s' begins at event %llu, expected %llu",
		(long long)x->id, t->segments[x->segment].file.path, (unsigned long long)x->first_seq,
		(unsigned long long)expected);
}

/* Where the sealed extent goes: in the place of the hot one that it was, else after all. SIZE_MAX when an
 * older one is still hot, which cannot be. */
static size_t place_of(const struct tape *t, const struct tape_extent *x)
{
	const struct tape_extent *last = t->events.count ? &t->events.items[t->events.count - 1] : NULL;

	if (!last || !last->hot)
		return t->events.count;
	return last->segment == x->segment && last->id == x->id ? t->events.count - 1 : SIZE_MAX;
}

static int take_events(struct tape *t, const struct tape_extent *x, struct err *err)
{
	size_t place = place_of(t, x);
	int rc;

	if (place == SIZE_MAX)
		return err_set(err, ERR_CORRUPT, "extent %lld of '%s' was sealed before an older one",
			(long long)x->id, t->segments[x->segment].file.path);
	if ((rc = check_bounds(t, x, false, err)) || (rc = check_first(t, place, x, err)))
		return rc;
	if (place == t->events.count)
		add_entry(&t->events);
	release_hot(&t->events.items[place]);
	t->events.items[place] = *x;
	t->segments[x->segment].last_extent = x->id;
	return 0;
}

static int take_state(struct tape *t, const struct tape_extent *x, struct err *err)
{
	int rc = check_bounds(t, x, true, err);

	if (rc)
		return rc;
	*add_entry(&t->states) = *x;
	return 0;
}

/* Those of events, or of the state, after that id. */
static int load_extents(
	struct tape *t, size_t segment, sqlite3 *db, bool of_state, int64_t after_id, struct err *err)
{
	sqlite3_stmt *rows;
	int step = SQLITE_DONE;
	int rc = segment_prepare(db,
		"SELECT id, first_seq, last_seq, events, raw_bytes, min_time_ns, max_time_ns, filter IS NULL FROM extent "
		"WHERE id > ? AND kind = ? ORDER BY id",
		&rows, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(rows, 1, after_id);
	sqlite3_bind_text(rows, 2, of_state ? "state" : "events", -1, SQLITE_STATIC);
	while (!rc && (step = sqlite3_step(rows)) == SQLITE_ROW) {
		struct tape_extent x = {
			.segment = segment,
			.id = sqlite3_column_int64(rows, 0),
			.first_seq = (uint64_t)sqlite3_column_int64(rows, 1),
			.last_seq = (uint64_t)sqlite3_column_int64(rows, 2),
			.events = (uint64_t)sqlite3_column_int64(rows, 3),
			.raw_bytes = (uint64_t)sqlite3_column_int64(rows, 4),
			.min_time_ns = sqlite3_column_int64(rows, 5),
			.max_time_ns = sqlite3_column_int64(rows, 6),
			.is_compact = sqlite3_column_int(rows, 7),
		};

		rc = of_state ? take_state(t, &x, err) : take_events(t, &x, err);
	}
	if (!rc && step != SQLITE_DONE)
		rc = segment_failed(db, err, "cannot read '%s'", t->segments[segment].file.path);
	sqlite3_finalize(rows);
	return rc;
}

/* The hot extent of that id, made when it is not known. */
static struct tape_extent *hot_entry(struct tape *t, size_t segment, int64_t id)
{
	struct tape_extent *x = t->events.count ? &t->events.items[t->events.count - 1] : NULL;

	if (x && x->hot && x->segment == segment && x->id == id)
		return x;
	x = add_entry(&t->events);
	x->segment = segment;
	x->id = id;
	x->hot = xcalloc(1, sizeof(*x->hot));
	hot_reader_init(x->hot);
	return x;
}

static void update_hot(struct tape_extent *x)
{
	const struct extent *hot = x->hot->extent;

	x->first_seq = extent_first_seq(hot);
	x->last_seq = extent_last_seq(hot);
	x->events = hot->event_count;
	x->raw_bytes = hot->raw_bytes;
	x->min_time_ns = hot->min_time_ns;
	x->max_time_ns = hot->max_time_ns;
}

/* One that has no events has no place: a failure may leave it so. */
static void drop_empty_hot(struct tape *t)
{
	struct tape_extent *last = t->events.count ? &t->events.items[t->events.count - 1] : NULL;

	if (!last || !last->hot || last->hot->extent->event_count)
		return;
	release_hot(last);
	t->events.count--;
}

static int load_chunks_of(struct tape *t, size_t segment, int64_t id, sqlite3 *db, struct err *err)
{
	struct tape_extent *x = hot_entry(t, segment, id);
	size_t place = (size_t)(x - t->events.items);
	int loaded = hot_reader_load(x->hot, db, id, &t->registry, err);

	if (x->hot->extent->event_count)
		update_hot(x);
	if (loaded >= 0 && x->events)
		return check_first(t, place, x, err);
	drop_empty_hot(t);
	return loaded < 0 ? loaded : 0;
}

static int load_chunks(struct tape *t, size_t segment, sqlite3 *db, struct err *err)
{
	sqlite3_stmt *rows;
	int step = SQLITE_DONE, count = 0;
	int rc = segment_prepare(
		db, "SELECT DISTINCT extent FROM chunk WHERE extent > ? ORDER BY extent", &rows, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(rows, 1, t->segments[segment].last_extent);
	while (!rc && (step = sqlite3_step(rows)) == SQLITE_ROW) {
		rc = count++ ? err_set(err, ERR_CORRUPT, "'%s' has two hot extents",
				       t->segments[segment].file.path)
			     : load_chunks_of(t, segment, sqlite3_column_int64(rows, 0), db, err);
	}
	if (!rc && step != SQLITE_DONE)
		rc = segment_failed(db, err, "cannot read '%s'", t->segments[segment].file.path);
	sqlite3_finalize(rows);
	return rc;
}

static int load_state(struct tape *t, size_t segment, sqlite3 *db, struct err *err)
{
	struct tape_segment *s = &t->segments[segment];
	int64_t complete = 0;
	int rc;

	if (s->has_state)
		return 0;
	rc = segment_number(db, "SELECT value FROM meta WHERE key = 'state_complete'", 0, &complete, err);
	if (rc)
		return rc;
	if (!complete || (rc = segment_base(db, s->file.number, &s->base, err)) || s->base != s->file.number)
		return rc;
	rc = load_extents(t, segment, db, true, 0, err);
	s->has_state = !rc;
	return rc;
}

static int load_snapshot(struct tape *t, size_t segment, sqlite3 *db, struct err *err)
{
	struct tape_segment *s = &t->segments[segment];
	int64_t first_seq = 0;
	int rc;

	if ((rc = registry_load(&t->registry, db, err)) ||
		(rc = segment_number(
			 db, "SELECT value FROM meta WHERE key = 'first_seq'", 1, &first_seq, err)))
		return rc;
	s->first_seq = (uint64_t)first_seq;
	if ((rc = load_extents(t, segment, db, false, s->last_extent, err)) ||
		(rc = load_chunks(t, segment, db, err)))
		return rc;
	return load_state(t, segment, db, err);
}

int reader_load_segment(struct tape *t, size_t segment, struct err *err)
{
	bool sealed = t->segments[segment].file.sealed;
	sqlite3 *db;
	int rc;

	if ((rc = reader_db(t, segment, &db, err)) || (rc = segment_exec(db, "BEGIN", err)))
		return rc;
	rc = load_snapshot(t, segment, db, err);
	if (sealed && !rc)
		reader_note_ids(&t->segments[segment], db);
	sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	t->segments[segment].settled = sealed && !rc;
	return rc;
}

/* A segment that we knew open may have been sealed since: its old file is gone from the directory. Extents
 * and blocks keep their ids. */
static void follow_seal(struct tape *t, struct tape_segment *s, const struct segment_file *file)
{
	if (s->file.sealed || !file->sealed)
		return;
	reader_close_segment(t, s);
	free(s->file.path);
	s->file = (struct segment_file){file->number, true, xstrdup(file->path)};
}

/* Brings the list of segments up to date; what we knew keeps its place. */
static int merge_segments(struct tape *t, struct segment_file *list, size_t count, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t first = t->segment_count ? t->segments[0].file.number : list[i].number;
		size_t place = list[i].number - first;

		if (list[i].number < first)
			continue;
		if (place < t->segment_count) {
			follow_seal(t, &t->segments[place], &list[i]);
			continue;
		}
		if (place > t->segment_count)
			return err_set(err, ERR_CORRUPT, "tape '%s' has segment %u but not segment %zu",
				t->path, list[i].number, first + t->segment_count);
		t->segments = xrealloc(t->segments, (t->segment_count + 1) * sizeof(*t->segments));
		t->segments[t->segment_count++] = (struct tape_segment){
			.file = {list[i].number, list[i].sealed, xstrdup(list[i].path)},
		};
	}
	return 0;
}

/* A tape that begins in the middle of a group has no state to begin with. */
static int check_base(const struct tape *t, struct err *err)
{
	const struct tape_segment *first = t->segment_count ? &t->segments[0] : NULL;

	if (!first || !first->base || first->base == first->file.number)
		return 0;
	return err_set(err, ERR_CORRUPT,
		"tape '%s' begins with segment %u, which builds upon segment %u, and that is missing: "
		"'kubetape recover' saves the events",
		t->path, first->file.number, first->base);
}

/* All of them will be read, one after the other. */
static void fetch_new(const struct tape *t, const struct segment_file *list, size_t count)
{
	const char **paths = xcalloc(count + 1, sizeof(*paths));

	for (size_t i = 0; i < count; i++)
		paths[i] = list[i].path;
	if (!t->segment_count)
		fetched_ahead(paths, count);
	free(paths);
}

int reader_load(struct tape *t, struct err *err)
{
	struct segment_file *list;
	size_t count, orphans;
	int rc = segment_list(t->path, &list, &count, err);

	if (rc)
		return rc;
	fetch_new(t, list, count);
	orphans = t->segment_count ? 0 : segment_count_orphans(list, count);
	rc = merge_segments(t, list + orphans, count - orphans, err);
	segment_list_free(list, count);
	for (size_t i = 0; i < t->segment_count && !rc; i++) {
		if (!t->segments[i].settled)
			rc = reader_load_segment(t, i, err);
	}
	return rc ? rc : check_base(t, err);
}
