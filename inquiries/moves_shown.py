"""Moves as pages show them: which tool was used for what, what came of it and how long that took."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.models import ToolCall
from engine.plurals import counted

from .models import Inquiry, Move, Order, OrderKind
from .models.reading import moves_at, orders_at

LINE = 200  # characters of why something did not come


@dataclass(frozen=True)
class MoveShown:
    """`came`: in a few words, or why nothing did, where it is `astray`; `source`: the number of what it brought."""

    number: int
    thought: str
    tool: str
    arguments: str
    result: str
    refused: str
    took: str
    came: str
    astray: bool
    source: int | None


def shown(inquiry: Inquiry, moves: Sequence[Move], *, results: bool = True) -> tuple[MoveShown, ...]:
    """Without `results` what came is left out: it may be long, and stands in the record of its tool."""
    brought = {one.tool_call_id: one.number for one in inquiry.sources.all() if one.tool_call_id}
    return tuple(_shown(one, brought, results) for one in moves)


def _shown(one: Move, brought: Mapping[int, int], results: bool) -> MoveShown:
    call = one.tool_call
    astray = bool(one.tool and one.settled and (call is None or call.status != ToolCall.Status.DONE))
    return MoveShown(
        number=one.number,
        thought=one.thought,
        tool=one.tool,
        arguments=said(one.arguments) if one.tool else "",
        result=one.result if results and not astray else "",
        refused=one.refused,
        took=_took(one),
        came=_line(one.result) if astray else _came(one),
        astray=astray,
        source=brought.get(call.pk) if call else None,
    )


def said(arguments: str) -> str:
    """Words alone, where there is nothing else; otherwise each value behind its name."""
    try:
        given: dict[str, Any] = json.loads(arguments)
    except ValueError:
        return arguments
    kept = {name: value for name, value in given.items() if value not in ("", 0, None)}
    alone = len(kept) == 1 and isinstance(value := next(iter(kept.values())), str)
    return value if alone else ", ".join(f"{name} {value}" for name, value in kept.items())


def _took(one: Move) -> str:
    if not one.tool or not one.settled:
        return ""
    return f"{(one.settled - one.made).total_seconds():.1f} s"


def _came(one: Move) -> str:
    if not one.tool:
        return "handed in" if one.done and not one.refused else ""
    return counted(len(one.result), "character") if one.settled else "under way"


def _line(result: str) -> str:
    line = " ".join(result.split())
    return line if len(line) <= LINE else f"{line[: LINE - 1]}…"


def of_order(inquiry: Inquiry, order: Order) -> list[Move]:
    """Those that led to what was handed in, or came to nothing, with this order."""
    ends = orders_at(inquiry, order.place, OrderKind.WORK, OrderKind.ERROR, OrderKind.EXHAUSTED)
    before = max((one.made for one in ends if one.number < order.number), default=inquiry.run.created)
    return [one for one in moves_at(inquiry, order.place) if before < one.made <= order.made]


def astray_pages(inquiry: Inquiry, tool: str) -> Iterator[tuple[str, str]]:
    """Addresses that were asked for and not read, and why."""
    moves = (one for one in inquiry.moves.all() if one.tool == tool and one.tool_call)
    for one in shown(inquiry, sorted(moves, key=lambda move: move.pk)):
        if one.astray and one.arguments:
            yield one.arguments, one.came
