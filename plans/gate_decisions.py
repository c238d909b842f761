"""What is decided at a plan's gates, and what that does: by people at once, by a council or the clock when the run
looks at it.

Why so: docs/decisions.md, Plans.
"""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db import transaction

from engine import gate_decisions
from engine.llm.providers import clean_storable_text
from engine.models import Gate
from engine.runtime.procedure import InvalidAnswer

from .models import Plan, PlanStep, queries, writes
from .models.queries import number_of, pending_gate, questions_of, state_of_step
from .models.steps import ANSWER
from .rules import decision_effects
from .rules.approval_policy import ApprovalKind, DecisionMeaning, is_single_person, meaning
from .rules.decision_effects import DecisionEffect, DecisionHasNoEffect
from .rules.enums import StepEvent
from .rules.scheduling import BEFORE_WORK

DECISION_TEXT = "Done."
COUNCIL = "the council"
ENDED_TEXT = "This is not asked any more."


def apply_decision(gate: Gate, choice: str, answer: Any) -> None:
    """Apply a person's decision, in its transaction. Raises InvalidAnswer, or GateClosed if it comes too late."""
    gate = Gate.objects.with_decisions().get(pk=gate.pk)
    if gate.kind not in set(ApprovalKind):
        return
    _refuse_unfitting(answer)
    if gate.pending or (gate.kind == ApprovalKind.UNCERTAIN and choice not in set(DecisionMeaning)):
        return  # what happened is the engine's own question; leaving the step, or the plan, is ours
    if not _is_waited_for(gate):
        raise gate_decisions.GateClosed(ENDED_TEXT)
    try:
        _apply(gate, choice)
    except (DecisionHasNoEffect, writes.PlanLimitReached) as error:
        raise InvalidAnswer([("choice", str(error))]) from error


def accept_plan(plan: UUID, pk: int) -> None:
    """What a council or the clock decided, unless it is done already. In a transaction of the run's worker."""
    gate = Gate.objects.with_decisions().get(pk=pk, run=plan)
    if gate.used or not _is_waited_for(gate):
        return
    if gate.state not in (Gate.State.APPROVED, Gate.State.REJECTED):
        gate.consume()  # nobody answered in time: it is asked anew
    elif gate.is_decided or not gate.approved:
        _apply_or_leave_out(gate)


def _apply_or_leave_out(gate: Gate) -> None:
    """A refusal of a council, or of the clock, that nothing can be planned anew by any more leaves the step out, or
    ends the plan: nobody is there to be told that it has to be said otherwise."""
    try:
        with transaction.atomic():
            _apply(gate, gate.choice)
    except writes.PlanLimitReached as error:
        writes.save_message(gate.run_id, writes.MANAGER, str(error))
        _apply(gate, DecisionMeaning.SKIP if number_of(gate) else DecisionMeaning.END)


def _is_waited_for(gate: Gate) -> bool:
    """Whether it asks what the plan still waits for, at the place where that is asked."""
    plan = Plan.objects.planned().get(pk=gate.run_id)
    number, kind = number_of(gate), ApprovalKind(gate.kind)
    step = plan.step(number) if number else None
    return pending_gate(plan, kind, step) and questions_of(plan, kind, step)[0] == gate.step


def place_of_words(gate: Gate, decision: str) -> str | None:
    """What is said with a no may be what the rest is planned anew by; else it goes to the step. With a yes to the plan
    or to its money people alone read it."""
    if decision == "reject":
        return ""
    number = number_of(gate)
    if number:
        return f"step-{number}"
    return "" if decision == "answer" else None


def word_sources(run: UUID, step: str) -> Collection[str] | None:
    """About a step its action alone is asked, which was planned by what became of steps of earlier revisions; what
    happens within it is made of the results of those it needs, too."""
    found = queries.GATE_OF_STEP.match(step)
    if found is None:
        return None
    number = int(found[1])
    sources = queries.planned_from if step == f"step-{number}" else queries.needed_by
    return [f"step-{one}" for one in sources(run, number)]


