/* timeline.c: see timeline.h. */
#include "replayer/timeline.h"

#include "replayer/relist.h"
#include "schema/base/limits.h"

#include <stdlib.h>

#define AHEAD_ITEMS 512        /* read ahead at most */
#define AHEAD_BYTES (8u << 20) /* of objects */
#define AHEAD_STEP  16         /* items read in one call */

struct timeline {
	struct tape *tape;
	struct tape_cursor *cursor;
	const struct marks *marks;
	size_t next_mark;
	int64_t latest_ns;                  /* tape time of the latest item read */
	int64_t longest_silence_ns, cut_ns; /* 0: silences stay; how much of them was cut so far */
	uint64_t until_seq;
	struct event event; /* read from the cursor, not yet queued */
	bool have_event, cursor_done, done;
	struct relist *relists; /* events held back until their list is complete */
	struct relist *giving;  /* a complete one that is being given out, then its mark */
	size_t given;
	const struct mark *giving_mark;
	struct timeline_item items[AHEAD_ITEMS]; /* a ring */
	size_t first, count, bytes;
};

int timeline_open(const char *path, const struct marks *marks, uint64_t from_seq, uint64_t until_seq,
	struct timeline **ret, struct err *err)
{
	const struct tape_filter filter = {.seq_min = from_seq + 1, .seq_max = until_seq};
	struct timeline *t = xcalloc(1, sizeof(*t));
	int rc = tape_open(path, &t->tape, err);

	t->marks = marks;
	t->next_mark = marks_behind(marks, from_seq);
	t->until_seq = until_seq;
	t->latest_ns = INT64_MIN;
	if (rc == 0)
		rc = tape_cursor_open(t->tape, &filter, TAPE_FORWARD, &t->cursor, err);
	if (rc)
		timeline_close(t);
	else
		*ret = t;
	return rc;
}

void timeline_close(struct timeline *t)
{
	if (!t)
		return;
	for (; t->count; t->count--, t->first = (t->first + 1) % AHEAD_ITEMS)
		change_unref(t->items[t->first].change);
	relist_free_all(&t->relists);
	relist_free(t->giving);
	tape_cursor_close(t->cursor);
	tape_close(t->tape);
	free(t);
}

void timeline_cut_silences(struct timeline *t, int64_t longest_ns)
{
	t->longest_silence_ns = longest_ns;
}

static void queue(struct timeline *t, int64_t time_ns, struct change *change, const struct mark *mark)
{
	int64_t silence_ns = t->latest_ns == INT64_MIN ? 0 : time_ns - t->latest_ns;

	if (t->longest_silence_ns && silence_ns > t->longest_silence_ns)
		t->cut_ns += silence_ns - t->longest_silence_ns;
	if (time_ns > t->latest_ns)
		t->latest_ns = time_ns;
	t->items[(t->first + t->count++) % AHEAD_ITEMS] =
		(struct timeline_item){t->latest_ns - t->cut_ns, t->cut_ns, change, mark};
	t->bytes += change ? change->object.len : 0;
}

static int queue_event(struct timeline *t, struct err *err)
{
	struct slice object;
	int rc;

	t->have_event = false;
	if (t->event.origin == ORIGIN_RELIST || t->event.origin == ORIGIN_INFERRED) {
		relist_add(&t->relists, &t->event);
		return 1;
	}
	rc = tape_cursor_object(t->cursor, &object, err);
	if (rc)
		return rc;
	queue(t, t->event.time_ns, change_new(&t->event, object, 0), NULL);
	return 1;
}

/* One event of a complete list, at the time at which it was completed. */
static int queue_relisted(struct timeline *t, struct err *err)
{
	const struct relist_item *item = &t->giving->items[t->given++];
	struct slice object;
	struct buf strings;
	struct event e;
	int rc;

	buf_init(&strings, 8 * LIMIT_NAME_BYTES);
	rc = tape_event(t->tape, item->seq, &e, &strings, err);
	if (rc == 0)
		rc = tape_object(t->tape, item->seq, &object, err);
	if (rc == 0)
		queue(t, t->giving_mark ? t->giving_mark->time_ns : e.time_ns,
			change_new(&e, object, item->rv), NULL);
	buf_release(&strings);
	return rc ? rc : 1;
}

/* The list is given out; its mark follows. */
static void end_relist(struct timeline *t)
{
	relist_free(t->giving);
	t->giving = NULL;
	if (t->giving_mark)
		queue(t, t->giving_mark->time_ns, NULL, t->giving_mark);
	t->giving_mark = NULL;
}

static void begin_relist(struct timeline *t, struct relist *r, const struct mark *mark)
{
	t->giving = r;
	t->given = 0;
	t->giving_mark = mark;
}

static int queue_mark(struct timeline *t, const struct mark *mark)
{
	struct relist *r = mark_completes_list(mark) ? relist_take(&t->relists, mark->stream) : NULL;

	t->next_mark++;
	if (r)
		begin_relist(t, r, mark);
	else
		queue(t, mark->time_ns, NULL, mark);
	return 1;
}

static int read_event(struct timeline *t, struct err *err)
{
	int rc;

	if (t->have_event || t->cursor_done)
		return 0;
	rc = tape_cursor_next(t->cursor, &t->event, err);
	if (rc < 0)
		return rc;
	t->have_event = rc > 0;
	t->cursor_done = rc == 0;
	return 0;
}

/* Moves on by one step, which queues one item or none. Returns 1, 0 at the end. */
static int read_item(struct timeline *t, struct err *err)
{
	const struct mark *mark = t->next_mark < t->marks->count ? &t->marks->items[t->next_mark] : NULL;
	int rc = read_event(t, err);

	if (rc)
		return rc;
	if (t->giving) {
		if (t->given < t->giving->count)
			return queue_relisted(t, err);
		end_relist(t);
		return 1;
	}
	if (mark && mark->after_seq <= t->until_seq && (!t->have_event || mark->after_seq < t->event.seq))
		return queue_mark(t, mark);
	if (t->have_event)
		return queue_event(t, err);
	/* A list that was never completed: what is known of it is the last that is known at all. */
	if (t->relists) {
		begin_relist(t, relist_take_any(&t->relists), NULL);
		return 1;
	}
	t->done = true;
	return 0;
}

int timeline_read_ahead(struct timeline *t, struct err *err)
{
	for (int i = 0; i < AHEAD_STEP; i++) {
		int rc;

		if (t->done || t->count == AHEAD_ITEMS || t->bytes >= AHEAD_BYTES)
			return 0;
		rc = read_item(t, err);
		if (rc <= 0)
			return rc;
	}
	return 1;
}

static int fill(struct timeline *t, struct err *err)
{
	while (t->count == 0 && !t->done) {
		int rc = read_item(t, err);

		if (rc < 0)
			return rc;
	}
	return t->count > 0;
}

int timeline_next_due(struct timeline *t, int64_t *ret_ns, struct err *err)
{
	int rc = fill(t, err);

	if (rc > 0)
		*ret_ns = t->items[t->first].due_ns;
	return rc;
}

int timeline_take(struct timeline *t, struct timeline_item *ret, struct err *err)
{
	int rc = fill(t, err);

	if (rc <= 0)
		return rc;
	*ret = t->items[t->first];
	t->first = (t->first + 1) % AHEAD_ITEMS;
	t->count--;
	t->bytes -= ret->change ? ret->change->object.len : 0;
	return 1;
}
