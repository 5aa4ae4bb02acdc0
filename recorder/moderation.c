/* moderation.c: see moderation.h. */
#include "recorder/moderation.h"

#include <time.h>

#define WINDOW_NS  (100 * NS_PER_MS)
#define BUSY_COUNT 15 /* arrivals in a window: 150 a second */
#define CALM_COUNT 9
#define WANTED     8 /* more arrivals for each awakening */
#define LONGEST_NS (100 * NS_PER_MS)

static void close_window(struct moderation *m, int64_t now)
{
	int64_t age = now - m->window_begin_ns, count;

	if (age < WINDOW_NS)
		return;
	/* A window that was looked at late counts for what it would have been. */
	count = (int64_t)m->in_window * WINDOW_NS / age;
	m->rest_ns = count < (m->rest_ns ? CALM_COUNT : BUSY_COUNT) ? 0 : WANTED * WINDOW_NS / count;
	if (m->rest_ns > m->max_rest_ns)
		m->rest_ns = m->max_rest_ns;
	m->in_window = 0;
	m->window_begin_ns = now;
}

/* Before the loop waits for the next thing to happen. */
static void on_prepare(uv_prepare_t *prepare)
{
	struct moderation *m = prepare->data;
	struct timespec rest;
	bool has_arrivals = m->in_turn > 0;

	m->in_window += m->in_turn;
	m->in_turn = 0;
	close_window(m, clock_mono_ns(m->clock));
	if (m->rest_ns == 0 || !has_arrivals)
		return;
	rest = (struct timespec){.tv_nsec = (long)m->rest_ns};
	nanosleep(&rest, NULL);
}

void moderation_init(struct moderation *m, uv_loop_t *loop, const struct clock *clock, int64_t max_rest_ns)
{
	*m = (struct moderation){
		.clock = clock, .max_rest_ns = max_rest_ns < LONGEST_NS ? max_rest_ns : LONGEST_NS};
	uv_prepare_init(loop, &m->prepare);
	m->prepare.data = m;
	uv_prepare_start(&m->prepare, on_prepare);
	uv_unref((uv_handle_t *)&m->prepare);
}
