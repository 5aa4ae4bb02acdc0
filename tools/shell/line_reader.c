/* line_reader.c: see line_reader.h. Behind it is libedit, whose calls are those of readline. */
#include "tools/shell/line_reader.h"

#include "schema/base/buf.h"

#include <editline/readline.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define HISTORY_LINES 1000

struct line_reader {
	char *history_path, *last;
	line_complete_fn *complete;
	void *context;
};

/* libedit's callbacks know no context. */
static struct line_reader *current;

/* ---- completion ---- */

struct words {
	char **items;
	size_t count, given;
};

static void take_word(const char *word, void *list)
{
	struct words *w = list;

	w->items = xrealloc(w->items, (w->count + 1) * sizeof(*w->items));
	w->items[w->count++] = xstrdup(word);
}

/* Called with state 0, 1, ... until it gives NULL; libedit frees what it got. */
static char *next_word(const char *start, int state)
{
	static struct words words;

	if (state == 0) {
		char *before = slice_dup((struct slice){rl_line_buffer, (size_t)rl_point - strlen(start)});

		words = (struct words){0};
		current->complete(current->context, before, start, take_word, &words);
		free(before);
	}
	if (words.given < words.count)
		return words.items[words.given++];
	free(words.items);
	words = (struct words){0};
	return NULL;
}

/* Without this the names of files would be offered where we know nothing. */
static char **complete_word(const char *start, int from, int to)
{
	(void)from, (void)to;
	rl_attempted_completion_over = 1;
	return rl_completion_matches(start, next_word);
}

/* ---- lines ---- */

static volatile sig_atomic_t interrupted;

/* Between two reads nothing ends by the signal, and libedit would wait for a key: alarms follow until it
 * reads. */
static void on_interrupt(int number)
{
	interrupted |= number == SIGINT;
	alarm(1);
}

struct line_reader *line_reader_open(const char *history_path, line_complete_fn *complete, void *context)
{
	static char breaks[] = " \t\n\"'`(),;=<>+-*/|";
	struct line_reader *r = xcalloc(1, sizeof(*r));

	r->history_path = history_path ? xstrdup(history_path) : NULL;
	r->complete = complete;
	r->context = context;
	current = r;
	rl_readline_name = "kubetape";
	rl_catch_signals =
		0; /* ours is enough: libedit would put the terminal right and raise the signal again */
	rl_initialize();
	rl_attempted_completion_function = complete_word;
	rl_basic_word_break_characters = breaks;
	rl_completer_word_break_characters = breaks;
	rl_completion_append_character = ' ';
	using_history();
	stifle_history(HISTORY_LINES);
	if (r->history_path)
		read_history(r->history_path);
	return r;
}

void line_reader_close(struct line_reader *r)
{
	if (!r)
		return;
	if (r->history_path && write_history(r->history_path) == 0)
		(void)chmod(r->history_path, 0600);
	current = NULL;
	free(r->history_path);
	free(r->last);
	free(r);
}

enum line_result line_reader_next(struct line_reader *r, const char *prompt, char **ret_line)
{
	struct sigaction action = {.sa_handler = on_interrupt}; /* without SA_RESTART: reading ends */
	struct sigaction before, alarm_before;
	char *line;

	(void)r;
	interrupted = 0;
	sigaction(SIGALRM, &action, &alarm_before);
	sigaction(SIGINT, &action, &before);
	rl_prep_terminal(1); /* before the prompt: libedit loses a Ctrl-D that comes between the two */
	line = readline(prompt);
	sigaction(SIGINT, &before, NULL);
	alarm(0);
	sigaction(SIGALRM, &alarm_before, NULL);
	if (interrupted) {
		free(line);
		fputs("^C\n", stdout);
		return LINE_INTERRUPTED;
	}
	if (!line)
		return LINE_END;
	*ret_line = line;
	return LINE_READ;
}

void line_reader_remember(struct line_reader *r, const char *text)
{
	if (!*text || (r->last && strcmp(r->last, text) == 0))
		return;
	add_history(text);
	free(r->last);
	r->last = xstrdup(text);
}

/* ---- where the history is ---- */

/* Makes the folders that lead to the file. */
static void make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		(void)mkdir(path, 0700);
		*slash = '/';
	}
}

char *line_reader_history_path(const char *name)
{
	const char *given = getenv("KUBETAPE_HISTORY"), *state = getenv("XDG_STATE_HOME"),
		   *home = getenv("HOME");
	char *path;

	if (given)
		return *given ? xstrdup(given) : NULL;
	if (state && *state == '/')
		path = xasprintf("%s/kubetape/%s", state, name);
	else if (home && *home == '/')
		path = xasprintf("%s/.local/state/kubetape/%s", home, name);
	else
		return NULL;
	make_folders(path);
	return path;
}
