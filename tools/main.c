/*
 * main.c: the list of commands. To add one: write tools/cmd_NAME.c with its option table and a
 * `const struct command cmd_NAME`, declare it in commands.h and put it into the table below; help, man pages
 * and completions follow from the table. README.md gets its row, on which a test insists. If it reads tapes, it
 * stands in rarer_readers() of tests/cli/bounded.py, too: those are run on tapes that were changed at random.
 */
#include "recorder/push/remote_tape.h"
#include "replayer/pod.h"
#include "schema/base/out_file.h"
#include "schema/base/similar.h"
#include "tools/cli/complete.h"
#include "tools/cli/version.h"
#include "tools/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct command *const commands[] = {
	&cmd_record,
	&cmd_replay,
	&cmd_tee,
	&cmd_ctl,
	&cmd_query,
	&cmd_view,
	&cmd_mcp,
	&cmd_info,
	&cmd_gaps,
	&cmd_sweep,
	&cmd_shrink,
	&cmd_staleness,
	&cmd_verify,
	&cmd_events,
	&cmd_get,
	&cmd_log,
	&cmd_why,
	&cmd_report,
	&cmd_audit,
	&cmd_diff_state,
	&cmd_diff,
	&cmd_export,
	&cmd_import,
	&cmd_recover,
	&cmd_repack,
	&cmd_pin,
	&cmd_cut,
	&cmd_merge,
	&cmd_push,
	&cmd_anonymize,
	&cmd_help,
	NULL,
};

void commands_print(FILE *to)
{
	fprintf(to, "usage: kubetape COMMAND [ARGUMENT]...\n\n"
		    "records the Kubernetes watch API, replays it as an API server, and answers SQL over "
		    "it.\n\n");
	for (const struct command *const *c = commands; *c; c++)
		fprintf(to, "  %-12s %s\n", (*c)->name, (*c)->summary);
	fprintf(to, "\n"
		    "'kubetape COMMAND --help' shows more, 'kubetape --version' the version\n");
}

const struct command *command_find(const char *name)
{
	for (const struct command *const *c = commands; *c; c++) {
		if (strcmp((*c)->name, name) == 0)
			return *c;
	}
	return NULL;
}

/*
 * kubectl asks a program kubectl_complete-NAME what may follow `kubectl NAME`; under that name we do nothing
 * else. The completion scripts of the shells say it with a first word that is no command. Returns where in
 * argv the words to complete begin, 0 when it is something else that is wanted.
 */
static int find_words_to_complete(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	bool is_plugin = strcmp(slash ? slash + 1 : argv[0], "kubectl_complete-tape") == 0;

	if (is_plugin)
		return argc > 1 ? 1 : 0;
	return argc > 2 && strcmp(argv[1], "__complete") == 0 ? 2 : 0;
}

/*
 * A descriptor that is closed at the start is taken by one that refuses what the closed one would have: files
 * that we open must not become somebody's output, and libraries count on 0 to 2 being there.
 */
static void occupy_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
	}
}

int command_refuse(const char *word, struct err *err)
{
	struct similar similar = similar_to(slice_of(word));

	for (const struct command *const *c = commands; *c; c++)
		similar_offer(&similar, (*c)->name, NULL);
	if (similar.meant && *word != '-')
		return err_set(
			err, ERR_USAGE, "unknown command '%s'; did you mean '%s'?", word, similar.meant);
	if (*word == '-')
		return err_set(err, ERR_USAGE,
			"no command is named that takes the option '%s' and what stands with it; see 'kubetape --help'",
			word);
	return err_set(err, ERR_USAGE, "unknown command '%s'; see 'kubetape --help'", word);
}

/*
 * Options may stand before the command, as kubectl takes them: the command is the first word of that name
 * before which there is nothing but options of its own with their values. It is moved to the front.
 */
static const struct command *find_command(int argc, char **argv, struct err *err)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const struct command *command = command_find(argv[i]);
		char *name = argv[i];

		if (!command || !options_precede(command, i - 1, argv + 1))
			continue;
		memmove(argv + 2, argv + 1, (size_t)(i - 1) * sizeof(*argv));
		argv[1] = name;
		return command;
	}
	(void)!command_refuse(argv[1], err);
	return NULL;
}

/* This process becomes the command of a replay. If it cannot, it tells that replay why, and returns. */
static int become_in_pod(char **words)
{
	struct err err;

	fcntl(POD_ERROR_FD, F_SETFD, FD_CLOEXEC);
	if (pod_become(words, &err))
		(void)!write(POD_ERROR_FD, err.text, strlen(err.text));
	return EXIT_FAILED;
}

static int main_run(int argc, char **argv)
{
	const struct command *command;
	struct err err;
	int words = argc > 0 ? find_words_to_complete(argc, argv) : 0;

	if (words) {
		complete(commands, argv + words, (size_t)(argc - words), stdout);
		return EXIT_OK;
	}
	if (argc < 2) {
		commands_print(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		commands_print(stdout);
		return EXIT_OK;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
		version_print(stdout);
		return EXIT_OK;
	}
	if (argc > 3 && strcmp(argv[1], POD_WORD) == 0)
		return become_in_pod(argv + 2);
	command = find_command(argc, argv, &err);
	if (!command) {
		say_error("", &err);
		return EXIT_USAGE;
	}
	return command->run(command, argc - 1, argv + 1);
}

/* Whatever a command says, it has failed when its words did not arrive. */
int main(int argc, char **argv)
{
	struct err err;
	int rc;

	occupy_descriptors();
	remote_tape_init();
	signal(SIGPIPE, SIG_DFL); /* `| head` ends us in silence, whoever started us */
	rc = main_run(argc, argv);
	if (rc == EXIT_OK && remote_tape_lacks())
		rc = EXIT_LOSS;
	if (out_stream_flush(stdout, &err) == 0 || (rc != EXIT_OK && rc != EXIT_LOSS))
		return rc;
	say_error(argc > 1 ? argv[1] : "", &err);
	return EXIT_FAILED;
}
