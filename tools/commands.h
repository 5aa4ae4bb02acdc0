/* commands.h: every subcommand; each is defined in the cmd_*.c of its name. */
#ifndef TOOLS_COMMANDS_H
#define TOOLS_COMMANDS_H

#include "tools/options.h"

extern const struct command cmd_diff_state, cmd_export, cmd_get, cmd_help, cmd_import, cmd_info, cmd_log,
	cmd_query, cmd_record, cmd_replay;

/* The rows of main.c, ended by NULL, and what `kubetape --help` prints. */
extern const struct command *const commands[];
const struct command *command_find(const char *name); /* NULL when there is none */
void commands_print(FILE *to);

#endif
