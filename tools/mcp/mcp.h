/*
 * mcp.h: the Model Context Protocol over stdin and stdout: JSON-RPC 2.0, one message a line. A client (a language
 * model's program) lists the tools and calls them; each call is one command of this program on one of the tapes
 * (mcp_tools.h), in a process of its own with bounds (mcp_child.h). One call at a time; nothing is written.
 *
 * An answer has two texts: the command's output, and a JSON object with its basis: the tape, the positions,
 * the command's remarks, whether it was cut.
 */
#ifndef TOOLS_MCP_H
#define TOOLS_MCP_H

#include "tools/mcp/mcp_child.h"

#include <stddef.h>

struct mcp {
	char *const *tapes; /* their names, as the caller wrote them */
	size_t tape_count;
	struct mcp_bounds bounds;
};

/* Until stdin ends. ERR_IO if stdin or stdout fails. */
int mcp_serve(const struct mcp *m, struct err *err) MUST_CHECK;

/* Appends the answer to one message, a line without its line feed; nothing for a notification. */
int mcp_answer(const struct mcp *m, struct slice message, struct buf *to, struct err *err) MUST_CHECK;

#endif
