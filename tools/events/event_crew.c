/* event_crew.c: see event_crew.h. */
#include "tools/events/event_crew.h"

#include "schema/base/processors.h"
#include "tools/cli/progress.h"

#include <pthread.h>
#include <stdlib.h>

#define THREADS_MAX 4
#define RING        (2 * THREADS_MAX)
#define AHEAD       2 /* stretches that are made, or in the making, beside one for each thread */

/* In a part that does not follow on one that the same thread has read, the first version of each object is looked up in the parts
 * before. So a stretch is of several, and the cache holds the blocks of one and a half. */
#define PARTS_MAX   8
#define CACHE_BYTES ((size_t)96 << 20)

/* Places are counted on and on: done <= taken < done + most <= done + RING. */
struct event_crew {
	const struct event_reader *reader;
	uint64_t *ends; /* the last seq of each stretch */
	size_t count;   /* of stretches */
	uint64_t after_seq;
	pthread_mutex_t lock;
	pthread_cond_t more, made;
	struct event_stretch ring[RING];
	bool is_made[RING];
	size_t most, taken, done;
	bool end;
	int rc; /* of the first that failed */
	struct err failure;
};

/* ---- stretches ---- */

/* Parts are put together, so that each thread has several turns. */
static void plan_stretches(struct event_crew *crew, uint64_t last_seq, size_t threads)
{
	struct tape *t = crew->reader->tape;
	uint64_t seq = crew->after_seq;
	size_t parts = 0, together;

	for (; seq < last_seq; parts++) {
		crew->ends = xgrow(crew->ends, parts, sizeof(*crew->ends));
		seq = tape_part_end(t, seq);
		seq = seq < last_seq ? seq : last_seq;
		crew->ends[parts] = seq;
	}
	together = threads > 1 ? parts / (2 * threads) : 1;
	together = together < 1 ? 1 : together > PARTS_MAX ? PARTS_MAX : together;
	for (size_t i = 0; i < parts; i += together)
		crew->ends[crew->count++] = crew->ends[i + together < parts ? i + together - 1 : parts - 1];
}

static void set_bounds(const struct event_crew *crew, size_t i, struct event_stretch *s)
{
	s->after_seq = i ? crew->ends[i - 1] : crew->after_seq;
	s->last_seq = crew->ends[i];
}

/* ---- the crew ---- */

static bool next_stretch(struct event_crew *crew, size_t *ret)
{
	bool more;

	pthread_mutex_lock(&crew->lock);
	while (!crew->end && crew->taken < crew->count && crew->taken >= crew->done + crew->most)
		pthread_cond_wait(&crew->more, &crew->lock);
	more = !crew->end && crew->taken < crew->count;
	if (more)
		*ret = crew->taken++;
	pthread_mutex_unlock(&crew->lock);
	return more;
}

static void give_stretch(struct event_crew *crew, size_t i, int rc, const struct err *err)
{
	pthread_mutex_lock(&crew->lock);
	crew->is_made[i % RING] = true;
	if (rc && !crew->rc) {
		crew->rc = rc;
		crew->failure = *err;
		crew->end = true;
	}
	pthread_cond_broadcast(&crew->made);
	pthread_mutex_unlock(&crew->lock);
}

static void *event_crew_work(void *context)
{
	struct event_crew *crew = context;
	struct event_reader own = *crew->reader;
	struct err err = {0};
	size_t i;
	int rc;

	own.tape = NULL;
	own.changes = event_changes_new();
	rc = tape_open(tape_path_of(crew->reader->tape), &own.tape, &err);
	if (!rc)
		tape_set_cache(own.tape, CACHE_BYTES);
	while (next_stretch(crew, &i)) {
		set_bounds(crew, i, &crew->ring[i % RING]);
		if (!rc)
			rc = event_stretch_read(&crew->ring[i % RING], &own, &err);
		give_stretch(crew, i, rc, &err);
	}
	event_changes_free(own.changes);
	tape_close(own.tape);
	return NULL;
}

