/* shell_internal.h: the shell's own state, shared by shell.c (lines and statements), shell_commands.c (what
 * begins with a dot) and shell_words.c (completion). */
#ifndef TOOLS_SHELL_INTERNAL_H
#define TOOLS_SHELL_INTERNAL_H

#include "tools/shell/line_reader.h"
#include "tools/shell/shell.h"

struct shell {
	struct sql_session *session;
	struct query_run_options options;
	struct buf sql; /* of a statement that is not whole yet */
	struct shell_words *words;
	bool is_timed, is_over;
	unsigned depth; /* of .read in .read */
};

int shell_read_file(struct shell *s, const char *path, struct err *err) MUST_CHECK;

/* Runs a command; `line` begins with its dot. ERR_USAGE for one that does not exist. */
int shell_command(struct shell *s, const char *line, struct err *err) MUST_CHECK;

/* The name of command i with its dot, NULL past the end. */
const char *shell_command_name(size_t i);

/* Candidates for completion: names of tables, columns, functions, commands and words of SQL. */
struct shell_words *shell_words_new(struct sql_session *session);
void shell_words_free(struct shell_words *w);
line_complete_fn shell_words_complete; /* context: struct shell_words */

#endif
