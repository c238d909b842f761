"""Whether a tool of a server is still what was classed and decided about: looked at before anybody is asked, and
whenever somebody wants to know.

Why so: docs/decisions.md, MCP servers.
"""

from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from asgiref.sync import async_to_sync
from django.db import transaction

from . import live, mcp
from .models import McpTool, after_deadlock
from .models.mcp import Listing
from .tools import Refused, Tool, found

if TYPE_CHECKING:
    from .context import RunContext

CHANGED = "{name} is described otherwise than a moment ago. Ask for it again."


async def described_otherwise(run: "RunContext", tool: Tool[Any]) -> str:
    """Why it may not be used as it is now; empty where it may, or where its server cannot be asked, which is said when
    it is to be used."""
    if tool.off or not tool.server:
        return tool.off
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
    if now.off:
        return now.off
    return "" if now.definition == tool.definition else CHANGED.format(name=tool.name)


def look_at(server: mcp.Server) -> Listing:
    """What it offers now, which is kept. For commands and pages. mcp.Away."""
    listing = async_to_sync(mcp.listing_of)(server)
    if McpTool.objects.differs_from(server.name, listing):
        async_to_sync(_tell)(_see(server.name, listing))
    return listing


def switch_off(tool: McpTool) -> None:
    """No model sees it any more, and nobody is asked about it."""
    async_to_sync(_tell)(_off(tool))


@after_deadlock
@transaction.atomic
def _see(server: str, listing: Listing) -> list[UUID]:
    return McpTool.objects.see(server, listing)


@after_deadlock
@transaction.atomic
def _off(tool: McpTool) -> list[UUID]:
    return tool.switch_off()


async def _tell(runs: list[UUID]) -> None:
    for pk in runs:
        await live.tell_watchers(pk)
    if runs:
        await live.wake_engines()