/* Waits for stretch i; NULL when the crew has failed. */
static const struct event_stretch *await_stretch(struct event_crew *crew, size_t i)
{
	const struct event_stretch *s;

	pthread_mutex_lock(&crew->lock);
	while (!crew->is_made[i % RING] && !crew->end)
		pthread_cond_wait(&crew->made, &crew->lock);
	s = crew->end ? NULL : &crew->ring[i % RING];
	pthread_mutex_unlock(&crew->lock);
	return s;
}

static void retire_stretch(struct event_crew *crew, size_t i)
{
	pthread_mutex_lock(&crew->lock);
	crew->is_made[i % RING] = false;
	crew->done = i + 1;
	pthread_cond_broadcast(&crew->more);
	pthread_mutex_unlock(&crew->lock);
}

/* ---- the main thread ---- */

static int take_all(struct event_crew *crew,
	int (*take)(void *context, const struct event_stretch *s, struct err *err), void *context,
	struct err *err)
{
	const struct event_stretch *s;
	int rc = 0;

	for (size_t i = 0; i < crew->count && !rc && !progress_stop_asked(); i++) {
		s = await_stretch(crew, i);
		if (!s)
			break;
		rc = take(context, s, err);
		retire_stretch(crew, i);
	}
	return rc;
}

/* Returns how many threads there were, 0: nothing was done. */
static size_t run_crew(struct event_crew *crew, size_t wanted,
	int (*take)(void *context, const struct event_stretch *s, struct err *err), void *context,
	int *ret_rc, struct err *err)
{
	pthread_t threads[THREADS_MAX];
	size_t count = 0;

	while (count < wanted && pthread_create(&threads[count], NULL, event_crew_work, crew) == 0)
		count++;
	if (count)
		*ret_rc = take_all(crew, take, context, err);
	pthread_mutex_lock(&crew->lock);
	crew->end = true;
	pthread_cond_broadcast(&crew->more);
	pthread_mutex_unlock(&crew->lock);
	for (size_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	if (count && !*ret_rc && crew->rc) {
		*ret_rc = crew->rc;
		err_copy(err, &crew->failure);
	}
	return count;
}

static int work_alone(struct event_crew *crew,
	int (*take)(void *context, const struct event_stretch *s, struct err *err), void *context,
	struct err *err)
{
	struct event_stretch *s = &crew->ring[0];
	int rc = 0;

	tape_set_cache(crew->reader->tape, CACHE_BYTES);
	for (size_t i = 0; i < crew->count && !rc && !progress_stop_asked(); i++) {
		set_bounds(crew, i, s);
		rc = event_stretch_read(s, crew->reader, err);
		if (!rc)
			rc = take(context, s, err);
	}
	return rc;
}

int event_crew_each(const struct event_reader *reader, uint64_t after_seq, uint64_t last_seq,
	int (*take)(void *context, const struct event_stretch *s, struct err *err), void *context,
	struct err *err)
{
	struct event_crew crew = {.reader = reader, .after_seq = after_seq};
	size_t threads = processors(THREADS_MAX);
	int rc = 0;

	crew.most = threads + AHEAD;
	plan_stretches(&crew, last_seq, threads);
	pthread_mutex_init(&crew.lock, NULL);
	pthread_cond_init(&crew.more, NULL);
	pthread_cond_init(&crew.made, NULL);
	for (size_t i = 0; i < RING; i++)
		event_stretch_init(&crew.ring[i]);
	if (threads == 1 || crew.count == 1 || !run_crew(&crew, threads, take, context, &rc, err))
		rc = work_alone(&crew, take, context, err);
	for (size_t i = 0; i < RING; i++)
		event_stretch_release(&crew.ring[i]);
	pthread_cond_destroy(&crew.made);
	pthread_cond_destroy(&crew.more);
	pthread_mutex_destroy(&crew.lock);
	free(crew.ends);
	return rc;
}
