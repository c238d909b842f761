"""How a plan came to be what it is, and what its agents did one after the other: as its record tells it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from runs.words import shown_name

from .models import Move, Plan, Revision
from .rules.words import Cause

CAUSES: Mapping[str, str] = {
    Cause.TASK: "the task",
    Cause.ANSWERS: "the questions were answered",
    Cause.REJECTION: "it was rejected",
    Cause.FAILURE: "a step failed",
    Cause.CLARIFICATION: "somebody said more",
}
ACTS: Mapping[str, str] = {"call": "called", "reply": "replied", "ask": "asked", "give_up": "gave up"}


@dataclass(frozen=True)
class Told:
    head: str
    texts: tuple[str, ...]


def revisions(plan: Plan) -> list[Told]:
    return [_revision(plan, one) for one in sorted(plan.revisions.all(), key=lambda one: one.number)]


def _revision(plan: Plan, one: Revision) -> Told:
    by = f", {shown_name(one.by_name)}" if one.by_name else ""
    number = plan.revision_number(one)
    what = f"Revision {number}" if number else "Questions" if one.questions else "Not planned"
    head = f"{what}, for {CAUSES[one.cause]}{by}, {one.made:%d %b %Y, %H:%M:%S} UTC"
    return Told(head, tuple(filter(None, (one.notes, one.thought, one.questions))))


def moves(plan: Plan) -> list[Told]:
    """In the order of the steps, those that a revision has dropped among them."""
    return [
        told for step in sorted(plan.steps.all(), key=lambda one: one.number) for told in map(_move, step.moves.all())
    ]


def _move(one: Move) -> Told:
    what = f"{ACTS[one.act]} {one.tool}".strip()
    series = f" of series {one.series + 1}" if one.series else ""
    head = f"Step {one.step.number}, {one.step.owner}, move {one.number}{series}: {what}, {one.made:%H:%M:%S} UTC"
    return Told(head, tuple(_texts(one)))


def _texts(one: Move) -> Iterator[str]:
    """The arguments and the result of a call stand with its tool."""
    yield from filter(None, (one.thought, one.text))
    if one.result and not one.tool_call_id:
        yield one.result
