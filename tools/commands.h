/* commands.h: every subcommand; each is defined in the cmd_*.c of its name. */
#ifndef TOOLS_COMMANDS_H
#define TOOLS_COMMANDS_H

#include "tools/options.h"

extern const struct command cmd_info, cmd_query, cmd_record;

#endif
