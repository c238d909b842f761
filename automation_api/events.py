"""Events of a plan under the names of the other planner, derived from rows."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from engine.ledger.entries import ENDED, RETRIED, AuditEntry
from engine.models import Gate, Run
from plans.models import Plan, PlanStep, PlanStepMove, PlanStepState
from plans.models.queries import number_of
from plans.prompts.planner import PERSON
from plans.rules.approval_policy import ApprovalKind
from plans.rules.enums import StepEvent, StepStatus
from runs.run_object import isoformat

from .messages import ThreadMessage, messages_of_plan
from .objects import COMPLETED, FAILED, IN_PROGRESS, OF_RUN, WELL, reply_of, session_of


@dataclass(frozen=True)
class AutomationEvent:
    """`key`: unique in the plan. `message`: the message that a `group_chat_message` event is about."""

    plan: Plan
    key: str
    at: datetime
    name: str
    data: dict[str, Any]
    message: ThreadMessage | None = None


def events_of_plan(plan: Plan, user_id: str) -> list[AutomationEvent]:
    """Return the events of a plan, oldest first. Needs moves with their texts."""
    found = [*_messages(plan), *_asked(plan, user_id), *_steps(plan, user_id), *_states(plan, user_id)]
    return sorted([*found, *_requests(plan, user_id)], key=lambda one: one.at)


def _messages(plan: Plan) -> Iterator[AutomationEvent]:
    for said in messages_of_plan(plan):
        data: dict[str, Any] = {
            "message_id": said.id,
            "session_id": session_of(plan),
            "user_id": said.by or said.source,
        }
        data |= {"content": said.content, "timestamp": isoformat(said.at)}
        yield AutomationEvent(plan, f"said-{said.key}", said.at, "group_chat_message", data, said)


# ---- approval requests ------------------------------------------------------------------------------------


def _asked(plan: Plan, user_id: str) -> Iterator[AutomationEvent]:
    """Yield an event for each gate. If the policy opens the gates of all steps with the plan, the first gates of a
    revision's steps have one common event without a step."""
    gates, steps = list(plan.run.gates.all()), {step.number: step for step in plan.steps.all()}
    first = {gate.step: gate for gate in gates if gate.kind == ApprovalKind.STEP and gate.number == 1}
    ahead = set(first.values()) if plan.policy["ahead"] else set()
    for revision in plan.revisions.all() if ahead else ():
        planned = [step for step in steps.values() if step.first_in == revision.number]
        if at := _all_asked([step for step in planned if not _is_a_persons(step)], first):
            yield _request(plan, f"asked-all-{revision.number}", at, None, user_id)
    for gate in gates:
        step = steps.get(number_of(gate) or 0)
        if gate not in ahead and (step or gate.kind == ApprovalKind.PLAN):
            yield _request(plan, f"asked-{gate.pk}", gate.made, step, user_id)


def _request(plan: Plan, key: str, at: datetime, step: PlanStep | None, user_id: str) -> AutomationEvent:
    data: dict[str, Any] = {
        "step_id": str(step.pk) if step else None,
        "plan_id": str(plan.pk),
        "session_id": session_of(plan),
    }
    data |= {"approved": False, "human_feedback": "", "updated_action": "", "user_id": user_id}
    return AutomationEvent(plan, key, at, "approval_request", data)


def _is_a_persons(step: PlanStep) -> bool:
    return (step.history[0].held or {}).get("owner") == PERSON


def _all_asked(steps: Sequence[PlanStep], first: dict[str, Gate]) -> datetime | None:
    """Return when the last of these steps got its first gate, or can no longer get it; None while one still may."""
    times = [first[step.gate_step].made if step.gate_step in first else _let_go(step) for step in steps]
    if None in times or not any(step.gate_step in first for step in steps):
        return None
    return max(at for at in times if at)


def _let_go(step: PlanStep) -> datetime | None:
    for state in step.history:
        if state.status not in (StepStatus.PLANNED, StepStatus.AWAITING) or (state.held or {}).get("owner") == PERSON:
            return state.made
    return None


# ---- work -------------------------------------------------------------------------------------------------


def _steps(plan: Plan, user_id: str) -> Iterator[AutomationEvent]:
    for step in plan.steps.all():
        action, before = "", ""
        for state in step.history:
            action = state.action or action
            key = f"step-{step.number}-{state.number}"
            if state.event in (StepEvent.BEGIN, StepEvent.AGAIN):
                yield AutomationEvent(plan, key, state.made, "action_request", _begun(plan, step, action, user_id))
            elif before == StepStatus.WORKING and state.status in (StepStatus.COMPLETED, StepStatus.FAILED):
                yield AutomationEvent(plan, key, state.made, "action_response", _response(step, state, user_id))
            before = state.status


def _begun(plan: Plan, step: PlanStep, action: str, user_id: str) -> dict[str, Any]:
    named = {"session_id": session_of(plan), "plan_id": str(plan.pk), "step_id": str(step.pk)}
    return {**named, "action": action, "user_id": user_id}


def _response(step: PlanStep, state: PlanStepState, user_id: str) -> dict[str, Any]:
    moves = [move for move in step.moves.all() if move.series == state.series and move.tool_call]
    status = "success" if state.status == StepStatus.COMPLETED else "failure"
    message = reply_of(step) if state.status == StepStatus.COMPLETED else state.why
    return {"status": status, "message": message, "data": list(map(_given, moves)), "user_id": user_id}


def _given(move: PlanStepMove) -> dict[str, Any]:
    call = move.tool_call
    assert call  # noqa: S101 - the caller passes only moves with a call
    return {"function": call.tool, "status": call.status, "result": call.output or call.error}


def _requests(plan: Plan, user_id: str) -> Iterator[AutomationEvent]:
    for step in plan.steps.all():
        for move in (move for move in step.moves.all() if move.act == "ask"):
            data: dict[str, Any] = {
                "request_id": ThreadMessage(plan, move.key, move.made, "", "").id,
                "session_id": session_of(plan),
            }
            data |= {"user_id": user_id, "reason": move.thought or move.text, "timestamp": isoformat(move.made)}
            yield AutomationEvent(plan, f"ask-{move.key}", move.made, "request_to_speak", data)


# ---- status -----------------------------------------------------------------------------------------------


def _states(plan: Plan, user_id: str) -> Iterator[AutomationEvent]:
    """Yield each change of status from the audit log, since a failed plan may be retried and end again."""
    entries = AuditEntry.objects.filter(run=plan.pk, kind__in=(ENDED, RETRIED)).order_by("seq")
    for number, (at, state) in enumerate(_states_in(entries), 1):
        data: dict[str, Any] = {
            "plan_id": str(plan.pk),
            "session_id": session_of(plan),
            "new_state": state,
            "user_id": user_id,
        }
        data |= {"timestamp": isoformat(at)}
        yield AutomationEvent(plan, f"state-{number}", at, "plan_state_update", data)


def _states_in(entries: Iterable[AuditEntry]) -> Iterator[tuple[datetime, str]]:
    for entry in entries:
        line = json.loads(entry.line)
        state = IN_PROGRESS if entry.kind == RETRIED else _ended(line["facts"])
        yield datetime.fromisoformat(line["at"]), state


def _ended(facts: dict[str, Any]) -> str:
    if facts["status"] == Run.Status.FINISHED:
        return COMPLETED if facts["outcome"] in WELL else FAILED
    return OF_RUN[Run.Status(facts["status"])]
