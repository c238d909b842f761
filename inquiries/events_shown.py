"""What came of each order of an inquiry, as its page tells it."""

from collections.abc import Iterator
from dataclasses import dataclass

from runs.words import shown_name

from .models import Inquiry, Order, OrderKind
from .models.reading import error_told
from .moves_shown import MoveShown, of_order, shown
from .rules.facts import Station

NAMES = {Station.PLANNER: "Plan", Station.RESEARCHER: "Research", Station.EXPERT: "Answer", Station.FINALIZER: "Final"}


@dataclass(frozen=True)
class Event:
    """What came of an order: work that was let pass or sent back, an error, a person's word."""

    number: int
    state: str
    sign: str
    head: str
    text: str
    moves: tuple[MoveShown, ...] = ()


def events_of(inquiry: Inquiry) -> Iterator[Event]:
    """The newest first."""
    for one in reversed(inquiry.ordered):
        if event := _event(inquiry, one):
            yield event


def _event(inquiry: Inquiry, one: Order) -> Event | None:
    name = NAMES.get(Station(one.station.removeprefix("critic_")), "") if one.station else ""
    about = f"{name} {one.step_id + 1}" if one.step_id is not None else name
    match one.kind:
        case OrderKind.REVIEW:
            passed = one.decision == "approve"
            who = shown_name(one.by_name) or "the critic"
            head = f"{about} · {'approved' if passed else 'rejected'} by {who}"
            return Event(one.number, one.decision, "check" if passed else "cross", head, one.feedback)
        case OrderKind.ERROR:
            return Event(one.number, "failed", "bang", f"{about} · error", error_told(one), _led(inquiry, one))
        case OrderKind.EXHAUSTED:
            return Event(one.number, "reject", "cross", f"{about} · ended", one.feedback)
        case OrderKind.WORK:
            return Event(one.number, "none", "dots", f"{about} · handed in", _work(one), _led(inquiry, one))
        case OrderKind.STOP | OrderKind.REPLAN | OrderKind.HINT | OrderKind.RETRY:
            return Event(one.number, "none", "person", f"{one.kind} · {shown_name(one.by_name)}", one.feedback)
    return None


def _work(one: Order) -> str:
    said = one.handed_in
    if one.station != Station.PLANNER:
        return said.get("text", "")
    names = {"research": "Research", "expert": "Answer"}
    lines = [f"{word} {n}. {step}" for name, word in names.items() for n, step in enumerate(said.get(name, ()), 1)]
    return "\n".join(lines)


def _led(inquiry: Inquiry, one: Order) -> tuple[MoveShown, ...]:
    return shown(inquiry, of_order(inquiry, one), results=False)
