/* pusher.c: see pusher.h. */
#include "recorder/push/pusher.h"

#include "recorder/push/clickhouse.h"
#include "recorder/push/push_note.h"
#include "schema/base/clock.h"
#include "schema/base/log.h"
#include "schema/tape/identity.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_DELAY_S 1
#define LAST_DELAY_S  60

struct pusher {
	struct push_options options;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Under the lock. */
	bool runs, wanted, ends, has_ended;
	bool is_away;    /* the store did not answer when it was asked last, or refused */
	int64_t ends_ns; /* monotonic, once it ends */
	struct pusher_limits limits;
	struct pusher_figures figures;
	char *tape_id; /* NULL: not known yet */
	struct err err;
	_Atomic uint32_t through;
	/* The thread's own. */
	struct push *push;
	struct push_figures before; /* of pushes that were closed */
	bool told;                  /* that it fails */
};

/* ---- the thread ---- */

static bool has_reached_limit(const struct pusher *p)
{
	int64_t passed_ns = clock_mono_ns(&clock_system) - p->ends_ns;

	return passed_ns >= p->limits.push_ns || (p->is_away && passed_ns >= p->limits.away_ns) ||
	       (p->limits.stop && p->limits.stop());
}

static bool is_over(void *context)
{
	struct pusher *p = context;
	bool over;

	pthread_mutex_lock(&p->lock);
	over = p->ends && has_reached_limit(p);
	pthread_mutex_unlock(&p->lock);
	return over;
}

static void note_figures(struct pusher *p)
{
	struct push_figures f = push_figures(p->push);

	f.segments += p->before.segments;
	f.bytes += p->before.bytes;
	pthread_mutex_lock(&p->lock);
	p->figures.push = f;
	pthread_mutex_unlock(&p->lock);
	atomic_store(&p->through, f.through);
}

static int on_progress(void *context, uint64_t done, uint64_t total)
{
	struct pusher *p = context;

	(void)done, (void)total;
	if (p->push)
		note_figures(p);
	return is_over(p);
}

static void on_tell(void *context, const char *sentence)
{
	(void)context;
	log_warn("%s", sentence);
}

static void note_away(struct pusher *p, bool is_away)
{
	pthread_mutex_lock(&p->lock);
	p->is_away = is_away;
	pthread_mutex_unlock(&p->lock);
}

/* A store that is asked again is in trouble until it has taken all. */
static void note_trouble(struct pusher *p, const struct err *why)
{
	pthread_mutex_lock(&p->lock);
	p->figures.failing = why != NULL;
	snprintf(p->figures.trouble, sizeof(p->figures.trouble), "%.255s", why ? why->text : "");
	p->err = why ? *why : (struct err){0};
	pthread_mutex_unlock(&p->lock);
	if (why && !p->told)
		log_warn("%s; the segments stay here, trying again", why->text);
	else if (!why && p->told)
		log_info("the store takes segments again");
	p->told = why != NULL;
}

static void on_wait(void *context, const struct err *why, int64_t delay_ns)
{
	(void)delay_ns;
	if (why)
		note_trouble(context, why);
	note_away(context, why != NULL);
}

/* What a push knows of the store may be wrong after a failure: the next one asks again. */
static void drop_push(struct pusher *p)
{
	struct push_figures f = push_figures(p->push);

	p->before.segments += f.segments;
	p->before.bytes += f.bytes;
	push_close(p->push);
	p->push = NULL;
}

static enum push_note_kind note_kind(const struct pusher *p)
{
	return clickhouse_is_url(p->options.url) ? PUSH_NOTE_CLICKHOUSE : PUSH_NOTE_STORE;
}

/* The place as notes have it, without a user. The caller frees. */
static char *noted_place(const struct pusher *p)
{
	const char *url = p->options.url, *host = strstr(url, "://"), *user = host ? strchr(host, '@') : NULL;

	if (!user || note_kind(p) == PUSH_NOTE_STORE)
		return xstrdup(url);
	return xasprintf("%.*s%s", (int)(host + strlen("://") - url), url, user + 1);
}

/* "s3://BUCKET/PREFIX" as given has the tape's place, "s3://BUCKET/PREFIX/cluster=...". */
static bool is_there(const struct pusher *p, const char *place)
{
	char *url = noted_place(p);
	size_t len = strlen(url);
	bool result;

	while (len && url[len - 1] == '/')
		len--;
	result = strncmp(place, url, len) == 0 && (!place[len] || place[len] == '/');
	free(url);
	return result;
}

/* What an earlier push of this tape to that place has noted; the caller releases. */
static bool read_note(struct pusher *p, struct push_note *ret)
{
	char *id;
	bool found;

	pthread_mutex_lock(&p->lock);
	id = p->tape_id ? xstrdup(p->tape_id) : NULL;
	pthread_mutex_unlock(&p->lock);
	found = id && push_note_read(p->options.tape_path, id, note_kind(p), ret);
	free(id);
	if (!found || is_there(p, ret->url))
		return found;
	push_note_release(ret);
	return false;
}

