"""What came of each order of an inquiry, as its page tells it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.models import ToolCall
from engine.plurals import counted
from runs.formatting import user_label

from .models import Assignment, AssignmentKind, Inquiry, InquiryMove
from .models.queries import error_told, moves_at, orders_at
from .rules.events import InquiryStage

LINE_LENGTH = 200  # characters of why something did not come


@dataclass(frozen=True)
class MoveView:
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


def move_views(inquiry: Inquiry, moves: Sequence[InquiryMove], *, results: bool = True) -> tuple[MoveView, ...]:
    """Without `results` what came is left out: it may be long, and stands in the record of its tool."""
    brought = {one.tool_call_id: one.number for one in inquiry.sources.all() if one.tool_call_id}
    return tuple(_shown(one, brought, results) for one in moves)


def _shown(one: InquiryMove, brought: Mapping[int, int], results: bool) -> MoveView:
    call = one.tool_call
    astray = bool(one.tool and one.settled and (call is None or call.status != ToolCall.Status.DONE))
    return MoveView(
        number=one.number,
        thought=one.thought,
        tool=one.tool,
        arguments=arguments_text(one.arguments) if one.tool else "",
        result=one.result if results and not astray else "",
        refused=one.refused,
        took=_took(one),
        came=_line(one.result) if astray else _came(one),
        astray=astray,
        source=brought.get(call.pk) if call else None,
    )


def arguments_text(arguments: str) -> str:
    """Words alone, where there is nothing else; otherwise each value behind its name."""
    try:
        given: dict[str, Any] = json.loads(arguments)
    except ValueError:
        return arguments
    kept = {name: value for name, value in given.items() if value not in ("", 0, None)}
    alone = len(kept) == 1 and isinstance(value := next(iter(kept.values())), str)
    return value if alone else ", ".join(f"{name} {value}" for name, value in kept.items())


def _took(one: InquiryMove) -> str:
    if not one.tool or not one.settled:
        return ""
    return f"{(one.settled - one.made).total_seconds():.1f} s"


def _came(one: InquiryMove) -> str:
    if not one.tool:
        return "handed in" if one.done and not one.refused else ""
    return counted(len(one.result), "character") if one.settled else "under way"


def _line(result: str) -> str:
    line = " ".join(result.split())
    return line if len(line) <= LINE_LENGTH else f"{line[: LINE_LENGTH - 1]}…"


def moves_of_assignment(inquiry: Inquiry, order: Assignment) -> list[InquiryMove]:
    """Those that led to what was handed in, or came to nothing, with this order."""
    ends = orders_at(inquiry, order.place, AssignmentKind.WORK, AssignmentKind.ERROR, AssignmentKind.EXHAUSTED)
    before = max((one.made for one in ends if one.number < order.number), default=inquiry.run.created)
    return [one for one in moves_at(inquiry, order.place) if before < one.made <= order.made]


def failed_pages(inquiry: Inquiry, tool: str) -> Iterator[tuple[str, str]]:
    """Addresses that were asked for and not read, and why."""
    moves = (one for one in inquiry.moves.all() if one.tool == tool and one.tool_call)
    for one in move_views(inquiry, sorted(moves, key=lambda move: move.pk)):
        if one.astray and one.arguments:
            yield one.arguments, one.came


NAMES = {
    InquiryStage.PLANNER: "Plan",
    InquiryStage.RESEARCHER: "Research",
    InquiryStage.EXPERT: "Answer",
    InquiryStage.FINALIZER: "Final",
}


@dataclass(frozen=True)
class AssignmentEvent:
    """What came of an order: work that was let pass or sent back, an error, a person's word."""

    number: int
    state: str
    sign: str
    head: str
    text: str
    moves: tuple[MoveView, ...] = ()


def assignment_events(inquiry: Inquiry) -> Iterator[AssignmentEvent]:
    """The newest first."""
    for one in reversed(inquiry.assignments_in_order):
        if event := _event(inquiry, one):
            yield event


def _event(inquiry: Inquiry, one: Assignment) -> AssignmentEvent | None:
    name = NAMES.get(InquiryStage(one.station.removeprefix("critic_")), "") if one.station else ""
    about = f"{name} {one.step_id + 1}" if one.step_id is not None else name
    match one.kind:
        case AssignmentKind.REVIEW:
            passed = one.decision == "approve"
            who = user_label(one.by_name) or "the critic"
            head = f"{about} · {'approved' if passed else 'rejected'} by {who}"
            return AssignmentEvent(one.number, one.decision, "check" if passed else "cross", head, one.feedback)
        case AssignmentKind.ERROR:
            return AssignmentEvent(
                one.number, "failed", "bang", f"{about} · error", error_told(one), _led(inquiry, one)
            )
        case AssignmentKind.EXHAUSTED:
            return AssignmentEvent(one.number, "reject", "cross", f"{about} · ended", one.feedback)
        case AssignmentKind.WORK:
            return AssignmentEvent(one.number, "none", "dots", f"{about} · handed in", _work(one), _led(inquiry, one))
        case AssignmentKind.STOP | AssignmentKind.REPLAN | AssignmentKind.HINT | AssignmentKind.RETRY:
            return AssignmentEvent(
                one.number, "none", "person", f"{one.kind} · {user_label(one.by_name)}", one.feedback
            )
    return None


def _work(one: Assignment) -> str:
    said = one.submitted_work
    if one.station != InquiryStage.PLANNER:
        return said.get("text", "")
    names = {"research": "Research", "expert": "Answer"}
    lines = [f"{word} {n}. {step}" for name, word in names.items() for n, step in enumerate(said.get(name, ()), 1)]
    return "\n".join(lines)


def _led(inquiry: Inquiry, one: Assignment) -> tuple[MoveView, ...]:
    return move_views(inquiry, moves_of_assignment(inquiry, one), results=False)
