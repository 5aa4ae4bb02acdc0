/*
 * options.h: commands and options as data. One table a command: it parses the command line, prints --help,
 * and is what the man pages and the shell completions are made from.
 */
#ifndef TOOLS_OPTIONS_H
#define TOOLS_OPTIONS_H

#include "schema/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit codes of every command. */
enum exit_code {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_LOSS = 3, /* done, but something is missing: gaps, a lost tail, lateness over the limit */
	EXIT_CODE_COUNT,
};

/* The kind of an option's value, and the type of the field that stores it. */
enum option_kind {
	OPTION_FLAG,     /* bool */
	OPTION_TEXT,     /* const char * */
	OPTION_LIST,     /* struct text_list; may be given several times */
	OPTION_NUMBER,   /* int64_t, not negative */
	OPTION_BYTES,    /* int64_t: see bytes_parse; its words are "SIZE" */
	OPTION_DURATION, /* int64_t nanoseconds, see duration_parse */
	OPTION_CHOICE,   /* const char *, one of the words in `words` separated by | */
	OPTION_END,
};

struct text_list {
	const char **items;
	size_t count;
};
/* The text is borrowed; the caller frees `items`. */
void text_list_add(struct text_list *list, const char *value);
bool text_list_has(const struct text_list *list, const char *value);

/* Of a list that owns its texts: adds a copy unless the text is there, and returns whether it is new; frees all. */
bool text_list_keep(struct text_list *list, const char *value);
void text_list_release(struct text_list *list);

struct option_row {
	enum option_kind kind;
	char letter;      /* 0: long form only */
	const char *name; /* without dashes */
	size_t offset;    /* of the field in the command's struct of values */
	/* The value's name in help ("FILE"), or the choices ("table|json"). Alternatives without capitals are
	 * words to type; TAPE and X.tape, FILE and DIR are completed as such (complete.h). */
	const char *words;
	const char *help; /* one line, lower case, no full stop */
};

/* Operands that a command takes: options_parse refuses more or fewer. */
struct operand_count {
	const char *words; /* "a tape and an object" */
	size_t least, most;
};

struct command {
	const char *name;
	const char *
		operands; /* "TAPE [SQL]", "[RESOURCE]..."; words as in option_row; "" for none, never NULL */
	struct operand_count expects;
	bool runs_child;     /* a command line may stand after `--` */
	bool takes_urls;     /* operands s3://... are places: of other commands they are tapes to read */
	bool writes_beside;  /* the first operand is a tape that gets company: it has to be on this machine */
	const char *summary; /* one line for the list of commands, lower case, no full stop */
	const char *description; /* a paragraph or two for --help, lines of at most 90 columns */
	/* For the manual page: the meaning of each exit code for this command, one line each. NULL: the usual
	 * meaning; "": never returned. */
	const char *exits[EXIT_CODE_COUNT];
	const struct option_row *options;
	int (*run)(const struct command *self, int argc, char **argv); /* argv[0] is the command's name */
};

#define OPERANDS_GIVEN 2

/* The rest of a command line: operands, and the words after a lone `--`. */
struct operands {
	char **items;
	/* The first ones as the user wrote them: messages name a tape in a store so, whose item is a folder. */
	char *given[OPERANDS_GIVEN];
	size_t count;
	char **child; /* terminated by NULL, or NULL if there was no `--` */
};

/*
 * Fills the struct at `values` (whose fields hold the defaults) from argv, and counts the operands. Returns
 * 0, 1 if --help was printed and the command is done, or ERR_USAGE. Lists and operands live until the
 * process ends.
 */
int options_parse(const struct command *c, int argc, char **argv, void *values, struct operands *ret,
	struct err *err) MUST_CHECK;

/* Whether the words are options of the command, with all their values, and nothing else. */
bool options_precede(const struct command *c, int count, char *const *words);

/* The help about SIZE, in lines; whether the command has an option that takes one. */
extern const char options_size_text[];
bool options_take_sizes(const struct command *c);

/* Prints what --help prints: usage, description and a line or more for each option, 100 columns wide. */
void options_print_help(const struct command *c, FILE *to);

/* The main function of most commands: parses the command line into `values`, which hold the defaults, and
 * calls `work`, which returns an exit code, or an ERR_* with its sentence. Prints the sentence and returns
 * the exit code. */
int command_run(const struct command *c, int argc, char **argv, void *values,
	int (*work)(void *values, const struct operands *operands, struct err *err));

/* Prints "kubetape NAME: sentence" to stderr, on one line whatever is in it. */
void say_error(const char *command, const struct err *err);

/* The same, and returns the exit code that belongs to the error. */
int command_fail(const struct command *c, const struct err *err);

#endif
