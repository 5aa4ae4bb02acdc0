"""Speaks with `kubetape mcp` through the protocol's own Python library, and prints what it was told as JSON.

usage: ask.py KUBETAPE TAPE CALLS    CALLS: a JSON array of [tool, arguments]
"""
import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


def told(result):
    return {"texts": [content.text for content in result.content], "about": result.structured_content, "is_error": result.is_error}


async def ask(kubetape, tape, calls):
    server = StdioServerParameters(command=kubetape, args=["mcp", tape])
    async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
        began = await session.initialize()
        tools = await session.list_tools()
        await session.send_ping()
        answers = [told(await session.call_tool(name, arguments)) for name, arguments in calls]
        return {"revision": str(began.protocol_version), "server": began.server_info.name, "instructions": began.instructions,
                "tools": [tool.name for tool in tools.tools], "answers": answers}


print(json.dumps(asyncio.run(ask(sys.argv[1], sys.argv[2], json.loads(sys.argv[3])))))
