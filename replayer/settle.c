/* settle.c: see settle.h. Looks a few times in the time that counts as quiet: nobody has to tell it anything.
 */
#include "replayer/settle.h"

#include "replayer/run.h"
#include "schema/base/clock.h"

#include <stdlib.h>

#define LOOKS    8 /* in the time that counts as quiet */
#define LOOK_MIN (5 * NS_PER_MS)

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
	bool told;
};

static bool is_busy(struct settle *s)
{
	const struct run *run = s->options.run;
	const struct doings now = {run->events, run->watches, run->work, watches_running(s->options.watches)};
	bool moved = now.sent != s->last.sent || now.opened != s->last.opened || now.work != s->last.work ||
		     now.running != s->last.running;

	s->last = now;
	return moved || !watches_all_live(s->options.watches);
}

static void on_look(uv_timer_t *timer)
{
	struct settle *s = timer->data;
	int64_t now_ns = clock_mono_ns(&clock_system);
	enum player_state state = player_state(s->options.player);

	if (is_busy(s) || state == PLAYER_RUNNING || player_is_held(s->options.player))
		s->since_ns = now_ns;
	if (now_ns - s->since_ns < s->options.quiet_ns)
		return;
	if (state == PLAYER_WAITING && s->last.running) {
		player_start(s->options.player);
	} else if (state == PLAYER_ENDED && !s->told) {
		s->told = true;
		s->options.quiet(s->options.context);
	}
}

struct settle *settle_open(uv_loop_t *loop, const struct settle_options *options)
{
	struct settle *s = xcalloc(1, sizeof(*s));
	int64_t every_ns = options->quiet_ns / LOOKS;
	uint64_t every_ms = (uint64_t)((every_ns < LOOK_MIN ? LOOK_MIN : every_ns) / NS_PER_MS);

	s->options = *options;
	s->since_ns = clock_mono_ns(&clock_system);
	uv_timer_init(loop, &s->timer);
	s->timer.data = s;
	uv_timer_start(&s->timer, on_look, every_ms, every_ms);
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
