/* offload.c: see offload.h. */
#include "replayer/serve/offload.h"

#include "schema/base/buf.h"
#include "schema/base/limits.h"

#include <pthread.h>
#include <stdlib.h>

#define JOBS_MAX 64

struct entry {
	struct offload_job job;
	struct entry *next;
};

struct list {
	struct entry *first, *last;
};

/* What the running job asks for. */
struct question {
	int (*what)(void *context); /* NULL: nothing */
	void *context;
	int rc;
	bool is_answered;
};

/* All below the lock belongs to both threads. */
struct offload {
	uv_async_t bell; /* the thread wants something of the loop */
	pthread_t thread;
	bool has_thread;
	size_t count, bytes; /* the loop's */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct list waiting, over;
	struct question question;
	bool stopping;
};

static void offload_append(struct list *l, struct entry *e)
{
	e->next = NULL;
	if (l->last)
		l->last->next = e;
	else
		l->first = e;
	l->last = e;
}

static struct entry *offload_take(struct list *l)
{
	struct entry *e = l->first;

	if (!e)
		return NULL;
	l->first = e->next;
	if (!l->first)
		l->last = NULL;
	return e;
}

/* ---- the thread ---- */

static struct entry *wait_for_job(struct offload *o)
{
	struct entry *e = NULL;

	pthread_mutex_lock(&o->lock);
	while (!o->stopping && !(e = offload_take(&o->waiting)))
		pthread_cond_wait(&o->changed, &o->lock);
	pthread_mutex_unlock(&o->lock);
	return e;
}

static void *run_jobs(void *context)
{
	struct offload *o = context;
	struct entry *e;

	while ((e = wait_for_job(o))) {
		e->job.work(e->job.context);
		pthread_mutex_lock(&o->lock);
		offload_append(&o->over, e);
		pthread_mutex_unlock(&o->lock);
		uv_async_send(&o->bell);
	}
	return NULL;
}

int offload_ask(struct offload *o, int (*what)(void *context), void *context)
{
	int rc;

	pthread_mutex_lock(&o->lock);
	o->question = (struct question){.what = what, .context = context, .rc = ERR_STOPPED};
	if (!o->stopping)
		uv_async_send(&o->bell);
	while (!o->stopping && !o->question.is_answered)
		pthread_cond_wait(&o->changed, &o->lock);
	rc = o->question.rc;
	o->question = (struct question){0};
	pthread_mutex_unlock(&o->lock);
	return rc;
}

/* ---- the loop ---- */

/* The job waits for the answer, so that nothing of it changes meanwhile. */
static void answer_question(struct offload *o)
{
	struct question q;
	int rc;

	pthread_mutex_lock(&o->lock);
	q = o->question;
	pthread_mutex_unlock(&o->lock);
	if (!q.what || q.is_answered)
		return;
	rc = q.what(q.context);
	pthread_mutex_lock(&o->lock);
	o->question.rc = rc;
	o->question.is_answered = true;
	pthread_cond_signal(&o->changed);
	pthread_mutex_unlock(&o->lock);
}

static struct entry *take_locked(struct offload *o, struct list *from)
{
	struct entry *e;

	pthread_mutex_lock(&o->lock);
	e = offload_take(from);
	pthread_mutex_unlock(&o->lock);
	return e;
}

static void finish_jobs(struct offload *o, struct list *from)
{
	struct entry *e;

	while ((e = take_locked(o, from))) {
		o->count--;
		o->bytes -= e->job.bytes;
		e->job.done(e->job.context);
		free(e);
	}
}

static void on_bell(uv_async_t *bell)
{
	struct offload *o = bell->data;

	answer_question(o);
	finish_jobs(o, &o->over);
}

struct offload *offload_open(uv_loop_t *loop)
{
	struct offload *o = xcalloc(1, sizeof(*o));

	uv_async_init(loop, &o->bell, on_bell);
	o->bell.data = o;
	pthread_mutex_init(&o->lock, NULL);
	pthread_cond_init(&o->changed, NULL);
	return o;
}

bool offload_start(struct offload *o, const struct offload_job *job)
{
	struct entry *e;

	if (o->stopping || o->count == JOBS_MAX || o->bytes + job->bytes > LIMIT_OFFLOAD_BYTES)
		return false;
	if (!o->has_thread && pthread_create(&o->thread, NULL, run_jobs, o))
		return false;
	o->has_thread = true;
	o->count++;
	o->bytes += job->bytes;
	e = xmalloc(sizeof(*e));
	e->job = *job;
	pthread_mutex_lock(&o->lock);
	offload_append(&o->waiting, e);
	pthread_cond_signal(&o->changed);
	pthread_mutex_unlock(&o->lock);
	return true;
}

static void on_closed(uv_handle_t *bell)
{
	struct offload *o = bell->data;

	pthread_cond_destroy(&o->changed);
	pthread_mutex_destroy(&o->lock);
	free(o);
}

void offload_close(struct offload *o)
{
	if (!o)
		return;
	pthread_mutex_lock(&o->lock);
	o->stopping = true;
	pthread_cond_signal(&o->changed);
	pthread_mutex_unlock(&o->lock);
	if (o->has_thread)
		pthread_join(o->thread, NULL);
	finish_jobs(o, &o->over);
	finish_jobs(o, &o->waiting);
	uv_close((uv_handle_t *)&o->bell, on_closed);
}
