"""Servers of the Model Context Protocol, as sources of tools. What is imported of its client is imported late: it takes
1.5 s, and who has no server never pays them.

Why so: docs/decisions.md, MCP servers.
"""

from .servers import LARGEST, PREFIX, Server, configured, named, servers
from .sessions import Away, Cut, Said, call, close, listed, listing_of

__all__ = [
    "LARGEST",
    "PREFIX",
    "Away",
    "Cut",
    "Said",
    "Server",
    "call",
    "close",
    "configured",
    "listed",
    "listing_of",
    "named",
    "servers",
]