/* From now on `info` says what the store lacks, also if it never answers. */
static void begin_note(struct pusher *p)
{
	char *id = tape_identity(p->options.tape_path), *place = noted_place(p);
	struct push_note note;

	pthread_mutex_lock(&p->lock);
	p->tape_id = id;
	pthread_mutex_unlock(&p->lock);
	if (read_note(p, &note))
		push_note_release(&note);
	else if (id)
		push_note_write(p->options.tape_path, &(struct push_note){.kind = note_kind(p),
							      .tape_id = id,
							      .url = place,
							      .pushed_ns = clock_wall_ns(&clock_system)});
	free(place);
}

static int push_once(struct pusher *p)
{
	struct err err = {0};
	int rc = p->push ? 0 : push_open(&p->options, &p->push, &err);

	if (!rc) {
		note_away(p, false);
		rc = push_run(p->push, &err);
	}
	if (p->push)
		note_figures(p);
	note_away(p, rc != 0);
	if (rc != ERR_STOPPED || !p->err.code) /* else the store's own words tell more */
		note_trouble(p, rc ? &err : NULL);
	if (rc && p->push)
		drop_push(p);
	return rc;
}

/* Until something is wanted, or that much time has passed. */
static void pusher_rest(struct pusher *p, int64_t delay_s)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += delay_s;
	pthread_mutex_lock(&p->lock);
	while (!p->ends && (delay_s || !p->wanted)) {
		if (!delay_s)
			pthread_cond_wait(&p->changed, &p->lock);
		else if (pthread_cond_timedwait(&p->changed, &p->lock, &until))
			break;
	}
	p->wanted = false;
	pthread_mutex_unlock(&p->lock);
}

static bool is_ending(struct pusher *p)
{
	bool ends;

	pthread_mutex_lock(&p->lock);
	ends = p->ends;
	pthread_mutex_unlock(&p->lock);
	return ends;
}

static void *pusher_run(void *context)
{
	struct pusher *p = context;
	int64_t delay_s = 0;

	begin_note(p);
	for (bool last = false; !last;) {
		pusher_rest(p, delay_s);
		last = is_ending(p);
		if (push_once(p) == 0)
			delay_s = 0;
		else if (!last)
			delay_s = !delay_s                     ? FIRST_DELAY_S
				  : 2 * delay_s < LAST_DELAY_S ? 2 * delay_s
							       : LAST_DELAY_S;
	}
	push_close(p->push);
	pthread_mutex_lock(&p->lock);
	p->has_ended = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* ---- from outside ---- */

int pusher_new(const struct push_options *options, struct pusher **ret, struct err *err)
{
	struct pusher *p = xcalloc(1, sizeof(*p));
	pthread_condattr_t monotonic;
	int rc = push_check_url(options->url, err);

	if (rc) {
		free(p);
		return rc;
	}
	p->options = *options;
	p->options.progress = on_progress;
	p->options.tell = on_tell;
	p->options.context = p;
	p->options.store.waits = on_wait;
	p->options.store.stop = is_over;
	p->options.store.context = p;
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&p->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	*ret = p;
	return 0;
}

void pusher_wake(struct pusher *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->wanted = true;
	if (!p->runs)
		p->runs = pthread_create(&p->thread, NULL, pusher_run, p) == 0;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

bool pusher_has(const struct pusher *p, uint32_t number)
{
	return number <= atomic_load(&p->through);
}

/* Segments that wait are counted on this side: the thread may itself be waiting for the store to say which it has. */
struct pusher_figures pusher_figures(struct pusher *p)
{
	struct push_note note = {.through = 0};
	struct pusher_figures f;
	struct push_lag lag;

	pthread_mutex_lock(&p->lock);
	f = p->figures;
	pthread_mutex_unlock(&p->lock);
	(void)read_note(p, &note);
	if (note.through < f.push.through)
		note.through = f.push.through;
	lag = push_note_lag(p->options.tape_path, &note);
	push_note_release(&note);
	f.push.waiting_segments = lag.segments;
	f.push.waiting_bytes = lag.bytes;
	f.push.oldest_waiting_ns = lag.since_ns;
	return f;
}

void pusher_end(struct pusher *p, const struct pusher_limits *limits)
{
	pthread_mutex_lock(&p->lock);
	p->ends = true;
	p->ends_ns = clock_mono_ns(&clock_system);
	p->limits = *limits;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

bool pusher_wait(struct pusher *p, int64_t limit_ns)
{
	struct timespec until;
	bool ended;
	int64_t at_ns;

	clock_gettime(CLOCK_MONOTONIC, &until);
	at_ns = time_add((int64_t)until.tv_sec * NS_PER_S + until.tv_nsec, limit_ns);
	until = (struct timespec){at_ns / NS_PER_S, at_ns % NS_PER_S};
	pthread_mutex_lock(&p->lock);
	while (p->runs && !p->has_ended) {
		if (pthread_cond_timedwait(&p->changed, &p->lock, &until))
			break;
	}
	ended = !p->runs || p->has_ended;
	pthread_mutex_unlock(&p->lock);
	return ended;
}

int pusher_finish(struct pusher *p, struct pusher_figures *ret_figures, struct err *err)
{
	int rc = 0;

	if (!p)
		return 0;
	if (!is_ending(p))
		pusher_end(p, &(struct pusher_limits){0});
	if (p->runs)
		pthread_join(p->thread, NULL);
	if (p->err.code)
		rc = err_copy(err, &p->err);
	if (ret_figures)
		*ret_figures = p->figures;
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p->tape_id);
	free(p);
	return rc;
}
