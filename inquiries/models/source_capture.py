"""Saves outputs of tools as sources, and formats them for the next prompt."""

import json
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Sum

from engine import mcp
from engine.models import ToolCall
from engine.text.search_terms import index_words
from engine.tools import get_tool
from runs.models import SearchText
from toolbox.web.page_text import WebPageText

from ..quotes import numbers
from ..rules.limits import READ, SOURCES
from .sources import InquirySource, SourceKind

SHOWN = 6_000  # characters of a source in the prompt
LINKS = 30
LIMIT_TEXT = "It is not kept as a source, for this inquiry has read all it may: quote what is there."


def capture_source(inquiry: UUID, call: ToolCall) -> str:
    """Return the result of a call for the next prompt. Outputs that can be quoted are saved as numbered sources;
    results of searches cannot, whichever tool searched."""
    is_source = call.tool.startswith(f"{mcp.PREFIX}.") and call.tool != settings.SEARCH.get("tool")
    keep = CAPTURES_BY_TOOL.get(call.tool) or (_of_server if is_source else None)
    if not call.done or keep is None or has_no_text(call):
        tool = get_tool(call.tool)
        return tool.describe_result(call) if tool else call.output if call.done else call.error
    return keep(inquiry, call)


def has_no_text(call: ToolCall) -> bool:
    """Tell whether a calculation calculated nothing, as in 4711 = 4711 or max(4711) = 4711: it must not become a source
    for the number that was put in."""
    asked, _, result = call.output.rpartition(" = ")
    return call.tool == "figures.calculate" and len(numbers(asked)) == 1 and numbers(result) == numbers(asked)


def _page(inquiry: UUID, call: ToolCall) -> str:
    page = WebPageText.of(call.output)
    values: dict[str, Any] = {
        "asked": page.asked,
        "address": page.address,
        "title": page.title,
        "type": page.type[:100],
    }
    values |= {"bytes_digest": page.digest, "extractor": page.extractor, "flags": list(page.flags)}
    source = _save_source(inquiry, call, page.text, kind=SourceKind.PAGE, **values)
    if source is None:
        return LIMIT_TEXT
    lines = [f"{source}", page.address, *(f"Flag: {flag}" for flag in page.flags)]
    lines.append(f"Characters 0 to {min(SHOWN, len(page.text))} of {len(page.text)}:")
    lines.append(page.text[:SHOWN])
    links = [f"- {said}: {address}" for address, said in page.links[:LINKS]]
    return "\n".join([*lines, *(["", "Its links:", *links] if links else [])])


def _worked_out(kind: SourceKind, title: str) -> Callable[[UUID, ToolCall], str]:
    def keep(inquiry: UUID, call: ToolCall) -> str:
        source = _save_source(inquiry, call, call.output, kind=kind, title=title, **_of_table(inquiry, call))
        return f"{source}:\n{call.output[:SHOWN]}" if source else f"{call.output[:SHOWN]}\n{LIMIT_TEXT}"

    return keep


def _of_table(inquiry: UUID, call: ToolCall) -> dict[str, Any]:
    """Return address and flags of the page with the table: they are true of the rows, too."""
    number = json.loads(call.arguments or "{}").get("source")
    page = (
        InquirySource.objects.filter(inquiry=inquiry, number=number, kind=SourceKind.PAGE).first() if number else None
    )
    return {"address": page.address, "flags": page.flags} if page else {}


def _of_server(inquiry: UUID, call: ToolCall) -> str:
    source = _save_source(inquiry, call, call.output, kind=SourceKind.MCP, title=call.tool)
    return f"{source}:\n{call.output[:SHOWN]}" if source else LIMIT_TEXT


def _save_source(inquiry: UUID, call: ToolCall, text: str, **values: Any) -> InquirySource | None:
    """Save a source; return None if the inquiry has reached its limit."""
    own = InquirySource.objects.filter(inquiry=inquiry)
    read = own.aggregate(all=Sum("length"))["all"] or 0
    if own.count() >= SOURCES or read + len(text) > READ or not text.strip():
        return None
    values["title"] = values["title"] or values.get("address", "")[:200]
    source = InquirySource.objects.save_source(inquiry, text, tool_call=call, **values)
    SearchText.objects.add(inquiry, index_words(f"{source.title}\n{source.host}"))
    return source


CAPTURES_BY_TOOL: Mapping[str, Callable[[UUID, ToolCall], str]] = {
    "web.read": _page,
    "tables.read": _worked_out(SourceKind.TABLE, "Rows of a table"),
    "tables.ask": _worked_out(SourceKind.TABLE, "Worked out of a table"),
    "figures.calculate": _worked_out(SourceKind.CALCULATION, "A calculation"),
    "figures.convert": _worked_out(SourceKind.CALCULATION, "A calculation"),
}
