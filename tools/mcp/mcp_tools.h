/*
 * mcp_tools.h: the tools that a client of `kubetape mcp` has: commands of this program that only read, each with the
 * arguments that a call may give, as data. From a row come the schema that clients see and the command line.
 */
#ifndef TOOLS_MCP_TOOLS_H
#define TOOLS_MCP_TOOLS_H

#include "schema/base/buf.h"

#include <cjson/cJSON.h>

#define MCP_ARGUMENTS_MAX 24 /* words of a command line */

enum mcp_argument_kind {
	MCP_TEXT,    /* --NAME=TEXT */
	MCP_CHOICE,  /* the same, one of `words` */
	MCP_FLAG,    /* --NAME */
	MCP_OPERAND, /* a word after the tape */
	MCP_SQL,     /* the same, which may begin with a comment */
	MCP_END,
};

struct mcp_argument {
	enum mcp_argument_kind kind;
	const char *name;   /* in calls: "all_fields" */
	const char *option; /* "all-fields" */
	const char *words;  /* of MCP_CHOICE: "line|wide" */
	bool is_required, is_position;
	const char *help;
};

struct mcp_tool {
	const char *name, *command;
	const char *fixed[3]; /* options that are always given */
	const char *help;
	const struct mcp_argument *arguments;
};

/* NULL if this program has no such tool. */
const struct mcp_tool *mcp_tool_find(const char *name);

/* Appends the array of tools that tools/list answers. tapes: the names from which a call chooses one. */
int mcp_tools_print(char *const *tapes, size_t tape_count, struct buf *to, struct err *err) MUST_CHECK;

/* A position may be the number of an event: appends its digits. False if it is not such a number. */
#define MCP_NUMBER_BYTES 32
bool mcp_number_text(const cJSON *value, char to[MCP_NUMBER_BYTES]);

/* The command line of a call. */
struct mcp_line {
	char *words[MCP_ARGUMENTS_MAX + 1]; /* ended by NULL */
	size_t count;
};

/* ERR_USAGE says which argument is wrong. arguments: an object, or NULL. */
int mcp_line_make(const struct mcp_tool *tool, const char *tape, const cJSON *arguments, struct mcp_line *ret,
	struct err *err) MUST_CHECK;
void mcp_line_release(struct mcp_line *l);

#endif
