/* cmd_help.c: `kubetape help`: what --help prints, and the sources that the manual pages are made of. */
#include "schema/base/out_file.h"
#include "tools/cli/manpage.h"
#include "tools/commands.h"

#include <string.h>

struct help_options {
	const char *format;
};

static const struct option_row rows[] = {
	{OPTION_CHOICE, 0, "format", offsetof(struct help_options, format), "text|man|names",
		"text to read, the source of a manual page, or the bare names of the commands"},
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

static void print_names(FILE *to)
{
	for (const struct command *const *c = commands; *c; c++)
		fprintf(to, "%s\n", (*c)->name);
}

static int help(void *values, const struct operands *operands, struct err *err)
{
	const struct help_options *o = values;
	const struct command *about = operands->count ? command_find(operands->items[0]) : NULL;
	bool is_man = strcmp(o->format, "man") == 0;

	if (operands->count && !about)
		return command_refuse(operands->items[0], err);
	if (strcmp(o->format, "names") == 0)
		print_names(stdout);
	else if (about)
		(is_man ? manpage_write_command : options_print_help)(about, stdout);
	else if (is_man)
		manpage_write_overview(commands, stdout);
	else
		commands_print(stdout);
	return out_stream_flush(stdout, err);
}

static int help_run(const struct command *self, int argc, char **argv)
{
	struct help_options o = {.format = "text"};

	return command_run(self, argc, argv, &o, help);
}

const struct command cmd_help = {
	.name = "help",
	.operands = "[COMMAND]",
	.expects = {"at most one command", 0, 1},
	.summary = "show how a command is used",
	.description = "Prints the options of a command, or the list of commands.",
	.options = rows,
	.run = help_run,
};
