/* commands.h: every subcommand; each is defined in the cmd_*.c of its name. */
#ifndef TOOLS_COMMANDS_H
#define TOOLS_COMMANDS_H

#include "tools/options.h"

#endif
