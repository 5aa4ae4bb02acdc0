/* player.c: see player.h. */
#include "replayer/world/player.h"

#include "schema/base/clock.h"
#include "schema/base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define BATCH 256 /* changes applied before sockets have their turn */

struct player {
	struct world *world;
	struct timeline *timeline;
	struct replay_clock clock;
	enum player_state state;
	const struct player_listener *listener;
	void *context;
	int timer_fd;
	uv_poll_t timer;
	uv_async_t read; /* the timeline has something again */
	int open_handles;
	int64_t cut_ns;    /* of silences before the position */
	uint64_t stop_seq; /* 0: none */
	struct predicate *stop_when;
	struct player_stop stopping;            /* the latest of both */
	bool stop;                              /* it was reached: pause after this item */
	uint64_t steps;                         /* changes to apply whatever the clock says */
	const struct player_director *director; /* NULL: none */
	void *director_context;
	bool (*gate_is_shut)(void *context); /* NULL: no gate */
	void *gate_context;
	bool held;     /* by director or gate: the clock stands still */
	bool is_taken; /* `taken` was announced to the director, who wants it to wait */
	struct timeline_item taken;
	int64_t applied_ns; /* when the last change was due, in tape time */
};

const char *player_state_name(enum player_state state)
{
	static const char *const names[] = {
		[PLAYER_WAITING] = "waiting",
		[PLAYER_RUNNING] = "running",
		[PLAYER_PAUSED] = "paused",
		[PLAYER_ENDED] = "ended",
		[PLAYER_FAILED] = "failed",
	};

	return names[state];
}

const char *player_stop_state_name(enum player_stop_state state)
{
	static const char *const names[] = {
		[STOP_NONE] = "none",
		[STOP_AHEAD] = "ahead",
		[STOP_REACHED] = "reached",
		[STOP_FAILED] = "failed",
	};

	return names[state];
}

