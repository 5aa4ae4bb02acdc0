/* mcp_call.h: tools/call: from a call to a command, and from its output to the result. */
#ifndef TOOLS_MCP_CALL_H
#define TOOLS_MCP_CALL_H

#include "tools/mcp/mcp.h"

#include <cjson/cJSON.h>

/* Appends the result. ERR_USAGE if there is no such tool, or no object of arguments, which is an error of the
 * protocol. Arguments that make no sense, and a command that fails, are a result that says so: the model
 * reads it (revision 2025-11-25, "Error Handling"). */
int mcp_call(const struct mcp *m, const cJSON *params, struct buf *to, struct err *err) MUST_CHECK;

#endif
