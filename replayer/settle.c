/* settle.c: see settle.h. Looks a few times in the time that counts as quiet: nobody
 * has to tell it anything. */
#include "replayer/settle.h"

#include "replayer/run/run.h"
#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/log.h"

#include <stdlib.h>

#define LOOKS    8 /* in the time that counts as quiet */
#define LOOK_MIN (5 * NS_PER_MS)
/* How long a client that is never quiet may delay one event. Each further event waits a quarter as long. */
#define STEP_MAX      (30 * NS_PER_S)
#define STEP_LEAST    NS_PER_S /* also while their own writes are kept from them */
#define STEP_SHORTENS 4
/* Most programs go on at once; in older frameworks a worker rests for a second after an error. */
#define UNFINISHED_MAX (1500 * NS_PER_MS)
#define AWAKE_MAX      (5 * NS_PER_S) /* for which work without a request counts */
/* For which a program that was started, or started again, does nothing before it has acted on its first lists: many look each 100 ms
 * whether these are there. */
#define FIRST_STEP   (150 * NS_PER_MS)
#define STARTED_STEP (250 * NS_PER_MS)
#define NOT_STARTED  UINT64_MAX
/* The time in which a program that was started again opens its other watches, after the first ones. */
#define RESTARTED_MIN (3 * NS_PER_S)

/* What moves when somebody does something. */
struct doings {
	uint64_t sent, opened, work;
	size_t running;
};

struct settle {
	struct settle_options options;
	uv_timer_t timer;
	struct doings last;
	int64_t since_ns; /* monotonic: nothing has moved since */
	int64_t begun_ns; /* monotonic: it has been waiting since, before the start or at the end; 0: it is
			     not */
	bool told;
	/* Of lock-step. */
	bool shut, warned;        /* the gate of the player */
	int64_t step_max_ns;      /* for which the next event waits for clients that are not quiet */
	uint64_t asked, in_vain;  /* at the last look */
	uint64_t shown;           /* by count_shown, when the gate was opened the last time */
	int64_t shut_ns, idle_ns; /* since when; and since when nobody did anything */
	uint64_t started;         /* restarts after which the clients have been idle; NOT_STARTED */
	int64_t doing_ns;         /* when something was sent or written the last time */
	/* Of moments on the way. */
	int64_t still_ns; /* since when nobody did anything, and the clock ran */
	int64_t told_ns;  /* when such a moment was told */
};

/* Whether anybody did something since the last look. */
static bool note_doings(struct settle *s)
{
	const struct run *run = s->options.run;
	const struct doings now = {run->events, run->watches, run->work, watches_running(s->options.watches)};
	bool moved = now.sent != s->last.sent || now.opened != s->last.opened || now.work != s->last.work ||
		     now.running != s->last.running;

	s->last = now;
	return moved || run->under_way;
}

/* Whether anybody asked for something since the last look. */
static bool note_asked(struct settle *s)
{
	bool asked = s->options.run->asked != s->asked;

	s->asked = s->options.run->asked;
	return asked;
}

/* Whether anybody asked since the last look for what a fault keeps away. That is all that it is at work on, then. */
static bool note_in_vain(struct settle *s)
{
	bool in_vain = s->options.run->in_vain != s->in_vain;

	s->in_vain = s->options.run->in_vain;
	return in_vain;
}

/* For which a client that is not done may rest. */
static int64_t longest_rest(const struct settle *s)
{
	return s->options.quiet_ns > UNFINISHED_MAX ? s->options.quiet_ns : UNFINISHED_MAX;
}

/* Whether a client is expected to send another request, has not sent it yet, and may still do so. After a fault it may rest
 * for longer than UNFINISHED_MAX before it tries again. A run that takes longer to count as quiet waits for that as well. */
static bool is_unfinished(const struct settle *s, int64_t now_ns)
{
	const struct run *run = s->options.run;

	return (run->unfinished.ns && run->asked == run->unfinished.asked &&
		       now_ns - run->unfinished.ns < UNFINISHED_MAX) ||
	       (run->struck.ns && now_ns - run->struck.ns < longest_rest(s));
}

void settle_sent(struct settle *s)
{
	if (!s || !s->options.step_ns)
		return;
	s->shut = true;
	s->shut_ns = s->idle_ns = clock_mono_ns(&clock_system);
}

/* Counts what clients learn otherwise than from an event: from a list, after which they open a watch, and from a fault's end. */
static uint64_t count_shown(const struct settle *s)
{
	return s->options.run->watches + s->options.run->kept_back;
}

static bool is_owed(const struct settle *s)
{
	return s->options.is_owed(s->options.context);
}

