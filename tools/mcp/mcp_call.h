/* mcp_call.h: tools/call: from a call to a command, and from its output to the result. */
#ifndef TOOLS_MCP_CALL_H
#define TOOLS_MCP_CALL_H

#include "tools/mcp/mcp.h"

#include <cjson/cJSON.h>

/* Appends the result. ERR_USAGE: the call makes no sense, which is an error of the protocol; a command that fails is a
 * result that says so. */
int mcp_call(const struct mcp *m, const cJSON *params, struct buf *to, struct err *err) MUST_CHECK;

#endif
