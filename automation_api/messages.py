"""Messages of a session. They are derived from rows and not stored, so they cannot contradict them."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from engine.llm.providers import clean_storable_text
from engine.models import Gate, GateDecision, Run
from engine.models.gates import DecisionValue
from plans.models import Plan, PlanStep, PlanStepState
from plans.models.queries import figures_of, number_of
from plans.models.writes import HUMAN, MANAGER, PLANNER
from plans.rules.approval_policy import ApprovalKind
from plans.rules.enums import StepEvent
from runs.run_object import isoformat
from toolbox.agent_step import AgentAct

from .objects import feedback_words, is_pending, reply_of, session_of, visible_decisions

EVENT_LABELS = {
    DecisionValue.APPROVE: "Approved",
    DecisionValue.REJECT: "Rejected",
    DecisionValue.ANSWER: "Answered",
    DecisionValue.OVERRIDE: "Approved",
    DecisionValue.EXPIRE: "Nobody answered in time",
    DecisionValue.FAIL: "The council came to nothing",
}


@dataclass(frozen=True)
class ThreadMessage:
    """`key`: unique in the plan. `by`: name of the person who wrote it. `gate`: the gate that it announces."""

    plan: Plan
    key: str
    at: datetime
    source: str
    content: str
    step: PlanStep | None = None
    by: str = ""
    gate: Gate | None = None

    @property
    def id(self) -> str:
        return str(uuid5(self.plan.pk, self.key))

    def to_object(self, user_id: str) -> dict[str, Any]:
        return {
            "id": self.id,
            "data_type": "agent_message",
            "session_id": session_of(self.plan),
            "user_id": user_id,
            "plan_id": str(self.plan.pk),
            "content": self.content,
            "source": self.source,
            "ts": isoformat(self.at),
            "step_id": str(self.step.pk) if self.step else None,
        }


def gates_in_messages(messages: Iterable[ThreadMessage]) -> dict[UUID, int]:
    """Return the pending gates that these messages announce, by step."""
    pending = ((one.step, one.gate) for one in messages if one.step and one.gate and is_pending(one.gate))
    return {step.pk: gate.pk for step, gate in pending}


def messages_of_plan(plan: Plan) -> list[ThreadMessage]:
    """Return the messages of a plan, oldest first."""
    steps = {step.number: step for step in plan.steps.all()}
    task = ThreadMessage(plan, "task", plan.run.created, HUMAN, plan.task, by=plan.run.asked_by)
    later = [*_plans(plan), *_gates(plan, steps), *_steps(plan, steps), *_words(plan, steps)]
    messages = [task, *sorted(later, key=lambda one: one.at)]
    return [*messages, *_end(plan, messages[-1].at)]


def _plans(plan: Plan) -> Iterator[ThreadMessage]:
    by_rule = {one.content for one in plan.messages.all() if one.source == MANAGER}
    for one in plan.revisions.all():
        if one.planned and not (one.questions and one.questions in by_rule):
            content = one.questions or one.thought or f"Revision {plan.revision_number(one)}."
            yield ThreadMessage(plan, f"revision-{one.number}", one.planned, PLANNER, content)


def _gates(plan: Plan, steps: dict[int, PlanStep]) -> Iterator[ThreadMessage]:
    for gate in plan.run.gates.all():
        step = steps.get(number_of(gate) or 0)
        if not (gate.kind == ApprovalKind.QUESTION and step is None):  # questions of the planner are in _plans
            agent = gate.kind == ApprovalKind.QUESTION and step
            asked = ThreadMessage(
                plan, f"gate-{gate.pk}", gate.made, agent.owner if agent else MANAGER, gate.text, step
            )
            yield replace(asked, gate=gate)
        for one in visible_decisions(gate):
            by = HUMAN if one.by and not one.of_council else MANAGER
            yield ThreadMessage(plan, f"decision-{one.pk}", one.made, by, _decided(one), step, one.by)


def _decided(one: GateDecision) -> str:
    words = feedback_words(one)
    if one.decision == DecisionValue.ANSWER and words:
        return words
    said = EVENT_LABELS[DecisionValue(one.decision)] + (f" ({one.choice})" if one.choice else "")
    return f"{said}: {words}" if words else f"{said}."


def _steps(plan: Plan, steps: dict[int, PlanStep]) -> Iterator[ThreadMessage]:
    for step in steps.values():
        action = ""
        for state in step.history:
            action = state.action or action
            key = f"step-{step.number}-{state.number}"
            if state.event in (StepEvent.BEGIN, StepEvent.AGAIN):
                yield ThreadMessage(plan, key, state.made, MANAGER, action, step)
            elif state.event in (StepEvent.REPLY, StepEvent.GIVE_UP):
                yield _ended(plan, key, step, state)


def _ended(plan: Plan, key: str, step: PlanStep, state: PlanStepState) -> ThreadMessage:
    said = reply_of(step) if state.event == StepEvent.REPLY else state.why
    return ThreadMessage(plan, key, state.made, _who_ended(step, state), said, step, state.by_name)


def _who_ended(step: PlanStep, state: PlanStepState) -> str:
    """Return who ended a step: its agent by a move, a person at a gate, or the rules."""
    if state.by_name or step.agent is None:
        return HUMAN
    acts = {move.act for move in step.moves.all() if move.series == state.series}
    return step.owner if acts & {AgentAct.REPLY, AgentAct.GIVE_UP} else MANAGER


def _words(plan: Plan, steps: dict[int, PlanStep]) -> Iterator[ThreadMessage]:
    """Yield saved messages of people and rules, without those that decisions or ends of steps already have."""
    ended = {f"{step}: {state.why}" for step in steps.values() for state in step.history}  # yielded by _steps
    at_gates = Counter(filter(None, map(_gate_text, plan.run.gates.all())))
    for one in plan.messages.all():
        text = (one.by_name, one.to_step, one.content)
        if one.source not in (HUMAN, MANAGER) or one.content in ended:
            continue
        if one.source == HUMAN and at_gates[text]:
            at_gates[text] -= 1
            continue
        yield ThreadMessage(
            plan, f"message-{one.number}", one.made, one.source, one.content, steps.get(one.to_step), one.by_name
        )


def _gate_text(gate: Gate) -> tuple[str, int, str] | None:
    """Return author, step and text of a decision, as `plans.gate_decisions` saves them as a message."""
    text = clean_storable_text(str(gate.answer or gate.words or ""))
    return (gate.last_decision.by, number_of(gate) or 0, text) if gate.last_decision and text else None


def _end(plan: Plan, last: datetime) -> Iterator[ThreadMessage]:
    run = plan.run
    if run.is_ended and run.ended:
        at = max(run.ended, last)  # the end is by the database's clock, which may differ
        yield ThreadMessage(plan, f"end-{run.retries}", at, MANAGER, _how_it_ended(plan))


def _how_it_ended(plan: Plan) -> str:
    run = plan.run
    if run.status == Run.Status.FAILED:
        return str((run.error or {}).get("message", "It failed."))
    if run.status == Run.Status.CANCELLED:
        return f"Cancelled by {run.cancelled_by_name}." if run.cancelled_by_name else "Cancelled."
    return f"{plan.summary}\n\nWhat tools did: {figures_of(plan)}" if plan.summary else ""
