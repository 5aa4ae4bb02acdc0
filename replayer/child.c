/* child.c: see child.h. */
#include "replayer/child.h"

#include "schema/base/buf.h"

#include <stdlib.h>

extern char **environ;

struct child {
	uv_process_t process;
	void (*exited)(void *context, int exit_code);
	void *context;
	bool running;
};

/* Our environment with KUBECONFIG replaced; the array and its first entry are the caller's to free. */
static char **make_environment(const char *kubeconfig)
{
	size_t count = 0, n = 1;
	char **made;

	while (environ[count])
		count++;
	made = xcalloc(count + 2, sizeof(*made));
	made[0] = xasprintf("KUBECONFIG=%s", kubeconfig);
	for (size_t i = 0; i < count; i++) {
		if (strncmp(environ[i], "KUBECONFIG=", 11) != 0)
			made[n++] = environ[i];
	}
	return made;
}

static void on_exit_of_child(uv_process_t *process, int64_t status, int signal_number)
{
	struct child *c = process->data;

	c->running = false;
	c->exited(c->context, signal_number ? 128 + signal_number : (int)status);
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

int child_start(uv_loop_t *loop, const struct child_options *options, struct child **ret, struct err *err)
{
	uv_stdio_container_t stdio[3];
	struct child *c = xcalloc(1, sizeof(*c));
	char **environment = make_environment(options->kubeconfig);
	const uv_process_options_t spawn = {.file = options->command[0],
		.args = options->command,
		.env = environment,
		.exit_cb = on_exit_of_child,
		.stdio = stdio,
		.stdio_count = 3};
	int rc;

	for (int i = 0; i < 3; i++) {
		stdio[i].flags = UV_INHERIT_FD;
		stdio[i].data.fd = i;
	}
	c->exited = options->exited;
	c->context = options->context;
	c->process.data = c;
	rc = uv_spawn(loop, &c->process, &spawn);
	free(environment[0]);
	free(environment);
	if (rc) {
		uv_close((uv_handle_t *)&c->process, on_closed);
		return err_set(
			err, ERR_NOT_FOUND, "cannot run '%s': %s", options->command[0], uv_strerror(rc));
	}
	c->running = true;
	*ret = c;
	return 0;
}

void child_signal(struct child *c, int signal_number)
{
	if (c->running)
		uv_process_kill(&c->process, signal_number);
}

void child_close(struct child *c)
{
	if (c)
		uv_close((uv_handle_t *)&c->process, on_closed);
}
