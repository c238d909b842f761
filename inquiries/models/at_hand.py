"""Which tools who works on an inquiry has, now."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.conf import settings
from pydantic import BaseModel

from engine import mcp
from engine.models import Effect
from engine.tools import Tool, meant, own_tools, tools

from ..prompts.moves import Usable
from ..rules.facts import Station
from .inquiries import Inquiry
from .reading import must_hand_in, place_of

READING = ("sources.search", "sources.read")
FIGURES = ("figures.calculate", "figures.convert", "figures.today")
TABLES = ("tables.read", "tables.ask")
SEARCH, PAGE = "web.search", "web.read"


def names_of(inquiry: Inquiry, station: Station) -> list[str]:
    """Of all that this station has in it."""
    return [one.name for one in _found(inquiry, station)]


def _named(inquiry: Inquiry, station: Station) -> list[str]:
    found = list(READING) if station is not Station.EXPERT else []
    found += TABLES if _has_tables(inquiry) else ()
    if station is not Station.EXPERT and inquiry.web:
        found += (*([searched] if (searched := search_tool()) else []), *([PAGE] if pages_left(inquiry) else []))
    found += _of_servers() if station is not Station.EXPERT else ()
    return [*dict.fromkeys(found), *FIGURES]


def _of_servers() -> list[str]:
    """What an administrator lends to those who research; whatever else is named there is none of a server's."""
    return meant([one for one in settings.INQUIRY_TOOLS if one.startswith(f"{mcp.PREFIX}.")])


def search_tool() -> str:
    """By which it looks outside; empty where it cannot."""
    return settings.SEARCH.get("tool", SEARCH) if settings.SEARCH else ""


def pages_left(inquiry: Inquiry) -> int:
    read = sum(one.tool == PAGE and one.settled is not None for one in inquiry.moves.all())
    return max(inquiry.bounds.pages - read, 0)


def _has_tables(inquiry: Inquiry) -> bool:
    return any(one.is_csv for one in inquiry.sources.all())


def hands_in(inquiry: Inquiry, station: Station) -> bool:
    """Whether its work is due now, so that it can use no tool."""
    return must_hand_in(inquiry, place_of(inquiry, station), station)


def usable(inquiry: Inquiry, station: Station) -> list[Usable]:
    """What it is told of, also where its work is due: a request begins as the one before."""
    return [Usable(one.name, one.description, one.schema, bool(one.server)) for one in _found(inquiry, station)]


def _found(inquiry: Inquiry, station: Station) -> Iterator[Tool[Any]]:
    """Of tools of others those alone that an administrator has said to read; those that bring text of strangers where
    it looks outside."""
    names = _named(inquiry, station)
    known = own_tools() if set(names) <= set(own_tools()) else tools()
    for tool in (known[name] for name in names if name in known):
        if not tool.off and tool.effect == Effect.READS and (inquiry.web or not (tool.server and tool.outside)):
            yield tool


def arguments_by_tool(usable: Iterable[Usable]) -> dict[str, type[BaseModel]]:
    usable = list(usable)
    known = tools() if any(one.strange for one in usable) else own_tools()
    return {one.name: known[one.name].arguments for one in usable}
