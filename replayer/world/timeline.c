/* timeline.c: see timeline.h. */
#include "replayer/world/timeline.h"

#include "replayer/world/relist.h"
#include "schema/base/limits.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

#define AHEAD_ITEMS 4096        /* read ahead at most */
#define AHEAD_BYTES (16u << 20) /* of objects */

struct timeline {
	struct timeline_options options;
	bool started; /* there is a thread to join */
	/* The reading thread's alone. */
	struct tape *tape;
	struct tape_cursor *cursor;
	size_t next_mark;
	int64_t latest_ns;  /* tape time of the latest item read */
	int64_t cut_ns;     /* how much of silences was cut so far */
	struct event event; /* read from the cursor, not yet queued */
	bool have_event, cursor_done;
	struct relist *relists; /* events held back until their list is complete */
	struct relist *giving;  /* a complete one that is being given out, then its mark */
	size_t given;
	const struct mark *giving_mark;
	/* Shared, under the lock. */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stopping, waited_for;               /* waited_for: somebody found nothing and wants to be told */
	struct timeline *previous;               /* to be closed by the thread; NULL: none */
	bool done;                               /* nothing more will be queued */
	struct err failure;                      /* code 0: none */
	struct timeline_item items[AHEAD_ITEMS]; /* a ring */
	size_t first, count, bytes;
};

/* ---- the reading thread ---- */

static bool is_full(const struct timeline *t)
{
	return t->count == AHEAD_ITEMS || t->bytes >= AHEAD_BYTES;
}

/* With the lock held, which it lets go of meanwhile: closing waits for what that one is just reading. What it
 * had read is up to a hundred megabytes in blocks of all sizes, with small things between them that live on;
 * the C library would keep that, and after many moves several times as much (malloc_trim is GNU's). */
static void close_previous(struct timeline *t)
{
	struct timeline *previous = t->previous;

	t->previous = NULL;
	if (!previous)
		return;
	pthread_mutex_unlock(&t->lock);
	timeline_close(previous);
	malloc_trim(0);
	pthread_mutex_lock(&t->lock);
}

/* Waits for room. The consumer is told outside of the lock. */
static void timeline_put(struct timeline *t, struct timeline_item item)
{
	bool tell;

	pthread_mutex_lock(&t->lock);
	while (is_full(t) && !t->stopping) {
		if (t->previous)
			close_previous(t);
		else
			pthread_cond_wait(&t->changed, &t->lock);
	}
	if (t->stopping) {
		pthread_mutex_unlock(&t->lock);
		change_unref(item.change);
		return;
	}
	t->items[(t->first + t->count++) % AHEAD_ITEMS] = item;
	t->bytes += item.change ? item.change->object.len : 0;
	tell = t->waited_for;
	t->waited_for = false;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	if (tell)
		t->options.ready(t->options.context);
}

static void queue(struct timeline *t, int64_t time_ns, struct change *change, const struct mark *mark)
{
	int64_t longest_ns = t->options.longest_silence_ns;
	int64_t silence_ns = t->latest_ns == INT64_MIN ? 0 : time_sub(time_ns, t->latest_ns);

	if (longest_ns && silence_ns > longest_ns)
		t->cut_ns = time_add(t->cut_ns, silence_ns - longest_ns);
	if (time_ns > t->latest_ns)
		t->latest_ns = time_ns;
	timeline_put(t, (struct timeline_item){time_sub(t->latest_ns, t->cut_ns), t->cut_ns, change, mark});
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
	const struct mark *mark =
		t->next_mark < t->options.marks->count ? &t->options.marks->items[t->next_mark] : NULL;
	int rc = read_event(t, err);

	if (rc)
		return rc;
	if (t->giving) {
		if (t->given < t->giving->count)
			return queue_relisted(t, err);
		end_relist(t);
		return 1;
	}
	if (mark && mark->after_seq <= t->options.until_seq &&
		(!t->have_event || mark->after_seq < t->event.seq))
		return queue_mark(t, mark);
	if (t->have_event)
		return queue_event(t, err);
	/* A list that was never completed: what is known of it is the last that is known at all. */
	if (t->relists) {
		begin_relist(t, relist_take_any(&t->relists), NULL);
		return 1;
	}
	return 0;
}

