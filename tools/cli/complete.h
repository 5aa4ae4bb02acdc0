/*
 * complete.h: candidates for a place of a command line, from the tables that parse it. The completion scripts
 * of the shells (tools/completion/) and kubectl's plug-in completion ask for it by running the program.
 */
#ifndef TOOLS_COMPLETE_H
#define TOOLS_COMPLETE_H

#include "tools/cli/options.h"

#include <stdio.h>

/* Directives for the shell, beside the candidates; the numbers are those that kubectl reads. */
enum complete_directive {
	COMPLETE_NO_SPACE = 2, /* the completed word continues: a directory */
	COMPLETE_NO_FILES = 4, /* nothing but the candidates: the shell offers no files of its own */
};

/*
 * Writes one candidate a line, a tab and its explanation after it where there is one, and at last
 * ":DIRECTIVE", a sum of the above. `words` is the command line without the program's name, the last word the
 * one to complete, perhaps empty; count >= 1. `commands` ends with NULL. Candidates are as on the command
 * line, but not quoted.
 */
void complete(const struct command *const *commands, char *const *words, size_t count, FILE *to);

#endif