static void set_timer(struct player *p, int64_t mono_ns)
{
	struct itimerspec when = {0};

	if (mono_ns < 1)
		mono_ns = 1;
	if (mono_ns != INT64_MAX)
		when.it_value = (struct timespec){mono_ns / NS_PER_S, mono_ns % NS_PER_S};
	timerfd_settime(p->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/* Sets the timer to that time, or to an earlier one that the director waits for. With speed max the tape's
 * time passes with its events alone. */
static void wait_until(struct player *p, int64_t mono_ns)
{
	int64_t tape_ns, director_ns;

	if (p->director && p->state != PLAYER_FAILED) {
		p->director->next(p->director_context, &tape_ns, &director_ns);
		if (tape_ns != INT64_MAX && p->clock.speed != SPEED_MAX && p->clock.running) {
			tape_ns = replay_clock_due_ns(&p->clock, time_sub(tape_ns, p->cut_ns));
			director_ns = tape_ns < director_ns ? tape_ns : director_ns;
		}
		mono_ns = director_ns < mono_ns ? director_ns : mono_ns;
	}
	set_timer(p, mono_ns);
}

/* Every change of state goes through here. The clock goes on after the end: a cluster that went quiet. */
static void player_enter(struct player *p, enum player_state state)
{
	p->state = state;
	if (state == PLAYER_RUNNING)
		replay_clock_start(&p->clock, clock_mono_ns(&clock_system));
	else if (state != PLAYER_ENDED)
		replay_clock_stop(&p->clock, clock_mono_ns(&clock_system));
}

static void end(struct player *p, enum player_state state, const struct err *err)
{
	player_enter(p, state);
	player_tick(p);
	wait_until(p, INT64_MAX);
	p->listener->ended(p->context, err);
}

/* Asks all that have a say; while one of them holds, the clock stands still. */
static bool hold(struct player *p)
{
	bool held;

	if (p->director)
		p->director->settle(p->director_context);
	held = player_is_held(p) || player_gate_is_shut(p);
	if (held && !p->held)
		replay_clock_stop(&p->clock, clock_mono_ns(&clock_system));
	else if (!held && p->held)
		replay_clock_start(&p->clock, clock_mono_ns(&clock_system));
	p->held = held;
	return held;
}

/* Whether this change is one to stop after. A predicate that fails stops, too: it cannot be trusted, and the
 * stop is known for failed. */
static bool test_stop(struct player *p, struct change *c)
{
	const struct collection *in = world_collection(p->world, c->resource);
	struct event e;
	struct err err;
	int rc;

	if (p->stop_seq && c->seq >= p->stop_seq)
		return true;
	if (!p->stop_when)
		return false;
	e = change_event(c);
	rc = predicate_test(p->stop_when, in ? &in->resource : NULL, &e, c->object, &err);
	if (rc < 0) {
		log_error("stopped at event %llu: %s", (unsigned long long)c->seq, err.text);
		p->stopping.state = STOP_FAILED;
	}
	return rc != 0;
}

/* What directors are told of: what watchers may be. */
static bool is_directed(const struct player *p, const struct timeline_item *item)
{
	return p->director && item->change && item->change->origin != ORIGIN_LIST &&
	       world_collection(p->world, item->change->resource);
}

/* Takes the next item, unless one is waiting, and announces it. */
static int player_take(struct player *p, bool waiting, struct err *err)
{
	const struct timeline_item *item = &p->taken;
	int rc;

	if (p->is_taken)
		return 1;
	rc = waiting ? timeline_take_waiting(p->timeline, &p->taken, err)
		     : timeline_take(p->timeline, &p->taken, err);
	if (rc != 1)
		return rc;
	p->is_taken = true;
	p->cut_ns = item->cut_ns;
	if (p->clock.speed == SPEED_MAX || p->steps)
		replay_clock_set(&p->clock, item->due_ns, p->clock.mono_ns);
	if (!is_directed(p, item))
		return 1;
	rc = p->director->before(p->director_context, world_collection(p->world, item->change->resource),
		item->change, time_add(item->due_ns, item->cut_ns), err);
	return rc ? rc : 1;
}

void player_hand_on(struct player *p, struct collection *in, struct change *c, uint64_t number)
{
	p->listener->changed(p->context, in, c, number, replay_clock_due_ns(&p->clock, p->applied_ns));
}

static void player_apply(struct player *p)
{
	struct timeline_item item = p->taken;
	struct collection *in;
	int64_t number;

	p->is_taken = false;
	if (!item.change) {
		world_apply_mark(p->world, item.mark);
		return;
	}
	if (p->steps)
		p->steps--;
	p->applied_ns = item.due_ns;
	in = world_collection(p->world, item.change->resource);
	p->stop = test_stop(p, item.change);
	number = world_apply_change(p->world, &item.change);
	if (number >= 0)
		player_hand_on(p, in, item.change, (uint64_t)number);
	if (is_directed(p, &item))
		p->director->after(p->director_context, in, item.change, time_add(item.due_ns, item.cut_ns));
	change_unref(item.change);
}

/* What was announced and is not to be applied any more. */
static void drop_taken(struct player *p)
{
	if (p->is_taken)
		change_unref(p->taken.change);
	p->is_taken = false;
}

/* Whether the next item is due: 1, 0 for not yet, ERR_STOPPED when there is none. */
static int is_due(struct player *p, struct err *err)
{
	int64_t due_ns;
	int rc = p->is_taken ? 1 : timeline_next_due(p->timeline, &due_ns, err);

	if (rc <= 0)
		return rc < 0 ? rc : ERR_STOPPED;
	if (rc == TIMELINE_NOT_YET)
		return 0;
	if (!p->is_taken && due_ns > replay_clock_tape_ns(&p->clock, clock_mono_ns(&clock_system)))
		return 0;
	return p->clock.speed != SPEED_MAX || p->listener->ready(p->context);
}

/* Applies what is due, at most a batch. Returns 1 when more may be due, 0 when not, negative at the end. */
static int play_batch(struct player *p, struct err *err)
{
	for (int i = 0; i < BATCH && !p->stop; i++) {
		int rc = hold(p) ? 0 : is_due(p, err);

		if (rc <= 0)
			return rc;
		rc = player_take(p, false, err);
		if (rc < 0)
			return rc;
		if (hold(p))
			return 0;
		player_apply(p);
	}
	return 1;
}

static void arm(struct player *p)
{
	struct err err;
	int64_t due_ns;
	int rc;

	if (hold(p) || p->is_taken) {
		wait_until(p, p->held ? INT64_MAX : 1);
		return;
	}
	rc = timeline_next_due(p->timeline, &due_ns, &err);
	if (rc <= 0) {
		end(p, rc < 0 ? PLAYER_FAILED : PLAYER_ENDED, rc < 0 ? &err : NULL);
		return;
	}
	/* Somebody else goes on: the timeline when it has read, or player_poke when nobody is behind any
	 * more. */
	if (rc == TIMELINE_NOT_YET || (p->clock.speed == SPEED_MAX && !p->listener->ready(p->context)))
		wait_until(p, INT64_MAX);
	else
		wait_until(p, replay_clock_due_ns(&p->clock, due_ns));
}

static void stand_still(struct player *p)
{
	player_enter(p, PLAYER_PAUSED);
	p->held = false;
	wait_until(p, INT64_MAX);
}

static void forget_stop(struct player *p)
{
	p->stop = false;
	p->stop_seq = 0;
	predicate_free(p->stop_when);
	p->stop_when = NULL;
}

/* The stop was reached: it counts once. */
static void note_stop(struct player *p)
{
	forget_stop(p);
	if (p->stopping.state == STOP_AHEAD)
		p->stopping.state = STOP_REACHED;
}

static void stop_here(struct player *p)
{
	note_stop(p);
	stand_still(p);
}

static void play(struct player *p)
{
	struct err err;
	int rc;

	player_tick(p);
	if (p->state != PLAYER_RUNNING) {
		wait_until(p, INT64_MAX);
		return;
	}
	rc = play_batch(p, &err);
	p->listener->pause_in_batch(p->context);
	if (p->state != PLAYER_RUNNING)
		return;
	if (rc < 0)
		end(p, rc == ERR_STOPPED ? PLAYER_ENDED : PLAYER_FAILED, rc == ERR_STOPPED ? NULL : &err);
	else if (!p->stop)
		arm(p);
	else
		stop_here(p);
}

/* The timer need not be read: setting it anew, which everybody does who plays on or stops, clears it. */
static void on_timer(uv_poll_t *handle, int status, int events)
{
	(void)status;
	(void)events;
	play(handle->data);
}

static void on_read(uv_async_t *handle)
{
	play(handle->data);
}

void player_read(void *player)
{
	struct player *p = player;

	uv_async_send(&p->read);
}

int player_open(uv_loop_t *loop, const struct player_options *options, struct player **ret, struct err *err)
{
	struct player *p = xcalloc(1, sizeof(*p));

	p->world = options->world;
	p->listener = options->listener;
	p->context = options->context;
	replay_clock_init(&p->clock, options->speed, options->start_tape_ns);
	p->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (p->timer_fd < 0) {
		int saved = errno;

		free(p);
		return err_set_errno(err, saved, "cannot make a timer");
	}
	uv_poll_init(loop, &p->timer, p->timer_fd);
	uv_async_init(loop, &p->read, on_read);
	p->timer.data = p->read.data = p;
	p->open_handles = 2;
	uv_poll_start(&p->timer, UV_READABLE, on_timer);
	*ret = p;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	struct player *p = handle->data;

	if (--p->open_handles == 0)
		free(p);
}

void player_close(struct player *p)
{
	if (!p)
		return;
	player_enter(p, PLAYER_FAILED);
	drop_taken(p);
	predicate_free(p->stop_when);
	uv_close((uv_handle_t *)&p->read, on_closed);
	uv_close((uv_handle_t *)&p->timer, on_closed);
	close(p->timer_fd);
}

static void player_run(struct player *p)
{
	player_enter(p, PLAYER_RUNNING);
	arm(p);
}

void player_start(struct player *p)
{
	if (p->state == PLAYER_WAITING)
		player_run(p);
}

void player_pause(struct player *p)
{
	if (p->state == PLAYER_RUNNING || p->state == PLAYER_WAITING)
		stand_still(p);
	else if (p->state == PLAYER_ENDED)
		replay_clock_stop(&p->clock, clock_mono_ns(&clock_system));
}

void player_resume(struct player *p)
{
	if (p->state == PLAYER_PAUSED)
		player_run(p);
	else if (p->state == PLAYER_ENDED)
		replay_clock_start(&p->clock, clock_mono_ns(&clock_system));
}

static void begin_stop(struct player *p)
{
	forget_stop(p);
	p->stopping.number++;
	p->stopping.state = STOP_AHEAD;
}

void player_stop_at(struct player *p, uint64_t seq)
{
	begin_stop(p);
	p->stop_seq = seq;
}

void player_stop_when(struct player *p, struct predicate *predicate)
{
	begin_stop(p);
	p->stop_when = predicate;
}

struct player_stop player_stop(const struct player *p)
{
	return p->stopping;
}

/* Marks on the way are applied, too: they belong to what was seen before the next change. */
void player_step(struct player *p, uint64_t changes)
{
	struct err err;
	int rc = 1;

	player_pause(p);
	if (p->state != PLAYER_PAUSED)
		return;
	p->steps = changes;
	while (p->steps && (rc = player_take(p, true, &err)) > 0) {
		player_apply(p);
		if (p->stop) /* a step over it is one to it */
			note_stop(p);
	}
	p->steps = 0;
	p->listener->pause_in_batch(p->context);
	if (rc <= 0)
		end(p, rc < 0 ? PLAYER_FAILED : PLAYER_ENDED, rc < 0 ? &err : NULL);
}

void player_move(struct player *p, struct timeline *timeline, int64_t tape_ns)
{
	bool ended = p->state == PLAYER_ENDED;
	bool runs = p->state == PLAYER_RUNNING || (ended && p->clock.running);

	p->timeline = timeline;
	p->held = false;
	drop_taken(p);
	p->cut_ns = 0;
	replay_clock_stop(&p->clock, clock_mono_ns(&clock_system));
	replay_clock_set(&p->clock, tape_ns, clock_mono_ns(&clock_system));
	if (runs)
		player_run(p);
	else if (ended)
		player_enter(p, PLAYER_PAUSED);
}

void player_set_speed(struct player *p, double speed)
{
	replay_clock_set_speed(&p->clock, speed, clock_mono_ns(&clock_system));
	if (p->state == PLAYER_RUNNING)
		arm(p);
}

void player_direct(struct player *p, const struct player_director *director, void *context)
{
	p->director = director;
	p->director_context = context;
}

void player_tick(struct player *p)
{
	if (p->director && p->state != PLAYER_FAILED)
		p->director->tick(p->director_context);
}

void player_set_gate(struct player *p, bool (*is_shut)(void *context), void *context)
{
	p->gate_is_shut = is_shut;
	p->gate_context = context;
}

bool player_gate_is_shut(const struct player *p)
{
	return p->gate_is_shut && p->gate_is_shut(p->gate_context);
}

void player_nudge(struct player *p)
{
	if ((p->director || p->gate_is_shut) && p->state != PLAYER_FAILED)
		set_timer(p, 1);
}

void player_flush(struct player *p)
{
	p->listener->pause_in_batch(p->context);
}

void player_poke(struct player *p)
{
	if (p->state == PLAYER_RUNNING && p->clock.speed == SPEED_MAX)
		set_timer(p, 1);
}

enum player_state player_state(const struct player *p)
{
	return p->state;
}

bool player_is_held(const struct player *p)
{
	return p->director && p->director->is_holding(p->director_context);
}

double player_speed(const struct player *p)
{
	return p->clock.speed;
}

int64_t player_tape_ns(const struct player *p)
{
	int64_t now_ns = replay_clock_tape_ns(&p->clock, clock_mono_ns(&clock_system));

	return time_add(now_ns == INT64_MAX ? p->clock.tape_ns : now_ns, p->cut_ns);
}

int64_t player_anchor(const struct player *p, int64_t *ret_tape_ns)
{
	*ret_tape_ns = time_add(p->clock.tape_ns, p->cut_ns);
	return p->clock.mono_ns;
}
