"""What is decided at a plan's gates, and what that does: by people at once, by a council or the clock when the run
looks at it.

Why so: docs/decisions.md, Plans.
"""

import re
from typing import Any
from uuid import UUID

from engine import gates
from engine.models import Gate
from engine.procedure import DoesNotFit

from .models import Plan, Step, keeping
from .models.reading import step_facts
from .rules import decided
from .rules.course import BEFORE_WORK
from .rules.decided import Consequence, MeansNothing
from .rules.demands import Kind, Meaning, is_plain, meaning
from .rules.words import Event

STEP = re.compile(r"step-(\d+)(?:-|$)")
SAID = "Done."
COUNCIL = "the council"
OVER = "This is not asked any more."


def answered(gate: Gate, choice: str, answer: Any) -> None:
    """A person has decided, in that transaction. DoesNotFit where it cannot be taken."""
    gate = Gate.objects.whole().get(pk=gate.pk)
    if gate.pending or gate.kind not in set(Kind):
        return
    if gate.kind == Kind.UNCERTAIN and choice not in set(Meaning):
        return  # what happened is the engine's own question; leaving the step, or the plan, is ours
    _refuse_unfitting(gate, answer)
    try:
        _apply(gate, choice)
    except (MeansNothing, keeping.TooMuch) as error:
        raise DoesNotFit([("choice", str(error))]) from error


def take(plan: UUID, pk: int) -> None:
    """What a council or the clock decided, unless it is done already. In a transaction of the run's worker."""
    gate = Gate.objects.whole().get(pk=pk, run=plan)
    if gate.used is None and gate.state in (Gate.State.APPROVED, Gate.State.REJECTED):
        _apply(gate, gate.choice)
    elif gate.used is None:
        gate.use()  # nobody answered in time: it is asked anew


def _refuse_unfitting(gate: Gate, answer: Any) -> None:
    if answer is not None and not isinstance(answer, str):
        raise DoesNotFit([("answer", "Answer in words.")])


def _apply(gate: Gate, choice: str) -> None:
    step = step_of(gate)
    last = gate.last
    assert last is not None  # noqa: S101 - it is closed
    kind, by = Kind(gate.kind), in_words(gate)
    kind = Kind.TOOL if kind is Kind.UNCERTAIN else kind  # a call that began is still a call
    meant = meaning(kind, last.decision, choice)
    if step is None and kind is not Kind.PLAN and kind is not Kind.QUESTION:
        raise MeansNothing(OVER)
    done = decided.consequence(kind, meant, step_facts(step) if step else None)
    said = str(gate.answer or gate.words or "")
    _to_step(step, kind, done, by, said)
    _to_plan(gate, step, done, by, said)
    if meant is Meaning.ALL and last.by_user:
        _approve_steps(gate, last.by_user, last.text)
    if said and kind is not Kind.QUESTION:
        keeping.say(gate.run_id, keeping.HUMAN, said, by=last.by, to=step.number if step else 0)
    if kind is not Kind.TOOL and not (kind is Kind.STEP and gate.approved):
        gate.use()  # these two are used up by what they allow


def in_words(gate: Gate) -> str:
    """Who decided, as it is kept."""
    last = gate.last
    if last and last.by:
        return last.by
    return COUNCIL if gate.policy.get("who") in ("council", "both") else ""


def step_of(gate: Gate) -> Step | None:
    """The step that a gate is about, which has to wait for it still; None for one about the plan."""
    found = STEP.match(gate.step)
    if found is None:
        return None
    return Step.objects.select_related("agent").get(plan=gate.run_id, number=int(found[1]))


def _to_step(step: Step | None, kind: Kind, done: Consequence, by: str, said: str) -> None:
    if step is None:
        return
    if kind is Kind.QUESTION and done.event is None:
        keeping.keep_answer(step, said)
    if done.event is None:
        return
    keeping.change(step, done.event, by=by, why=said or (SAID if done.event is Event.REPLY else ""))


def _to_plan(gate: Gate, step: Step | None, done: Consequence, by: str, said: str) -> None:
    if done.order:
        keeping.order(gate.run_id, done.order, said, by, step.number if step else None)
    if done.accept:
        keeping.accept(gate.run_id)
    if done.end:
        keeping.stop(gate.run_id)


def _approve_steps(gate: Gate, user: Any, text: str) -> None:
    """Each step gate that this person may decide alone gets a decision of its own; the others go on waiting."""
    plan = Plan.objects.planned().get(pk=gate.run_id)
    for step in plan.steps_now:
        asked = Gate.objects.newest(gate.run_id, step.gate_step) if step.status in BEFORE_WORK else None
        if asked and asked.pending and is_plain(asked.policy) and gates.may_decide(asked, user):
            gates.decide(asked.pk, user, "approve", text)
