"""All tools: what they do, who uses them, how often, and their last failure.

Why so: engine/DESIGN.md, MCP servers.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.db.models import Count, Max, Q
from django.utils import timezone

from engine import mcp
from engine.models import Effect, Gate, McpLeftOut, McpTool, Run, ToolCall
from engine.text.search_terms import index_words
from engine.tools import Tool, available_tools

from ..formatting import format_day
from ..procedure.spec import spec_of_run, specs
from ..rights import SEE, User

RECENT_PERIOD = timedelta(days=90)
LONGEST_WORDS = 160  # characters of an error message
HOLDERS = 5  # users of a tool that are named
EFFECTS = {
    Effect.READS: ("search", "reads"),
    Effect.WRITES: ("writes", "writes"),
    Effect.REACHES_OUT: ("out", "reaches out"),
}
Holder = tuple[str, str]
"""A name and its address."""


@dataclass(frozen=True)
class ToolArgument:
    name: str
    kind: str
    needed: bool
    about: str


@dataclass(frozen=True)
class ToolLine:
    """One tool. `failure` is its last failed call, except those that a person rejected."""

    tool: Tool[Any]
    holders: Sequence[Holder]
    used: int = 0
    last: datetime | None = None
    failure: ToolCall | None = None

    @property
    def effect(self) -> tuple[str, str]:
        return EFFECTS[self.tool.effect]

    @property
    def notes(self) -> list[str]:
        """Return short notes about the tool."""
        said = {"brings text of strangers": self.tool.outside, "may be done twice": self.tool.repeatable}
        return [words for words, holds in said.items() if holds]

    @property
    def arguments(self) -> list[ToolArgument]:
        schema = self.tool.schema
        needed = schema.get("required", ())
        return [_argument(name, said, name in needed) for name, said in schema.get("properties", {}).items()]

    @property
    def named(self) -> Sequence[Holder]:
        return self.holders[:HOLDERS]

    @property
    def more(self) -> int:
        return max(0, len(self.holders) - HOLDERS)

    @property
    def when(self) -> str:
        return format_day(self.last, timezone.now()) if self.last else ""

    @cached_property
    def failed(self) -> dict[str, str]:
        """Return when and why it last failed, and the address of that run."""
        if not self.failure:
            return {}
        run, why = self.failure.run, self.failure.error.partition("\n")[0]
        address = spec_of_run(run).address("live", run.pk)
        when = format_day(self.failure.made, timezone.now())
        return {"when": when, "why": why[:LONGEST_WORDS], "address": address}


def _argument(name: str, said: Any, needed: bool) -> ToolArgument:
    said = said if isinstance(said, dict) else {}
    kinds = [said, *said.get("anyOf", ())]
    kind = " or ".join(str(one["type"]) for one in kinds if isinstance(one, dict) and "type" in one)
    return ToolArgument(name, kind, needed, str(said.get("description", "")))


@dataclass(frozen=True)
class ToolSource:
    """Tools from one source.

    `server` is the name of an MCP server. `off` are its tools that models do not see, `left_out` those that cannot be
    offered, with the reason.
    """

    title: str
    lines: Sequence[ToolLine]
    server: str = ""
    off: Sequence[McpTool] = ()
    left_out: Sequence[str] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.lines or self.off or self.left_out)


def tool_sources(user: User, sought: str = "") -> list[ToolSource]:
    """Return all sources with the tools that match; search words are prefixes."""
    words = index_words(sought)
    lines = defaultdict[str, list[ToolLine]](list)
    for line in _lines(user):
        if _finds(words, line.tool.name, line.tool.description):
            lines[line.tool.source].append(line)
    ours = [ToolSource(_title(source), of) for source, of in lines.items() if not of[0].tool.server]
    found = [*ours, *(_server(name, lines[f"{mcp.PREFIX}.{name}"], words) for name in mcp.servers())]
    return [one for one in found if not words or not one.is_empty]


def tool_count() -> int:
    return len(available_tools())


def _server(name: str, lines: Sequence[ToolLine], words: Sequence[str]) -> ToolSource:
    rows = McpTool.objects.waiting().filter(server=name)
    off = [row for row in rows if _finds(words, str(row), row.description)]
    left_out = [one for one in McpLeftOut.objects.of(name) if _finds(words, one)]
    return ToolSource(f"MCP server {name}", lines, name, off, left_out)


def _finds(words: Sequence[str], *texts: str) -> bool:
    own = index_words("\n".join(texts).replace(".", " ").replace("_", " ")) if words else []
    return all(any(one.startswith(word) for one in own) for word in words)


def _title(source: str) -> str:
    """Return the title for a module of tools, or for a procedure."""
    face = specs().get(source)
    if face:
        return face.nouns.capitalize()
    return next(part for part in reversed(source.split(".")) if part != "tools").capitalize()


def _lines(user: User) -> Iterator[ToolLine]:
    had, used = _holders(), _used(user)
    failures = ToolCall.objects.select_related("run").in_bulk([one["failed"] for one in used.values() if one["failed"]])
    for name, tool in available_tools().items():
        one = used.get(name, {"times": 0, "last": None, "failed": None})
        yield ToolLine(tool, had.get(name, ()), one["times"], one["last"], failures.get(one["failed"]))


def _holders() -> Mapping[str, Sequence[Holder]]:
    """Return the items that use each tool, without duplicates."""
    found = defaultdict[str, dict[Holder, None]](dict)
    for face in specs().values():
        for shelf in face.shelves:
            for tool, name, address in shelf.tools():
                found[tool][name, address] = None
    return {tool: list(holders) for tool, holders in found.items()}


def _used(user: User) -> Mapping[str, Mapping[str, Any]]:
    """Return the numbers of calls in runs of the last 90 days that this user may see."""
    runs = SEE.within(Run.objects.filter(created__gte=timezone.now() - RECENT_PERIOD), user)
    came_to_nothing = Q(status__in=(ToolCall.Status.FAILED, ToolCall.Status.INTERRUPTED))
    by_itself = Q(gate=None) | Q(gate__state=Gate.State.APPROVED)
    counted = (
        ToolCall.objects.filter(run__in=runs.order_by().values("pk"))
        .order_by()
        .values("tool")
        .annotate(times=Count("pk"), last=Max("made"), failed=Max("pk", filter=came_to_nothing & by_itself))
    )
    return {row["tool"]: row for row in counted}
