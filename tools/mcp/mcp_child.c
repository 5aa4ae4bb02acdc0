/* mcp_child.c: see mcp_child.h. */
#include "tools/mcp/mcp_child.h"

#include "schema/base/clock.h"
#include "schema/base/own_program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_BYTES   4096
#define ERRORS_BYTES 8192 /* of stderr; more is dropped */

void mcp_output_init(struct mcp_output *o, const struct mcp_bounds *bounds)
{
	*o = (struct mcp_output){.exit_code = -1};
	buf_init(&o->text, bounds->bytes + READ_BYTES);
	buf_init(&o->errors, ERRORS_BYTES);
}

void mcp_output_release(struct mcp_output *o)
{
	buf_release(&o->text);
	buf_release(&o->errors);
}

/* ---- the process ---- */

static void become(char *const *arguments, int output, int errors)
{
	char program[PATH_MAX];
	int input = open("/dev/null", O_RDONLY);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(input, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(errors, STDERR_FILENO);
	execv(own_program(program), arguments);
	_exit(127);
}

/* The reading ends of both pipes. */
static pid_t start(char *const *arguments, int ret_ends[2], struct err *err)
{
	int output[2], errors[2];
	pid_t pid;

	if (pipe2(output, O_CLOEXEC))
		return err_set_errno(err, errno, "cannot make a pipe");
	if (pipe2(errors, O_CLOEXEC)) {
		close(output[0]);
		close(output[1]);
		return err_set_errno(err, errno, "cannot make a pipe");
	}
	pid = fork();
	if (pid == 0)
		become(arguments, output[1], errors[1]);
	close(output[1]);
	close(errors[1]);
	ret_ends[0] = output[0];
	ret_ends[1] = errors[0];
	if (pid >= 0)
		return pid;
	close(output[0]);
	close(errors[0]);
	return err_set_errno(err, errno, "cannot start kubetape");
}

/* ---- its output ---- */

/* The bytes after the last line that may stay; true when there were more than bounds allow. */
static bool cut_output(struct mcp_output *o, const struct mcp_bounds *bounds)
{
	uint64_t lines = 0;
	size_t whole = 0, at = 0;

	for (; at < o->text.len && at < bounds->bytes && lines < bounds->lines; at++) {
		if (o->text.ptr[at] != '\n')
			continue;
		whole = at + 1;
		lines++;
	}
	if (at == o->text.len)
		return false;
	o->cut = lines == bounds->lines ? "rows" : "bytes";
	if (whole == 0) /* one long line; not through the middle of a character */
		for (whole = at; whole > 0 && ((unsigned char)o->text.ptr[whole] & 0xc0) == 0x80;)
			whole--;
	o->text.len = whole;
	return true;
}

/* Bytes that came; 0 at the end. What does not fit any more is read and dropped. */
static ssize_t take(int fd, struct buf *to)
{
	char bytes[READ_BYTES];
	ssize_t got;

	do
		got = read(fd, bytes, sizeof(bytes));
	while (got < 0 && errno == EINTR);
	if (got > 0)
		(void)!buf_append(to, bytes, (size_t)got, NULL);
	return got;
}

static int wait_ms(int64_t deadline_ns)
{
	int64_t left_ns = deadline_ns - clock_mono_ns(&clock_system);

	return left_ns <= 0 ? 0 : (int)(left_ns / NS_PER_MS) + 1;
}

/* Until both pipes end, or a bound is reached. */
static void collect(const int ends[2], const struct mcp_bounds *bounds, struct mcp_output *o)
{
	int64_t deadline_ns = clock_mono_ns(&clock_system) + bounds->time_ns;
	struct pollfd polls[2] = {{ends[0], POLLIN, 0}, {ends[1], POLLIN, 0}};

	while (polls[0].fd >= 0 || polls[1].fd >= 0) {
		int ready = poll(polls, 2, wait_ms(deadline_ns));

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0) {
			o->cut = "seconds";
			return;
		}
		if (polls[0].revents && take(ends[0], &o->text) <= 0)
			polls[0].fd = -1;
		if (polls[1].revents && take(ends[1], &o->errors) <= 0)
			polls[1].fd = -1;
		if (o->text.len > bounds->bytes && cut_output(o, bounds))
			return;
	}
}

int mcp_child_run(
	char *const *arguments, const struct mcp_bounds *bounds, struct mcp_output *ret, struct err *err)
{
	int ends[2] = {-1, -1}, status = 0;
	pid_t pid = start(arguments, ends, err);

	if (pid < 0)
		return (int)pid;
	collect(ends, bounds, ret);
	if (ret->cut)
		kill(pid, SIGKILL);
	close(ends[0]);
	close(ends[1]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (!ret->cut)
		(void)cut_output(ret, bounds);
	if (WIFEXITED(status))
		ret->exit_code = WEXITSTATUS(status);
	return 0;
}