static bool is_stopping(struct timeline *t)
{
	bool stopping;

	pthread_mutex_lock(&t->lock);
	close_previous(t);
	stopping = t->stopping;
	pthread_mutex_unlock(&t->lock);
	return stopping;
}

static void *read_all(void *argument)
{
	struct timeline *t = argument;
	struct err err = {0};
	bool tell;
	int rc = 1;

	while (rc > 0 && !is_stopping(t))
		rc = read_item(t, &err);
	if (t->tape) { /* nothing more is read; malloc_trim is GNU's */
		tape_give_back(t->tape);
		malloc_trim(0);
	}
	pthread_mutex_lock(&t->lock);
	t->done = true;
	if (rc < 0)
		t->failure = err;
	tell = t->waited_for && !t->stopping;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	if (tell)
		t->options.ready(t->options.context);
	return NULL;
}

/* ---- the consumer ---- */

int timeline_open(const struct timeline_options *options, struct timeline **ret, struct err *err)
{
	const struct tape_filter filter = {.seq_min = options->from_seq + 1, .seq_max = options->until_seq};
	struct timeline *t = xcalloc(1, sizeof(*t));
	int rc = tape_open(options->path, &t->tape, err);

	t->options = *options;
	t->next_mark = marks_behind(options->marks, options->from_seq);
	t->latest_ns = INT64_MIN;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	if (rc == 0)
		rc = tape_cursor_open(t->tape, &filter, TAPE_FORWARD, &t->cursor, err);
	if (rc == 0) {
		t->started = pthread_create(&t->thread, NULL, read_all, t) == 0;
		if (!t->started)
			rc = err_set(err, ERR_FAILED, "cannot start a thread to read '%s'", options->path);
	}
	if (rc) {
		timeline_close(t);
	} else {
		*ret = t;
	}
	return rc;
}

static void ask_to_stop(struct timeline *t)
{
	pthread_mutex_lock(&t->lock);
	t->stopping = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

void timeline_replace(struct timeline *t, struct timeline *previous)
{
	if (!previous)
		return;
	ask_to_stop(previous);
	pthread_mutex_lock(&t->lock);
	t->previous = previous;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

void timeline_close(struct timeline *t)
{
	if (!t)
		return;
	ask_to_stop(t);
	if (t->started)
		pthread_join(t->thread, NULL);
	timeline_close(t->previous);
	for (; t->count; t->count--, t->first = (t->first + 1) % AHEAD_ITEMS)
		change_unref(t->items[t->first].change);
	relist_free_all(&t->relists);
	relist_free(t->giving);
	tape_cursor_close(t->cursor);
	tape_close(t->tape);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* With the lock held: what can be said of the next item. */
static int timeline_look(struct timeline *t, struct err *err)
{
	if (t->count)
		return 1;
	if (!t->done) {
		t->waited_for = true;
		return TIMELINE_NOT_YET;
	}
	return t->failure.code ? err_copy(err, &t->failure) : 0;
}

static void take_first(struct timeline *t, struct timeline_item *ret)
{
	*ret = t->items[t->first];
	t->first = (t->first + 1) % AHEAD_ITEMS;
	t->count--;
	t->bytes -= ret->change ? ret->change->object.len : 0;
	pthread_cond_broadcast(&t->changed);
}

int timeline_next_due(struct timeline *t, int64_t *ret_ns, struct err *err)
{
	int rc;

	pthread_mutex_lock(&t->lock);
	rc = timeline_look(t, err);
	if (rc == 1)
		*ret_ns = t->items[t->first].due_ns;
	pthread_mutex_unlock(&t->lock);
	return rc;
}

int timeline_take(struct timeline *t, struct timeline_item *ret, struct err *err)
{
	int rc;

	pthread_mutex_lock(&t->lock);
	rc = timeline_look(t, err);
	if (rc == 1)
		take_first(t, ret);
	pthread_mutex_unlock(&t->lock);
	return rc;
}

int timeline_take_waiting(struct timeline *t, struct timeline_item *ret, struct err *err)
{
	int rc;

	pthread_mutex_lock(&t->lock);
	while (t->count == 0 && !t->done)
		pthread_cond_wait(&t->changed, &t->lock);
	rc = timeline_look(t, err);
	if (rc == 1)
		take_first(t, ret);
	pthread_mutex_unlock(&t->lock);
	return rc;
}
