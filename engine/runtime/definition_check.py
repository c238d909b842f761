"""Whether a tool of a server is still what was classed and decided about: looked at before anybody is asked, and
whenever somebody wants to know.

Why so: engine/DESIGN.md, MCP servers.
"""

from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from asgiref.sync import async_to_sync
from django.db import transaction

from .. import mcp, pubsub
from ..models import McpTool, after_deadlock
from ..models.mcp_tools import ToolListing
from ..tools import Tool, ToolRefused, find_tool

if TYPE_CHECKING:
    from .run_context import RunContext

DEFINITION_CHANGED_TEXT = "{name} is described otherwise than a moment ago. Ask for it again."


async def definition_changed(run: "RunContext", tool: Tool[Any]) -> str:
    """Why it may not be used as it is now; empty where it may, or where its server cannot be asked, which is said when
    it is to be used."""
    if tool.off or not tool.server:
        return tool.off
    try:
        listing = await mcp.tool_list(mcp.servers()[tool.server])
    except mcp.ServerUnavailable:
        return ""
    if not await run.read(partial(McpTool.objects.differs_from, tool.server, listing)):
        return ""
    for pk in await run.write(partial(McpTool.objects.record_listing, tool.server, listing)):
        pubsub.announce(pk)
    await pubsub.wake_workers()
    return await run.read(partial(_why_not, tool))


def _why_not(tool: Tool[Any]) -> str:
    try:
        now = find_tool(tool.name)
    except ToolRefused as refused:
        return str(refused)
    if now.off:
        return now.off
    return "" if now.definition == tool.definition else DEFINITION_CHANGED_TEXT.format(name=tool.name)


def refresh_listing(server: mcp.McpServer) -> ToolListing:
    """What it offers now, which is kept. For commands and pages. mcp.Away."""
    listing = async_to_sync(mcp.fetch_tool_list)(server)
    if McpTool.objects.differs_from(server.name, listing):
        async_to_sync(_tell)(_see(server.name, listing))
    return listing


def disable_tool(tool: McpTool) -> None:
    """No model sees it any more, and nobody is asked about it."""
    async_to_sync(_tell)(_off(tool))


@after_deadlock
@transaction.atomic
def _see(server: str, listing: ToolListing) -> list[UUID]:
    return McpTool.objects.record_listing(server, listing)


@after_deadlock
@transaction.atomic
def _off(tool: McpTool) -> list[UUID]:
    return tool.disable()


async def _tell(runs: list[UUID]) -> None:
    for pk in runs:
        await pubsub.publish_revision(pk)
    if runs:
        await pubsub.wake_workers()
