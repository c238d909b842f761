"""Sessions, plans and steps by the names that the source gives to what they have."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from engine.models import Gate, GateDecision, Run
from engine.models.gates import NOT_DECIDED
from engine.tools import available_tools
from plans.models import Plan, PlanStep, Project, TeamVersion
from plans.models.queries import is_pending_at, note_of
from plans.projects import project_fields
from plans.rules import scheduling
from plans.rules.approval_policy import ApprovalKind
from plans.rules.claims import noted
from plans.rules.enums import PlanOutcome, StepEvent, StepStatus
from runs.run_object import isoformat

IN_PROGRESS, COMPLETED, FAILED, CANCELED = "in_progress", "completed", "failed", "canceled"
OF_RUN = {Run.Status.FAILED: FAILED, Run.Status.CANCELLED: CANCELED}
WELL = (PlanOutcome.DONE, PlanOutcome.CLAIMED)  # they know no word for what was only claimed: their texts say it
ADDRESSED = (Gate.State.APPROVED, Gate.State.ANSWERED)


def session_of(plan: Plan) -> str:
    """The string that was sent at first."""
    return plan.matter.name if plan.matter else ""


def overall_status(run: Run) -> str:
    if run.status == Run.Status.FINISHED:
        return COMPLETED if run.outcome in WELL else FAILED
    return OF_RUN.get(Run.Status(run.status), IN_PROGRESS)


# ---- plans ------------------------------------------------------------------------------------------------


def plan_object(plan: Plan, user_id: str) -> dict[str, Any]:
    return {**plan_summary(plan, user_id), "steps": [step_object(step, plan, user_id) for step in plan.steps_now]}


def plan_summary(plan: Plan, user_id: str) -> dict[str, Any]:
    counted = scheduling.counts(scheduling.StepSituation(one.number, StepStatus(one.status)) for one in plan.steps_now)
    return {
        "id": str(plan.pk),
        "data_type": "plan",
        "session_id": session_of(plan),
        "user_id": user_id,
        "initial_goal": plan.task,
        "overall_status": overall_status(plan.run),
        "ts": isoformat(plan.run.created),
        "total_steps": counted.total,
        "completed_steps": counted.completed,
        "pending_steps": counted.pending,
    }


# ---- steps ------------------------------------------------------------------------------------------------


def gates_at(plan: Plan, step: PlanStep) -> list[Gate]:
    """Its own, and those within it, oldest first."""
    return [gate for gate in plan.run.gates.all() if is_pending_at(gate, step)]


def is_pending(gate: Gate) -> bool:
    """Of a run that has ended nothing is."""
    return gate.pending and not gate.run.is_ended


def sent_gates(plan: Plan) -> dict[UUID, int]:
    """The gates about its steps as they stand in an answer. What is asked within a step, its messages tell."""
    own = {gate.step: gate.pk for gate in plan.run.gates.all() if is_pending(gate) and gate.kind == ApprovalKind.STEP}
    return {step.pk: own[step.gate_step] for step in plan.steps_now if step.gate_step in own}


def step_object(step: PlanStep, plan: Plan, user_id: str) -> dict[str, Any]:
    gates = gates_at(plan, step)
    said = max((one for gate in gates for one in gate_message(gate)), key=lambda one: one.pk, default=None)
    ended = step.status in (StepStatus.COMPLETED, StepStatus.FAILED)
    return {
        "id": str(step.pk),
        "data_type": "step",
        "plan_id": str(plan.pk),
        "session_id": session_of(plan),
        "user_id": (said and said.by) or user_id,
        "action": step.first_action,
        "agent": step.owner,
        "status": status_of(step, gates),
        "agent_reply": (reply_of(step) or step.error or None) if ended else None,
        "human_feedback": feedback_words(said) or None,
        "human_feedback_status": step_feedback(step, gates),
        "updated_action": step.action if step.action != step.first_action else None,
        "ts": isoformat(_changed(step, gates)),
    }


def reply_of(step: PlanStep) -> str:
    """After the sentence that no tool call shows it, where that is so."""
    return noted(note_of(step), step.reply) if step.status == StepStatus.COMPLETED else ""


def gate_message(gate: Gate) -> list[GateDecision]:
    """What was said there, and may be shown: not yet what a council says that is hidden."""
    found = [one for one in gate.decisions.all() if one.decision not in NOT_DECIDED]
    return sorted((one for one in found if not (gate.hides and one.of_council)), key=lambda one: one.pk)


def feedback_words(said: GateDecision | None) -> str:
    return str(said.value or said.text) if said else ""


def status_of(step: PlanStep, gates: Sequence[Gate]) -> str:
    """It awaits feedback as long as something can be said: also of what is asked within it, or after it has failed."""
    asked = any(map(is_pending, gates))
    if asked and step.status in (StepStatus.WORKING, StepStatus.FAILED):
        return StepStatus.AWAITING.value
    if step.status == StepStatus.AWAITING and not asked:  # just about to be asked, or not asked any more
        return StepStatus.PLANNED.value
    return step.status


def step_feedback(step: PlanStep, gates: Sequence[Gate]) -> str | None:
    if not gates:
        return None
    newest = gates[-1]
    if is_pending(newest):
        return "pending"
    if newest.state in (
        Gate.State.VOID,
        Gate.State.PENDING,
    ):  # another text was given to it, or nothing is asked any more
        changed = any(one.event == StepEvent.CHANGED and one.by_name for one in step.history)
        return "addressed" if changed else None
    return "addressed" if newest.state in ADDRESSED else "rejected"


def _changed(step: PlanStep, gates: Sequence[Gate]) -> datetime:
    said = [one.made for gate in gates for one in gate_message(gate)]
    return max([step.history[-1].made, *(gate.made for gate in gates), *said])


# ---- sessions ---------------------------------------------------------------------------------------------


def session_object(matter: Project, plans: Sequence[Plan], user_id: str) -> dict[str, Any]:
    """`plans`: all of it, newest first."""
    told = project_fields(matter, plans)
    return {
        "id": told["id"],
        "data_type": "session",
        "session_id": matter.name,
        "user_id": user_id,
        "content": told["title"] or matter.name,
        "current_status": told["current_status"],
        "message_to_user": told["message_to_user"],
        "ts": told["ts"],
    }


# ---- tools ------------------------------------------------------------------------------------------------


def tool_lines(teams: Sequence[TeamVersion]) -> Iterator[dict[str, Any]]:
    """One for each agent and tool, however many teams have that agent."""
    known = available_tools("plan")
    pairs = dict.fromkeys(
        (agent.name, name) for team in teams for agent in team.agents.all() for name in agent.tools_now
    )
    for agent, name in pairs:
        if tool := known.get(name):
            arguments = dict(_arguments(tool.schema))
            yield {"agent": agent, "function": name, "description": tool.description, "arguments": arguments}


def _arguments(schema: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    shared, required = schema.get("$defs", {}), schema.get("required", ())
    for name, one in schema.get("properties", {}).items():
        yield name, {**_whole(one, shared), "required": name in required}


def _whole(part: Any, shared: Mapping[str, Any]) -> Any:
    """With what it refers to in its place, for it stands without the rest of its schema."""
    if isinstance(part, list):
        return [_whole(one, shared) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return _whole(shared[part["$ref"].rpartition("/")[2]], shared)
    return {name: _whole(one, shared) for name, one in part.items()}
