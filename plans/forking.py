"""Forks of plans: a new plan goes on after a step of another one, whose planner is shown what was done by then.

Why so: runs/DESIGN.md, Forks.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from engine.ledger.entries import AuditEntry
from engine.models import Fork, record_name
from runs.forking import ForkEffects, ForkRefused, NoForkPoint, Section
from runs.procedure.schemas import NewFork

from . import procedure
from .models import Plan, PlanStep, TeamChanged
from .models.queries import step_situation
from .rules.approval_policy import TeamPolicy
from .rules.enums import StepEffect, StepStatus
from .schemas import NewPlanFork

STATE = "plan.step"  # kind of the entry of a step's change of status
LONGEST = 4_000  # quoted characters of a result
DONE = (
    "This plan goes on from another plan of this task, after its step {number}. These steps of it have ended, and what "
    "they did stays done. Do not plan them again, and give their results to the steps that need them:"
)
QUOTED = "Step {number}, {owner}, {status}: {action}\nResult (sha256 {digest}): {reply}"
STAYS = "What later steps wrote or sent outside stays done. These tool calls of them were carried out: {calls}."
ASKED = "The planner writes the steps that are left, and they are asked about as those of any plan."


@dataclass(frozen=True)
class PlanMoment:
    """A plan, read with `with_steps()`, after the step of this number in its current revision, which has ended."""

    plan: Plan
    number: int

    @property
    def steps(self) -> list[PlanStep]:
        return self.plan.steps_now

    @property
    def done(self) -> list[PlanStep]:
        """The steps up to this one that have ended."""
        place = next(place for place, one in enumerate(self.steps) if one.number == self.number)
        return [one for one in self.steps[: place + 1] if step_situation(one).settled]

    @property
    def later(self) -> list[PlanStep]:
        kept = {one.pk for one in self.done}
        return [one for one in self.steps if one.pk not in kept]

    def entry(self) -> AuditEntry | None:
        """Return the newest entry of the step's status."""
        for entry in AuditEntry.objects.filter(run=self.plan.pk, kind=STATE).order_by("-seq"):
            if json.loads(entry.line)["facts"]["step"] == self.number:
                return entry
        return None


class PlanForks:
    unit, template = "step", ""
    body: type[NewFork] = NewPlanFork
    styles: tuple[str, ...] = ()
    along = (
        "The planner is told which steps ended and with what results, word for word, and plans what is left. No tool "
        "call of theirs is made again."
    )

    def preview(self, row: Plan, number: int) -> ForkEffects:
        moment = _moment(row, number)
        numbers = [one.number for one in moment.steps]
        done = Section("Steps that come along", tuple(map(_line, moment.done)))
        return ForkEffects(
            number, max(numbers), f"step {number}", tuple(_left_out_sections(moment)), (done,), tuple(_notes(moment))
        )

    def submit(self, row: Plan, number: int, *, words: str, spend: int | None, **asked: Any) -> Plan:
        moment, owner = _moment(row, number), asked.get("owner")

        def carry(plan: Plan) -> None:
            entry = moment.entry()
            if entry is None:
                raise ForkRefused("The record does not have this step yet. Try it again when the plan rests.")
            Fork.objects.create(run=plan.run, origin=row.run, number=number, entry=entry.seq, hash=entry.hash)

        current = row.team_version.team.current
        if current is None:
            raise ForkRefused("The team of this plan is not offered any more.")
        try:
            return procedure.submit(
                task=row.task,
                team=current,
                title=row.run.title,
                matter=row.matter.name if row.matter and row.matter.owner == owner else "",
                policy=TeamPolicy.of(row.policy),
                spend=spend,
                earlier=row,
                notes="\n\n".join(
                    filter(None, [_completed_steps_text(moment), words and f"{record_name(owner)} adds: {words}"])
                ),
                carry=carry,
                **asked,
            )
        except TeamChanged as error:
            raise ForkRefused(str(error)) from error


def _moment(row: Plan, number: int) -> PlanMoment:
    """Return the fork point. Raises NoForkPoint if there is no such step, ForkRefused if it cannot be forked yet."""
    moment = PlanMoment(row, number)
    step = next((one for one in moment.steps if one.number == number), None)
    if step is None:
        numbers = ", ".join(str(one.number) for one in moment.steps) or "none"
        raise NoForkPoint(f"There is no step {number} in the plan as it is now. There are: {numbers}.")
    if not step_situation(step).settled:
        raise ForkRefused("This step has not ended. Fork the plan after an earlier one, or begin another from it.")
    if moment.entry() is None:
        raise ForkRefused("The record does not have this step yet. Try it again when the plan rests.")
    return moment


def _completed_steps_text(moment: PlanMoment) -> str:
    quoted = []
    for one in moment.done:
        reply = one.reply if one.status == StepStatus.COMPLETED else one.error
        cut = reply if len(reply) <= LONGEST else f"{reply[:LONGEST]} … (cut; {len(reply):,} characters in all)"
        told = {"number": one.number, "owner": one.owner, "status": one.status, "action": one.action}
        quoted.append(QUOTED.format(**told, digest=sha256(reply.encode()).hexdigest(), reply=cut or "none"))
    return "\n\n".join([DONE.format(number=moment.number), *quoted])


# ---- what is shown --------------------------------------------------------------------------------------------


def _line(one: PlanStep) -> str:
    return f"{one.number}, {one.owner}, {one.status.replace('_', ' ')}: {one.action}"


def _left_out_sections(moment: PlanMoment) -> Iterator[Section]:
    yield Section("Steps", tuple(map(_line, moment.later)), "No step came after it.")
    results = [f"{one.number}: {one.reply}" for one in moment.later if one.reply]
    yield Section("Results", tuple(results), "No step after it had a result.")


def _notes(moment: PlanMoment) -> Iterator[str]:
    yield ASKED
    moves = [move for one in moment.later for move in one.moves.all()]
    acts = [(move, move.tool_call) for move in moves if move.tool_call and move.tool_call.done]
    calls = [f"{move.tool} in step {move.step.number}" for move, call in acts if call.effect != StepEffect.READS]
    if calls:
        yield STAYS.format(calls=", ".join(calls))
