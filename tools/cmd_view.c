/* cmd_view.c: `kubetape view`: the picture of a tape in a browser. */
#include "replayer/view/viewer.h"
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/out_file.h"
#include "tools/cli/read_file.h"
#include "tools/commands.h"
#include "tools/sweep/golden_beside.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <unistd.h>

#define PORT_MAX 65535

extern char **environ;

struct view_options {
	const char *run, *golden, *sweep;
	int64_t port;
	bool no_browser;
};

static const struct option_row rows[] = {
	{OPTION_TEXT, 0, "run", offsetof(struct view_options, run), "FILE",
		"also show what happened in this replay (--run of replay)"},
	{OPTION_TEXT, 0, "golden", offsetof(struct view_options, golden), "RUN",
		"with --run: show an earlier run beside it, and where the two differ"},
	{OPTION_TEXT, 0, "sweep", offsetof(struct view_options, sweep), "FILE",
		"also show what a sweep found (the output of 'sweep --json')"},
	{OPTION_NUMBER, 0, "port", offsetof(struct view_options, port), "N",
		"listen on this port of 127.0.0.1 (default: a free one)"},
	{OPTION_FLAG, 0, "no-browser", offsetof(struct view_options, no_browser), NULL,
		"only print the address, even on a desktop"},
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

/* On a desktop, where a browser has a screen to be on. */
static bool has_desktop(void)
{
	const char *const names[] = {"DISPLAY", "WAYLAND_DISPLAY"};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return isatty(STDOUT_FILENO);
	}
	return false;
}

/* Without xdg-open nothing happens: the address is printed. */
static void open_browser(const char *url)
{
	char *argv[] = {"xdg-open", (char *)url, NULL};
	posix_spawn_file_actions_t quiet;
	pid_t pid;

	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	(void)posix_spawnp(&pid, argv[0], &quiet, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&quiet);
}

static int on_serving(void *context, const char *url, struct err *err)
{
	const struct view_options *o = context;

	printf("%s\n", url);
	if (!o->no_browser && has_desktop())
		open_browser(url);
	return out_stream_flush(stdout, err);
}

static int read_sweep(const char *path, struct buf *to, struct err *err)
{
	struct slice gaps;
	int rc = read_file(path, to, err);

	if (rc)
		return rc;
	rc = json_get(buf_slice(to), "gaps", &gaps, NULL);
	if (rc <= 0 || gaps.ptr[0] != '[')
		return err_set(err, ERR_USAGE,
			"'%s' is not what 'sweep --json' writes: it has no list of gaps", path);
	return 0;
}

static int view_serve(struct view_options *o, struct viewer_options *options, struct err *err)
{
	const struct verdict_options verdict = {0};
	struct viewer_golden golden = {.run = o->golden, .compare = golden_beside_answer};
	struct golden_beside *b = NULL;
	int rc = 0;

	if (o->golden) {
		rc = golden_beside_open(&verdict, o->golden, &b, err);
		golden.context = b;
		options->golden = &golden;
	}
	if (rc == 0)
		rc = viewer_run(options, on_serving, o, err);
	golden_beside_close(b);
	return rc;
}

static int view(void *values, const struct operands *operands, struct err *err)
{
	struct view_options *o = values;
	struct viewer_options options = {.tape = operands->items[0], .run = o->run, .port = (int)o->port};
	struct buf sweep;
	int rc = 0;

	if (o->port > PORT_MAX)
		return err_set(
			err, ERR_USAGE, "bad port %lld: expected at most %d", (long long)o->port, PORT_MAX);
	if (o->golden && !o->run)
		return err_set(err, ERR_USAGE, "'--golden' is of '--run': two runs stand beside each other");
	buf_init(&sweep, LIMIT_DOCUMENT_BYTES);
	if (o->sweep)
		rc = read_sweep(o->sweep, &sweep, err);
	options.sweep = buf_slice(&sweep);
	if (!rc)
		rc = view_serve(o, &options, err);
	buf_release(&sweep);
	return rc;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct view_options o = {0};

	return command_run(self, argc, argv, &o, view);
}

const struct command cmd_view = {
	.name = "view",
	.operands = "TAPE",
	.expects = {"a tape", 1, 1},
	.summary = "see a tape in a browser: a timeline, the state at a time, who did what",
	.description =
		"Prints the address of a page on this machine, and on a desktop opens it; Ctrl-C ends it. The page\n"
		"shows every object as a lane with its states, restarts, recreations and Warnings, and the state and\n"
		"the changes at any time. Times in which nobody watched are hatched. '?' shows its keys. The page's\n"
		"address contains what you see, so that a link leads back to it. A tape that is being recorded is\n"
		"followed.\n"
		"\n"
		"Nobody but you can use the page: it listens on 127.0.0.1 alone, and its address has a token. It\n"
		"sends no request to any other host and cannot change the tape.",
	.options = rows,
	.exits = {[EXIT_LOSS] = ""},
	.run = run,
};
