/* viewer_run.c: a view without a replay: a loop of its own, which a signal ends. */
#include "replayer/view/viewer.h"

#include <signal.h>

enum { SIGNALS = 3 };

struct run_loop {
	uv_loop_t loop;
	uv_signal_t signals[SIGNALS];
};

static void on_signal(uv_signal_t *handle, int number)
{
	(void)number;
	uv_stop(handle->loop);
}

static void begin_loop(struct run_loop *r)
{
	static const int numbers[SIGNALS] = {SIGINT, SIGTERM, SIGHUP};

	signal(SIGPIPE, SIG_IGN);
	uv_loop_init(&r->loop);
	for (size_t i = 0; i < SIGNALS; i++) {
		uv_signal_init(&r->loop, &r->signals[i]);
		uv_signal_start(&r->signals[i], on_signal, numbers[i]);
	}
}

static void end_loop(struct run_loop *r)
{
	for (size_t i = 0; i < SIGNALS; i++)
		uv_close((uv_handle_t *)&r->signals[i], NULL);
	uv_run(&r->loop, UV_RUN_DEFAULT);
	uv_loop_close(&r->loop);
}

int viewer_run(const struct viewer_options *options,
	int (*serving)(void *context, const char *url, struct err *err), void *context, struct err *err)
{
	struct viewer *v = NULL;
	struct run_loop r;
	int rc;

	begin_loop(&r);
	rc = viewer_open(&r.loop, options, &v, err);
	if (!rc)
		rc = serving(context, viewer_url(v), err);
	if (!rc)
		uv_run(&r.loop, UV_RUN_DEFAULT);
	viewer_close(v);
	end_loop(&r);
	return rc;
}
