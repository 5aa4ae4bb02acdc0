/* child.c: see child.h. */
#include "replayer/child.h"

#include "replayer/pod.h"
#include "replayer/process_tree.h"
#include "schema/base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* What the child writes to one of our descriptors, on its way there. */
struct relay {
	struct child *child;
	int from, to;
	uv_poll_t poll;
};

struct child {
	uv_process_t process;
	struct child_options options;
	struct relay relays[2];
	size_t relay_count;
	size_t handles;
	bool spawned, running;
};

/* ---- its output ---- */

/* Takes what is there. False at the end. */
static bool relay_read(struct relay *r)
{
	char bytes[4096];
	ssize_t n;

	while ((n = read(r->from, bytes, sizeof(bytes))) > 0)
		r->child->options.output(r->child->options.context, r->to, bytes, (size_t)n);
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	(void)events;
	if (status < 0 || !relay_read(poll->data))
		uv_poll_stop(poll);
}

/* Only what would go to the terminal needs to go around its last line. *ret_fd is the child's end, or our own
 * descriptor. */
static int relay_open(struct child *c, uv_loop_t *loop, int to, int *ret_fd, struct err *err)
{
	struct relay *r = &c->relays[c->relay_count];
	int ends[2];

	*ret_fd = to;
	if (!c->options.output || !isatty(to))
		return 0;
	if (pipe2(ends, O_CLOEXEC))
		return err_set_errno(err, errno, "cannot make a pipe");
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	*r = (struct relay){.child = c, .from = ends[0], .to = to};
	uv_poll_init(loop, &r->poll, r->from);
	r->poll.data = r;
	uv_poll_start(&r->poll, UV_READABLE, on_readable);
	c->relay_count++;
	c->handles++;
	*ret_fd = ends[1];
	return 0;
}

/* ---- the process ---- */

static bool is_replaced(const struct child_options *options, const char *variable)
{
	return slice_begins(slice_of(variable), "KUBECONFIG=") ||
	       slice_begins(slice_of(variable), "KUBETAPE_CONTROL=") ||
	       (options->pod && slice_begins(slice_of(variable), "KUBERNETES_SERVICE_"));
}

/* Our environment with where the replay is. The array and its first *ret_own entries are the caller's to free. */
static char **make_environment(const struct child_options *options, size_t *ret_own)
{
	char *const *variables = options->pod ? pod_variables(options->pod) : NULL;
	size_t count = 0, more = 2, n = 0;
	char **made;

	while (environ[count])
		count++;
	for (size_t i = 0; variables && variables[i]; i++)
		more++;
	made = xcalloc(count + more + 1, sizeof(*made));
	made[n++] = xasprintf("KUBETAPE_CONTROL=%s", options->control_url ? options->control_url : "");
	if (!variables)
		made[n++] = xasprintf("KUBECONFIG=%s", options->kubeconfig);
	for (; variables && *variables; variables++)
		made[n++] = xstrdup(*variables);
	*ret_own = n;
	for (size_t i = 0; i < count; i++) {
		if (!is_replaced(options, environ[i]))
			made[n++] = environ[i];
	}
	return made;
}

static void on_exit_of_child(uv_process_t *process, int64_t status, int signal_number)
{
	struct child *c = process->data;

	c->running = false;
	for (size_t i = 0; i < c->relay_count; i++)
		relay_read(&c->relays[i]);
	c->options.exited(c->options.context, signal_number ? 128 + signal_number : (int)status);
}

/* With that limit of open files, which a child inherits; NULL: ours. */
static int spawn_within(uv_loop_t *loop, uv_process_t *process, const uv_process_options_t *options,
	const struct rlimit *open_files)
{
	struct rlimit own;
	bool lowered = open_files && getrlimit(RLIMIT_NOFILE, &own) == 0 &&
		       setrlimit(RLIMIT_NOFILE, open_files) == 0;
	int rc = uv_spawn(loop, process, options);

	if (lowered)
		setrlimit(RLIMIT_NOFILE, &own);
	return rc;
}