static bool is_shut(void *settle)
{
	struct settle *s = settle;

	if (!s->shut && (s->shown != count_shown(s) || is_owed(s)))
		settle_sent(s);
	return s->shut;
}

static void warn_once(struct settle *s)
{
	if (!s->warned)
		log_warn("lock-step: the clients were not quiet for %lld s; the tape goes on all the same",
			(long long)(STEP_MAX / NS_PER_S));
	s->warned = true;
}

static int64_t longest_step(const struct settle *s)
{
	return s->options.is_late(s->options.context) ? STEP_LEAST : s->step_max_ns;
}

static void wait_shorter(struct settle *s)
{
	s->step_max_ns /= STEP_SHORTENS;
	if (s->step_max_ns < STEP_LEAST)
		s->step_max_ns = STEP_LEAST;
}

/* Whether the command is at work on what it has been sent. It is looked at only when nothing else has moved. */
static bool is_at_work(const struct settle *s, bool doing, int64_t now_ns)
{
	const struct settle_options *o = &s->options;

	return !doing && o->is_awake && now_ns - s->doing_ns < AWAKE_MAX && o->is_awake(o->context);
}

static bool is_asking(const struct settle *s)
{
	return s->options.moment && s->options.is_asking(s->options.context);
}

static void tell_of_moment(struct settle *s, int64_t now_ns)
{
	if (!s->options.moment || is_asking(s))
		return;
	s->told_ns = now_ns;
	s->options.moment(s->options.context);
}

/* The first event waits as well: a client whose watch has just been opened may be at work on what it has listed. */
static void shut_before_start(struct settle *s, int64_t now_ns)
{
	s->shut = s->options.step_ns > 0;
	s->shut_ns = s->idle_ns = s->told_ns = now_ns;
}

/* For how long clients do nothing before a step is over. A client that limits its own rate may wait for its turn for longer
 * than the step. If it never comes to an end, it does not stop the tape. */
static int64_t idle_time(const struct settle *s, int64_t now_ns)
{
	int64_t rest_ns = now_ns - s->doing_ns < AWAKE_MAX ? pace_rest_ns(&s->options.run->pace) : 0;
	int64_t start_ns = s->started == NOT_STARTED                ? FIRST_STEP
			   : s->started != s->options.run->restarts ? STARTED_STEP
								    : 0;

	if (rest_ns < start_ns)
		rest_ns = start_ns;
	return rest_ns > s->options.step_ns ? rest_ns : s->options.step_ns;
}

/* One that was started again and is not there yet is idle, too. */
static void note_started(struct settle *s)
{
	const struct run *run = s->options.run;

	if (run->watches > run->watches_before || s->started == NOT_STARTED)
		s->started = run->restarts;
}

/* Whether the clients, who are idle, may still do what the tape waits for. */
static bool waits_for_owed(struct settle *s, int64_t now_ns)
{
	if (!is_owed(s))
		return false;
	if (now_ns - s->idle_ns >= longest_rest(s) || now_ns - s->shut_ns >= s->step_max_ns) {
		s->options.give_up(s->options.context);
		return false;
	}
	s->options.show_all(s->options.context);
	return true;
}

/* In lock-step. The moment that ends a step is told once, and somebody may ask for a while then. */
static void look_at_step(struct settle *s, bool busy, int64_t now_ns)
{
	int64_t idle_ns = idle_time(s, now_ns);
	bool is_idle;

	if (busy)
		s->idle_ns = now_ns;
	if (!s->shut)
		return;
	is_idle = now_ns - s->idle_ns >= idle_ns;
	if (!is_idle) {
		if (now_ns - s->shut_ns < longest_step(s))
			return;
		if (longest_step(s) == STEP_MAX)
			warn_once(s);
		wait_shorter(s);
	} else {
		s->step_max_ns = STEP_MAX;
	}
	if (waits_for_owed(s, now_ns))
		return;
	if (s->told_ns < s->shut_ns)
		tell_of_moment(s, now_ns);
	if (is_asking(s))
		return;
	if (is_idle && idle_ns > s->options.step_ns)
		pace_rested(&s->options.run->pace);
	if (is_idle)
		note_started(s);
	s->shut = false;
	s->shown = count_shown(s);
	player_nudge(s->options.player);
}

/* The clock is held for watches of a program that was started again. It may not need all that it had before. */
static void look_for_awaited(struct settle *s, int64_t now_ns)
{
	int64_t rest_ns = s->options.quiet_ns > RESTARTED_MIN ? s->options.quiet_ns : RESTARTED_MIN;

	if (s->options.step_ns && player_is_held(s->options.player) && now_ns - s->idle_ns >= rest_ns)
		s->options.stop_awaiting(s->options.context);
}

