"""Whether a tool of a server is still what was classed and decided about: asked before anybody is asked, and again
before anything is done.

Why so: docs/decisions.md, MCP servers.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

from . import live, mcp
from .models import McpTool
from .tools import Refused, Tool, found

if TYPE_CHECKING:
    from .context import RunContext

CHANGED = "{name} is described otherwise than a moment ago. Ask for it again."


async def described_otherwise(run: "RunContext", tool: Tool[Any]) -> str:
    """Why it may not be used as it is now; empty where it may, or where its server cannot be asked, which is said when
    it is to be used."""
    if not tool.server:
        return ""
    try:
        listing = await mcp.listed(mcp.servers()[tool.server])
    except mcp.Away:
        return ""
    if not await run.read(partial(McpTool.objects.differs_from, tool.server, listing)):
        return ""
    for pk in await run.write(partial(McpTool.objects.see, tool.server, listing)):
        live.announce(pk)
    await live.wake_engines()
    return await run.read(partial(_why_not, tool))


def _why_not(tool: Tool[Any]) -> str:
    try:
        now = found(tool.name)
    except Refused as refused:
        return str(refused)
    return "" if now.definition == tool.definition else CHANGED.format(name=tool.name)