def _refuse_unfitting(answer: Any) -> None:
    if answer is None:
        return
    if not isinstance(answer, str) or not answer.strip():
        raise InvalidAnswer([("answer", "Answer in words.")])
    if len(answer) > gate_decisions.DECISION_LENGTH:
        raise InvalidAnswer([("answer", f"It has more than {gate_decisions.DECISION_LENGTH:,} characters.")])


def _apply(gate: Gate, choice: str) -> None:
    step = step_of(gate)
    last = gate.last_decision
    assert last is not None  # noqa: S101 - it is closed
    kind, by = ApprovalKind(gate.kind), decision_text(gate)
    kind = ApprovalKind.TOOL if kind is ApprovalKind.UNCERTAIN else kind  # a call that began is still a call
    meant = meaning(kind, last.decision, choice)
    done = decision_effects.decision_effect(kind, meant, state_of_step(step) if step else None)
    said = clean_storable_text(str(gate.answer or gate.words or ""))
    if kind is ApprovalKind.PLAN and done.accept and not _is_still_the_text(gate):
        return  # it is asked anew by what it is now
    _to_step(step, kind, done, by, said)
    _to_plan(gate, step, done, by, said)
    for one in gate.decisions.all():
        said_all = one.by_user and one.decides and meaning(kind, one.decision, one.choice) is DecisionMeaning.ALL
        if done.accept and said_all:
            _approve_steps(gate, one.by_user, one.text)
        words = clean_storable_text(str(one.value or one.text or ""))
        source = ANSWER if kind is ApprovalKind.QUESTION and meant is DecisionMeaning.ANSWER else writes.HUMAN
        if words and (one.by_user_id or one == last):
            writes.save_message(gate.run_id, source, words, by=one.by, to=step.number if step else 0)
    if kind is not ApprovalKind.TOOL and not (kind is ApprovalKind.STEP and gate.approved):
        gate.consume()  # these two are used up by what they allow


def decision_text(gate: Gate) -> str:
    """Who decided, as it is kept."""
    last = gate.last_decision
    if last and last.by:
        return last.by
    return COUNCIL if gate.policy.get("who") in ("council", "both") else ""


def _is_still_the_text(gate: Gate) -> bool:
    plan = Plan.objects.planned().get(pk=gate.run_id)
    return questions_of(plan, ApprovalKind.PLAN, None)[2] == gate.text


def step_of(gate: Gate) -> PlanStep | None:
    number = number_of(gate)
    return PlanStep.objects.select_related("agent").get(plan=gate.run_id, number=number) if number else None


def _to_step(step: PlanStep | None, kind: ApprovalKind, done: DecisionEffect, by: str, said: str) -> None:
    if step is None:
        return
    if kind is ApprovalKind.QUESTION and done.event is None:
        writes.save_answer(step, said)
    if done.event is None:
        return
    writes.set_step_state(step, done.event, by=by, why=said or (DECISION_TEXT if done.event is StepEvent.REPLY else ""))


def _to_plan(gate: Gate, step: PlanStep | None, done: DecisionEffect, by: str, said: str) -> None:
    if done.order:
        writes.request_revision(gate.run_id, done.order, said, by, step.number if step else None)
    if done.accept:
        writes.accept_revision(gate.run_id)
    if done.end:
        writes.stop(gate.run_id, by)


def _approve_steps(gate: Gate, user: Any, text: str) -> None:
    """Each step gate that this person may decide alone, and whose text stands in the plan's that was read, gets a
    decision of its own; the others go on waiting."""
    plan = Plan.objects.planned().get(pk=gate.run_id)
    for step in plan.steps_now:
        asked = Gate.objects.newest(gate.run_id, step.gate_step) if step.status in BEFORE_WORK else None
        read = bool(asked and asked.pending and asked.text in gate.text)
        if asked and read and is_single_person(asked.policy) and gate_decisions.may_decide(asked, user):
            gate_decisions.decide(asked.pk, user, "approve", text, digest=asked.digest)
