/*
 * line_reader.h: lines from a person at a terminal, with editing, completion and a history that is kept in a
 * file. One reader for each program: the library has only one state.
 */
#ifndef TOOLS_LINE_READER_H
#define TOOLS_LINE_READER_H

#include <stddef.h>

struct line_reader;

/* Completes the word that begins with `start`. `before`: the line up to that word. Calls take for each. */
typedef void line_complete_fn(void *context, const char *before, const char *start,
	void (*take)(const char *word, void *list), void *list);

/* history_path: NULL for none. Both strings are copied; `context` is borrowed. */
struct line_reader *line_reader_open(const char *history_path, line_complete_fn *complete, void *context);
void line_reader_close(struct line_reader *r); /* writes the history */

enum line_result { LINE_READ, LINE_END, LINE_INTERRUPTED };

/* The next line without its line feed, for the caller to free; only with LINE_READ. LINE_INTERRUPTED: Ctrl-C,
 * the line is gone. */
enum line_result line_reader_next(struct line_reader *r, const char *prompt, char **ret_line);

/* To be found again with the arrow keys; the same as the last one is not kept twice. */
void line_reader_remember(struct line_reader *r, const char *text);

/* The path of a command's history: $KUBETAPE_HISTORY, or NAME in the user's folder for state, whose folders
 * are made. NULL if there is no home, or when the variable is empty: no history. The caller frees.
 */
char *line_reader_history_path(const char *name);

#endif