static int spawn(struct child *c, uv_loop_t *loop, const int *fds, int fd_count, struct err *err)
{
	uv_stdio_container_t stdio[POD_ERROR_FD + 1];
	char **command = c->options.pod ? pod_command(c->options.pod, c->options.command) : NULL;
	size_t own = 0;
	char **environment = make_environment(&c->options, &own);
	const uv_process_options_t options = {.file = command ? command[0] : c->options.command[0],
		.args = command ? command : c->options.command,
		.env = environment,
		.exit_cb = on_exit_of_child,
		.stdio = stdio,
		.stdio_count = fd_count};
	int rc;

	for (int i = 0; i < fd_count; i++) {
		stdio[i].flags = UV_INHERIT_FD;
		stdio[i].data.fd = fds[i];
	}
	if (c->options.output)
		stdio[0].flags = UV_IGNORE;
	c->spawned = true; /* the process is a handle then, also when this fails */
	c->handles++;
	rc = spawn_within(loop, &c->process, &options, c->options.open_files);
	for (size_t i = 0; i < own; i++)
		free(environment[i]);
	free(environment);
	free(command);
	return rc ? err_set(err, ERR_NOT_FOUND, "cannot run '%s': %s", c->options.command[0], uv_strerror(rc))
		  : 0;
}

/* Reads until the process has become the command, or has written why it cannot. In that case it ends, and is waited for
 * here. */
static int check_in_pod(struct child *c, int from, struct err *err)
{
	char said[ERR_TEXT_MAX];
	size_t len = 0;
	ssize_t n;

	while (len < sizeof(said) - 1 &&
		((n = read(from, said + len, sizeof(said) - 1 - len)) > 0 || (n < 0 && errno == EINTR)))
		len += n > 0 ? (size_t)n : 0;
	if (len == 0)
		return 0;
	said[len] = '\0';
	waitpid(uv_process_get_pid(&c->process), NULL, 0);
	return err_set(err, ERR_NOT_FOUND, "%s", said);
}

static int spawn_in_pod(struct child *c, uv_loop_t *loop, int fds[POD_ERROR_FD + 1], struct err *err)
{
	int ends[2], rc;

	if (pipe2(ends, O_CLOEXEC))
		return err_set_errno(err, errno, "cannot make a pipe");
	fds[POD_ERROR_FD] = ends[1];
	rc = spawn(c, loop, fds, POD_ERROR_FD + 1, err);
	close(ends[1]);
	if (rc == 0)
		rc = check_in_pod(c, ends[0], err);
	close(ends[0]);
	return rc;
}

static void free_if_closed(struct child *c)
{
	if (c->handles == 0)
		free(c);
}

static void on_closed_process(uv_handle_t *handle)
{
	struct child *c = handle->data;

	c->handles--;
	free_if_closed(c);
}

static void on_closed_relay(uv_handle_t *handle)
{
	struct child *c = ((struct relay *)handle->data)->child;

	c->handles--;
	free_if_closed(c);
}

void child_close(struct child *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->relay_count; i++) {
		uv_poll_stop(&c->relays[i].poll);
		close(c->relays[i].from);
		uv_close((uv_handle_t *)&c->relays[i].poll, on_closed_relay);
	}
	if (c->spawned)
		uv_close((uv_handle_t *)&c->process, on_closed_process);
	else
		free_if_closed(c);
}

int child_start(uv_loop_t *loop, const struct child_options *options, struct child **ret, struct err *err)
{
	struct child *c = xcalloc(1, sizeof(*c));
	int fds[POD_ERROR_FD + 1] = {0}, rc;

	c->options = *options;
	c->process.data = c;
	rc = relay_open(c, loop, 1, &fds[1], err);
	if (rc == 0)
		rc = relay_open(c, loop, 2, &fds[2], err);
	if (rc == 0)
		rc = options->pod ? spawn_in_pod(c, loop, fds, err) : spawn(c, loop, fds, 3, err);
	for (int i = 1; i < 3; i++) {
		if (fds[i] > 2)
			close(fds[i]);
	}
	c->running = rc == 0;
	if (rc)
		child_close(c);
	else
		*ret = c;
	return rc;
}

pid_t child_pid(const struct child *c)
{
	return c->running ? uv_process_get_pid(&c->process) : 0;
}

bool child_kill(struct child *c)
{
	bool running = c->running;

	if (running)
		process_tree_kill(uv_process_get_pid(&c->process));
	return running;
}

void child_signal(struct child *c, int signal_number)
{
	if (c->running)
		uv_process_kill(&c->process, signal_number);
}
