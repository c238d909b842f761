"""Servers of the Model Context Protocol, as sources of tools. What is imported of its client is imported late: it takes
1.5 s, and who has no server never pays them.

Why so: docs/decisions.md, MCP servers.
"""

from .config import MAX_MESSAGE_BYTES, PREFIX, McpServer, find_server, servers, tool_name
from .sessions import CallInterrupted, McpServerError, ServerUnavailable, call, close, fetch_tool_list, tool_list

__all__ = [
    "MAX_MESSAGE_BYTES",
    "PREFIX",
    "CallInterrupted",
    "McpServer",
    "McpServerError",
    "ServerUnavailable",
    "call",
    "close",
    "fetch_tool_list",
    "find_server",
    "servers",
    "tool_list",
    "tool_name",
]
