"""Display objects of assignments and moves."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.models import ToolCall
from engine.plurals import counted
from runs.formatting import user_label

from .models import Assignment, AssignmentKind, Inquiry, InquiryMove
from .models.queries import assignments_at, error_text, moves_at
from .rules.events import InquiryStage

LINE_LENGTH = 200  # characters of an error in a line


@dataclass(frozen=True)
class MoveView:
    """`came`: the result in a few words, or the error if `astray`; `source`: number of the source that it brought."""

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
    """Return the moves for display. Without `results`, results are left out: they may be long, and the record has them
    with the tool calls."""
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
        took=_duration_text(one),
        came=_line(one.result) if astray else _result_text(one),
        astray=astray,
        source=brought.get(call.pk) if call else None,
    )


def arguments_text(arguments: str) -> str:
    """Return a single text argument as it is, else names and values."""
    try:
        given: dict[str, Any] = json.loads(arguments)
    except ValueError:
        return arguments
    kept = {name: value for name, value in given.items() if value not in ("", 0, None)}
    alone = len(kept) == 1 and isinstance(value := next(iter(kept.values())), str)
    return value if alone else ", ".join(f"{name} {value}" for name, value in kept.items())


def _duration_text(one: InquiryMove) -> str:
    if not one.tool or not one.settled:
        return ""
    return f"{(one.settled - one.made).total_seconds():.1f} s"


def _result_text(one: InquiryMove) -> str:
    if not one.tool:
        return "handed in" if one.done and not one.refused else ""
    return counted(len(one.result), "character") if one.settled else "under way"


def _line(result: str) -> str:
    line = " ".join(result.split())
    return line if len(line) <= LINE_LENGTH else f"{line[: LINE_LENGTH - 1]}…"


def moves_of_assignment(inquiry: Inquiry, order: Assignment) -> list[InquiryMove]:
    """Return the moves of the try that ended with this assignment."""
    ends = assignments_at(inquiry, order.place, AssignmentKind.WORK, AssignmentKind.ERROR, AssignmentKind.EXHAUSTED)
    before = max((one.made for one in ends if one.number < order.number), default=inquiry.run.created)
    return [one for one in moves_at(inquiry, order.place) if before < one.made <= order.made]


def failed_pages(inquiry: Inquiry, tool: str) -> Iterator[tuple[str, str]]:
    """Yield addresses of pages that could not be read, and why."""
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
    """Result of an assignment: a review, submitted work, an error, or an intervention."""

    number: int
    state: str
    sign: str
    head: str
    text: str
    moves: tuple[MoveView, ...] = ()


def assignment_events(inquiry: Inquiry) -> Iterator[AssignmentEvent]:
    """Yield the events, newest first."""
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
                one.number, "failed", "bang", f"{about} · error", error_text(one), _moves_before(inquiry, one)
            )
        case AssignmentKind.EXHAUSTED:
            return AssignmentEvent(one.number, "reject", "cross", f"{about} · ended", one.feedback)
        case AssignmentKind.WORK:
            return AssignmentEvent(
                one.number, "none", "dots", f"{about} · handed in", _work(one), _moves_before(inquiry, one)
            )
        case AssignmentKind.STOP | AssignmentKind.REPLAN | AssignmentKind.HINT | AssignmentKind.RETRY:
            return AssignmentEvent(
                one.number, "none", "person", f"{one.kind} · {user_label(one.by_name)}", one.feedback
            )
    return None


def _work(one: Assignment) -> str:
    work = one.submitted_work
    if one.station != InquiryStage.PLANNER:
        return work.get("text", "")
    names = {"research": "Research", "expert": "Answer"}
    lines = [f"{word} {n}. {step}" for name, word in names.items() for n, step in enumerate(work.get(name, ()), 1)]
    return "\n".join(lines)


def _moves_before(inquiry: Inquiry, one: Assignment) -> tuple[MoveView, ...]:
    return move_views(inquiry, moves_of_assignment(inquiry, one), results=False)
