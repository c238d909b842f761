"""Lines of a plan's record: its revisions, and the moves of its agents."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from runs.formatting import user_label

from .models import Plan, PlanRevision, PlanStepMove
from .rules.enums import RevisionCause

CAUSES: Mapping[str, str] = {
    RevisionCause.TASK: "the task",
    RevisionCause.ANSWERS: "the questions were answered",
    RevisionCause.REJECTION: "it was rejected",
    RevisionCause.FAILURE: "a step failed",
    RevisionCause.CLARIFICATION: "somebody said more",
}
ACTS: Mapping[str, str] = {"call": "called", "reply": "replied", "ask": "asked", "give_up": "gave up"}


@dataclass(frozen=True)
class PlanRecordLine:
    head: str
    texts: tuple[str, ...]


def revision_lines(plan: Plan) -> list[PlanRecordLine]:
    return [_revision(plan, one) for one in sorted(plan.revisions.all(), key=lambda one: one.number)]


def _revision(plan: Plan, one: PlanRevision) -> PlanRecordLine:
    by = f", {user_label(one.by_name)}" if one.by_name else ""
    number = plan.revision_number(one)
    what = f"Revision {number}" if number else "Questions" if one.questions else "Not planned"
    head = f"{what}, for {CAUSES[one.cause]}{by}, {one.made:%d %b %Y, %H:%M:%S} UTC"
    return PlanRecordLine(head, tuple(filter(None, (one.notes, one.thought, one.questions))))


def move_lines(plan: Plan) -> list[PlanRecordLine]:
    """Return a line for each move, by number of the step; dropped steps are included."""
    return [
        line for step in sorted(plan.steps.all(), key=lambda one: one.number) for line in map(_move, step.moves.all())
    ]


def _move(one: PlanStepMove) -> PlanRecordLine:
    what = f"{ACTS[one.act]} {one.tool}".strip()
    series = f" of series {one.series + 1}" if one.series else ""
    head = f"Step {one.step.number}, {one.step.owner}, move {one.number}{series}: {what}, {one.made:%H:%M:%S} UTC"
    return PlanRecordLine(head, tuple(_texts(one)))


def _texts(one: PlanStepMove) -> Iterator[str]:
    """Yield the texts of a move. Arguments and result of a tool call are left out: the record lists all tool calls."""
    yield from filter(None, (one.thought, one.text))
    if one.result and not one.tool_call_id:
        yield one.result
