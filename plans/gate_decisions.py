"""Effects of decisions at a plan's gates. Those of people are applied at once, those of councils and expired deadlines
when the worker next looks at the gate.

Why so: plans/DESIGN.md, Plans.
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
from .models.queries import gate_fields, needs_gate, number_of, step_situation
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
    _check_answer(answer)
    if gate.pending or (gate.kind == ApprovalKind.UNCERTAIN and choice not in set(DecisionMeaning)):
        return  # the engine handles what became of an uncertain call; here only the effects on step and plan
    if not _is_waited_for(gate):
        raise gate_decisions.GateClosed(ENDED_TEXT)
    try:
        _apply(gate, choice)
    except (DecisionHasNoEffect, writes.PlanLimitReached) as error:
        raise InvalidAnswer([("choice", str(error))]) from error


def accept_plan(plan: UUID, pk: int) -> None:
    """Apply what a council or an expired deadline decided, unless it was applied already. Runs in a transaction of the
    worker."""
    gate = Gate.objects.with_decisions().get(pk=pk, run=plan)
    if gate.used or not _is_waited_for(gate):
        return
    if gate.state not in (Gate.State.APPROVED, Gate.State.REJECTED):
        gate.consume()  # nobody answered in time: a new gate is opened
    elif gate.is_decided or not gate.approved:
        _apply_or_leave_out(gate)


def _apply_or_leave_out(gate: Gate) -> None:
    """Apply a decision. If it asks for a revision and no revision is left, leave the step out, or end the plan: a
    council or a deadline cannot be asked to decide differently."""
    try:
        with transaction.atomic():
            _apply(gate, gate.choice)
    except writes.PlanLimitReached as error:
        writes.save_message(gate.run_id, writes.MANAGER, str(error))
        _apply(gate, DecisionMeaning.SKIP if number_of(gate) else DecisionMeaning.END)


def _is_waited_for(gate: Gate) -> bool:
    """Tell whether the plan still waits for this gate."""
    plan = Plan.objects.planned().get(pk=gate.run_id)
    number, kind = number_of(gate), ApprovalKind(gate.kind)
    step = plan.step(number) if number else None
    return needs_gate(plan, kind, step) and gate_fields(plan, kind, step)[0] == gate.step


def place_of_words(gate: Gate, decision: str) -> str | None:
    """Return where the text of a decision goes: "" for the planner, a step's key for its agent, None if only people
    read it (an approval of the plan or its budget). A rejection may cause a revision, so the planner reads it."""
    if decision == "reject":
        return ""
    number = number_of(gate)
    if number:
        return f"step-{number}"
    return "" if decision == "answer" else None


def word_sources(run: UUID, step: str) -> Collection[str] | None:
    """Return the keys of the steps whose texts went into a question of this step.

    The gate of a step asks about its action, which the planner wrote knowing the steps of earlier revisions. Gates
    within a step also depend on the results of the steps that it needs.
    """
    found = queries.GATE_OF_STEP.match(step)
    if found is None:
        return None
    number = int(found[1])
    sources = queries.planned_from if step == f"step-{number}" else queries.needed_by
    return [f"step-{one}" for one in sources(run, number)]


def _check_answer(answer: Any) -> None:
    if answer is None:
        return
    if not isinstance(answer, str) or not answer.strip():
        raise InvalidAnswer([("answer", "Answer in words.")])
    if len(answer) > gate_decisions.DECISION_LENGTH:
        raise InvalidAnswer([("answer", f"It has more than {gate_decisions.DECISION_LENGTH:,} characters.")])


def _apply(gate: Gate, choice: str) -> None:
    step = step_of(gate)
    last = gate.last_decision
    assert last is not None  # noqa: S101 - the gate is closed, so it has a decision
    kind, by = ApprovalKind(gate.kind), decision_text(gate)
    kind = ApprovalKind.TOOL if kind is ApprovalKind.UNCERTAIN else kind  # a call that began is still a call
    meant = meaning(kind, last.decision, choice)
    effect = decision_effects.decision_effect(kind, meant, step_situation(step) if step else None)
    text = clean_storable_text(str(gate.answer or gate.words or ""))
    if kind is ApprovalKind.PLAN and effect.accept and not _is_still_the_text(gate):
        return  # a new gate asks about the changed text
    _to_step(step, kind, effect, by, text)
    _to_plan(gate, step, effect, by, text)
    for one in gate.decisions.all():
        approves_all = one.by_user and one.decides and meaning(kind, one.decision, one.choice) is DecisionMeaning.ALL
        if effect.accept and approves_all:
            _approve_steps(gate, one.by_user, one.text)
        words = clean_storable_text(str(one.value or one.text or ""))
        source = ANSWER if kind is ApprovalKind.QUESTION and meant is DecisionMeaning.ANSWER else writes.HUMAN
        if words and (one.by_user_id or one == last):
            writes.save_message(gate.run_id, source, words, by=one.by, to=step.number if step else 0)
    if kind is not ApprovalKind.TOOL and not (kind is ApprovalKind.STEP and gate.approved):
        gate.consume()  # tool calls and steps consume their gates when they start


def decision_text(gate: Gate) -> str:
    """Return the stored name of who decided; empty if nobody did."""
    last = gate.last_decision
    if last and last.by:
        return last.by
    return COUNCIL if gate.policy.get("who") in ("council", "both") else ""


def _is_still_the_text(gate: Gate) -> bool:
    plan = Plan.objects.planned().get(pk=gate.run_id)
    return gate_fields(plan, ApprovalKind.PLAN, None)[2] == gate.text


def step_of(gate: Gate) -> PlanStep | None:
    number = number_of(gate)
    return PlanStep.objects.select_related("agent").get(plan=gate.run_id, number=number) if number else None


def _to_step(step: PlanStep | None, kind: ApprovalKind, effect: DecisionEffect, by: str, text: str) -> None:
    if step is None:
        return
    if kind is ApprovalKind.QUESTION and effect.event is None:
        writes.save_answer(step, text)
    if effect.event is None:
        return
    writes.set_step_state(
        step, effect.event, by=by, why=text or (DECISION_TEXT if effect.event is StepEvent.REPLY else "")
    )


def _to_plan(gate: Gate, step: PlanStep | None, effect: DecisionEffect, by: str, text: str) -> None:
    if effect.order:
        writes.request_revision(gate.run_id, effect.order, text, by, step.number if step else None)
    if effect.accept:
        writes.accept_revision(gate.run_id)
    if effect.end:
        writes.stop(gate.run_id, by)


def _approve_steps(gate: Gate, user: Any, text: str) -> None:
    """Approve each step gate that this person may decide alone and whose text is part of the plan's text that they
    read. Other gates stay pending."""
    plan = Plan.objects.planned().get(pk=gate.run_id)
    for step in plan.steps_now:
        step_gate = Gate.objects.newest(gate.run_id, step.gate_step) if step.status in BEFORE_WORK else None
        read = bool(step_gate and step_gate.pending and step_gate.text in gate.text)
        if step_gate and read and is_single_person(step_gate.policy) and gate_decisions.may_decide(step_gate, user):
            gate_decisions.decide(step_gate.pk, user, "approve", text, digest=step_gate.digest)
