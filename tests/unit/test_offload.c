#include "replayer/serve/offload.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <semaphore.h>

/* What happened on the loop, in order: '?' a question of a job, 'd' a job is done. */
struct trace {
	struct offload *offload;
	char text[16];
	size_t len;
	uv_timer_t timer;
	sem_t loop_went_on;
	pthread_t loop;
	int answer;
};

static void note(struct trace *t, char c)
{
	ck_assert_uint_lt(t->len, sizeof(t->text) - 1);
	t->text[t->len++] = c;
}

static int note_on_the_loop(void *context)
{
	struct trace *t = context;

	ck_assert(pthread_equal(pthread_self(), t->loop));
	note(t, '?');
	return 42;
}

static void work_nothing(void *context)
{
	(void)context;
}

static void ask(void *context)
{
	struct trace *t = context;

	ck_assert(!pthread_equal(pthread_self(), t->loop));
	t->answer = offload_ask(t->offload, note_on_the_loop, t);
}

static void done(void *context)
{
	struct trace *t = context;

	ck_assert(pthread_equal(pthread_self(), t->loop));
	note(t, 'd');
}

static void begin(uv_loop_t *loop, struct trace *t)
{
	*t = (struct trace){.loop = pthread_self()};
	uv_loop_init(loop);
	t->offload = offload_open(loop);
}

static void run_until(uv_loop_t *loop, const struct trace *t, size_t len)
{
	while (t->len < len)
		uv_run(loop, UV_RUN_ONCE);
}

static void end(uv_loop_t *loop, struct trace *t)
{
	offload_close(t->offload);
	uv_run(loop, UV_RUN_DEFAULT);
	ck_assert_int_eq(uv_loop_close(loop), 0);
}

START_TEST(offload__runs_a_part_of_a_job_on_the_loop_when_the_job_asks)
{
	uv_loop_t loop;
	struct trace t;
	const struct offload_job job = {.work = ask, .done = done, .context = &t};

	begin(&loop, &t);
	ck_assert(offload_start(t.offload, &job));
	run_until(&loop, &t, 2);
	ck_assert_str_eq(t.text, "?d");
	ck_assert_int_eq(t.answer, 42);
	end(&loop, &t);
}
END_TEST

static void on_timer(uv_timer_t *timer)
{
	struct trace *t = timer->data;

	sem_post(&t->loop_went_on);
	uv_close((uv_handle_t *)timer, NULL);
}

static void wait_for_loop(void *context)
{
	struct trace *t = context;

	while (sem_wait(&t->loop_went_on))
		;
}

START_TEST(offload__lets_the_loop_go_on_while_a_job_works)
{
	uv_loop_t loop;
	struct trace t;
	const struct offload_job job = {.work = wait_for_loop, .done = done, .context = &t};

	begin(&loop, &t);
	sem_init(&t.loop_went_on, 0, 0);
	uv_timer_init(&loop, &t.timer);
	t.timer.data = &t;
	uv_timer_start(&t.timer, on_timer, 0, 0);
	ck_assert(offload_start(t.offload, &job));
	run_until(&loop, &t, 1);
	end(&loop, &t);
	sem_destroy(&t.loop_went_on);
}
END_TEST

START_TEST(offload__tells_all_jobs_that_they_are_done_when_it_closes_and_answers_no_more)
{
	uv_loop_t loop;
	struct trace t;
	const struct offload_job asks = {.work = ask, .done = done, .context = &t};

	begin(&loop, &t);
	for (int i = 0; i < 3; i++)
		ck_assert(offload_start(t.offload, &asks));
	end(&loop, &t);
	ck_assert_str_eq(t.text, "ddd");
	ck_assert(t.answer == 0 || t.answer == ERR_STOPPED);
}
END_TEST

START_TEST(offload__takes_no_more_jobs_than_there_is_room_for)
{
	uv_loop_t loop;
	struct trace t;
	struct offload_job job = {.work = work_nothing, .done = done, .context = &t, .bytes = 40u << 20};

	begin(&loop, &t);
	ck_assert(offload_start(t.offload, &job));
	ck_assert(!offload_start(t.offload, &job));
	job.bytes = 1;
	ck_assert(offload_start(t.offload, &job));
	run_until(&loop, &t, 2);
	ck_assert(offload_start(t.offload, &job));
	run_until(&loop, &t, 3);
	end(&loop, &t);
}
END_TEST

UNIT_MAIN("offload", offload__runs_a_part_of_a_job_on_the_loop_when_the_job_asks,
	offload__lets_the_loop_go_on_while_a_job_works,
	offload__tells_all_jobs_that_they_are_done_when_it_closes_and_answers_no_more,
	offload__takes_no_more_jobs_than_there_is_room_for)