static void look_for_moment(struct settle *s, bool still, int64_t now_ns)
{
	if (!still)
		s->still_ns = now_ns;
	else if (now_ns - s->still_ns >= SETTLE_MOMENT_NS && now_ns - s->told_ns >= SETTLE_AGAIN_NS)
		tell_of_moment(s, now_ns);
}

/* Whether it waits, with somebody to wait for. */
static bool is_waiting(const struct settle *s, enum player_state state)
{
	return (state == PLAYER_WAITING && s->last.running) || (state == PLAYER_ENDED && !s->told);
}

static void go_on(struct settle *s, enum player_state state, bool in_time)
{
	char limit[TIME_TEXT_BYTES], quiet[TIME_TEXT_BYTES];

	if (!in_time)
		log_warn("the clients were not quiet for %s within %s (--settle-limit)",
			duration_format(quiet, s->options.quiet_ns),
			duration_format(limit, s->options.limit_ns));
	if (state == PLAYER_WAITING) {
		player_start(s->options.player);
		return;
	}
	s->told = true;
	s->options.quiet(s->options.context, in_time);
}

/* Before the clock runs, and at the end. */
static void look_for_quiet(struct settle *s, enum player_state state, int64_t now_ns)
{
	if (!is_waiting(s, state)) {
		s->begun_ns = 0;
		return;
	}
	if (!s->begun_ns)
		s->begun_ns = now_ns;
	if (now_ns - s->since_ns >= s->options.quiet_ns)
		go_on(s, state, true);
	else if (s->options.limit_ns && now_ns - s->begun_ns >= s->options.limit_ns)
		go_on(s, state, false);
}

static void on_look(uv_timer_t *timer)
{
	struct settle *s = timer->data;
	int64_t now_ns = clock_mono_ns(&clock_system);
	enum player_state state = player_state(s->options.player);
	bool busy = note_doings(s), asked = note_asked(s), in_vain = note_in_vain(s);
	bool doing = busy || !watches_are_at_rest(s->options.watches), at_work, still;

	if (doing)
		s->doing_ns = now_ns;
	at_work = !in_vain && is_at_work(s, doing, now_ns);
	if (s->options.pause_ns && (doing || asked || at_work))
		s->options.busy(s->options.context);
	if (state == PLAYER_WAITING && s->options.step_ns)
		shut_before_start(s, now_ns);
	look_at_step(s, doing || asked || at_work || is_unfinished(s, now_ns), now_ns);
	look_for_awaited(s, now_ns);
	still = !busy && watches_all_live(s->options.watches) && !at_work &&
		(!s->shut || state == PLAYER_WAITING) && !player_is_held(s->options.player);
	look_for_moment(s, still && state == PLAYER_RUNNING, now_ns);
	if (!still || state == PLAYER_RUNNING || is_asking(s))
		s->since_ns = now_ns;
	if (s->options.quiet_ns)
		look_for_quiet(s, state, now_ns);
}

/* Of the times that are looked out for. */
static int64_t shortest(const struct settle_options *o)
{
	const int64_t times[] = {o->step_ns ? o->step_ns : o->quiet_ns, o->moment ? SETTLE_MOMENT_NS : 0,
		o->limit_ns, o->pause_ns};
	int64_t ns = INT64_MAX;

	for (size_t i = 0; i < COUNT_OF(times); i++) {
		if (times[i] && times[i] < ns)
			ns = times[i];
	}
	return ns;
}

struct settle *settle_open(uv_loop_t *loop, const struct settle_options *options)
{
	struct settle *s = xcalloc(1, sizeof(*s));
	int64_t every_ns = shortest(options) / LOOKS;
	uint64_t every_ms = (uint64_t)((every_ns < LOOK_MIN ? LOOK_MIN : every_ns) / NS_PER_MS);

	s->options = *options;
	s->step_max_ns = STEP_MAX;
	s->started = NOT_STARTED;
	s->since_ns = s->doing_ns = s->still_ns = clock_mono_ns(&clock_system);
	uv_timer_init(loop, &s->timer);
	s->timer.data = s;
	uv_timer_start(&s->timer, on_look, every_ms, every_ms);
	if (options->step_ns) {
		shut_before_start(s, s->since_ns);
		player_set_gate(options->player, is_shut, s);
	}
	return s;
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void settle_close(struct settle *s)
{
	if (s)
		uv_close((uv_handle_t *)&s->timer, on_closed);
}
