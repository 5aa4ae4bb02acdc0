/*
 * main.c: the list of commands. To add one: write tools/cmd_NAME.c with its option table and a
 * `const struct command cmd_NAME`, declare it in commands.h and put it into the table below; help, man pages
 * and completions follow from the table.
 */
#include "schema/base/version.h"
#include "tools/commands.h"

#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = {
	&cmd_record,
	&cmd_query,
	&cmd_info,
	NULL,
};

static void print_usage(FILE *to)
{
	fprintf(to, "usage: kubetape COMMAND [ARGUMENT]...\n\n"
		    "records the Kubernetes watch API, replays it as an API server, and answers SQL over "
		    "it.\n\n");
	for (const struct command *const *c = commands; *c; c++)
		fprintf(to, "  %-12s %s\n", (*c)->name, (*c)->summary);
	fprintf(to, "\n'kubetape COMMAND --help' tells more, 'kubetape --version' the version\n");
}

static const struct command *find(const char *name)
{
	for (const struct command *const *c = commands; *c; c++) {
		if (strcmp((*c)->name, name) == 0)
			return *c;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
		print_usage(stdout);
		return EXIT_OK;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
		printf("kubetape %s\n", KUBETAPE_VERSION);
		return EXIT_OK;
	}
	command = find(argv[1]);
	if (!command) {
		fprintf(stderr, "kubetape: unknown command '%s'; see 'kubetape --help'\n", argv[1]);
		return EXIT_USAGE;
	}
	return command->run(command, argc - 1, argv + 1);
}
