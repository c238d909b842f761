"""Tools that each role of an inquiry has now."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.conf import settings
from pydantic import BaseModel

from engine import mcp
from engine.models import Effect
from engine.tools import Tool, available_tools, own_tools, resolve_tool_names

from ..prompts.moves import ResearchTool
from ..rules.events import InquiryStage
from .inquiries import Inquiry
from .queries import assignment_number, must_submit

SOURCE_TOOLS = ("sources.search", "sources.read")
CALCULATOR_TOOLS = ("figures.calculate", "figures.convert", "figures.today")
TABLE_TOOLS = ("tables.read", "tables.ask")
SEARCH, PAGE = "web.search", "web.read"


def tool_names(inquiry: Inquiry, station: InquiryStage) -> list[str]:
    """Return the names of the tools of a role."""
    return [one.name for one in _found(inquiry, station)]


def _named(inquiry: Inquiry, station: InquiryStage) -> list[str]:
    found = list(SOURCE_TOOLS) if station is not InquiryStage.EXPERT else []
    found += TABLE_TOOLS if _has_tables(inquiry) else ()
    if station is not InquiryStage.EXPERT and inquiry.web:
        found += (*([searched] if (searched := search_tool()) else []), *([PAGE] if pages_left(inquiry) else []))
    found += _of_servers() if station is not InquiryStage.EXPERT else ()
    return [*dict.fromkeys(found), *CALCULATOR_TOOLS]


def _of_servers() -> list[str]:
    """Return the MCP tools in MAGI_INQUIRY_TOOLS; other names in the setting are ignored."""
    return resolve_tool_names([one for one in settings.INQUIRY_TOOLS if one.startswith(f"{mcp.PREFIX}.")])


def search_tool() -> str:
    """Return the name of the search tool; empty if no search is set up."""
    return settings.SEARCH.get("tool", SEARCH) if settings.SEARCH else ""


def pages_left(inquiry: Inquiry) -> int:
    read = sum(one.tool == PAGE and one.settled is not None for one in inquiry.moves.all())
    return max(inquiry.run_limits.pages - read, 0)


def _has_tables(inquiry: Inquiry) -> bool:
    return any(one.is_csv for one in inquiry.sources.all())


def hands_in(inquiry: Inquiry, station: InquiryStage) -> bool:
    """Tell whether the role must submit its work now and may use no tool."""
    return must_submit(inquiry, assignment_number(inquiry, station), station)


def usable_tools(inquiry: Inquiry, station: InquiryStage) -> list[ResearchTool]:
    """Return the tools for the prompt, even if the role must submit now: then requests begin with the same text, which
    providers cache."""
    return [ResearchTool(one.name, one.description, one.schema, bool(one.server)) for one in _found(inquiry, station)]


def _found(inquiry: Inquiry, station: InquiryStage) -> Iterator[Tool[Any]]:
    """Yield the usable tools: only those that read. MCP tools that return untrusted text are only for inquiries that
    may use the web."""
    names = _named(inquiry, station)
    known = own_tools() if set(names) <= set(own_tools()) else available_tools()
    for tool in (known[name] for name in names if name in known):
        if not tool.off and tool.effect == Effect.READS and (inquiry.web or not (tool.server and tool.outside)):
            yield tool


def arguments_by_tool(usable: Iterable[ResearchTool]) -> dict[str, type[BaseModel]]:
    usable = list(usable)
    known = available_tools() if any(one.strange for one in usable) else own_tools()
    return {one.name: known[one.name].arguments for one in usable}
