/*
 * mcp_child.h: one more process of this program, whose output has bounds. Its output is cut at a whole line,
 * and it is ended if it takes too long.
 */
#ifndef TOOLS_MCP_CHILD_H
#define TOOLS_MCP_CHILD_H

#include "schema/base/buf.h"

struct mcp_bounds {
	uint64_t lines, bytes;
	int64_t time_ns;
};

struct mcp_output {
	struct buf text, errors; /* stdout and stderr */
	const char *cut;         /* NULL, or the bound that was reached: "rows", "bytes", "seconds" */
	int exit_code;           /* -1: it was ended, because of `cut` or by a signal */
};

void mcp_output_init(struct mcp_output *o, const struct mcp_bounds *bounds);
void mcp_output_release(struct mcp_output *o);

/* arguments: argv from "kubetape" on, ended by NULL. Its stdin is empty. */
int mcp_child_run(char *const *arguments, const struct mcp_bounds *bounds, struct mcp_output *ret,
	struct err *err) MUST_CHECK;

#endif
