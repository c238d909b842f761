"""Model Context Protocol servers as sources of tools. The client library is imported late: that takes 1.5 s, which
installations without servers need not spend.

Why so: engine/DESIGN.md, MCP servers.
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
