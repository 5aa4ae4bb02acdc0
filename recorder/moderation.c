/* moderation.c: see moderation.h. */
#include "recorder/moderation.h"

#include <time.h>

#define WINDOW_NS   (100 * NS_PER_MS)
#define BUSY_COUNT  25 /* arrivals in a window: 250 a second */
#define CALM_COUNT  15
#define MAX_REST_NS (100 * NS_PER_MS)

static void close_window(struct moderation *m, int64_t now)
{
	int64_t age = now - m->window_begin_ns;

	if (age < WINDOW_NS)
		return;
	/* A window that was looked at late counts for what it would have been. */
	m->busy = (int64_t)m->in_window * WINDOW_NS / age >= (m->busy ? CALM_COUNT : BUSY_COUNT);
	m->in_window = 0;
	m->window_begin_ns = now;
}

/* Before the loop waits for the next thing to happen. */
static void on_prepare(uv_prepare_t *prepare)
{
	struct moderation *m = prepare->data;
	struct timespec rest = {.tv_nsec = (long)m->rest_ns};
	bool has_arrivals = m->in_turn > 0;

	m->in_window += m->in_turn;
	m->in_turn = 0;
	close_window(m, clock_mono_ns(m->clock));
	if (m->busy && has_arrivals && m->rest_ns > 0)
		nanosleep(&rest, NULL);
}

void moderation_init(struct moderation *m, uv_loop_t *loop, const struct clock *clock, int64_t rest_ns)
{
	*m = (struct moderation){.clock = clock, .rest_ns = rest_ns < MAX_REST_NS ? rest_ns : MAX_REST_NS};
	uv_prepare_init(loop, &m->prepare);
	m->prepare.data = m;
	uv_prepare_start(&m->prepare, on_prepare);
	uv_unref((uv_handle_t *)&m->prepare);
}
