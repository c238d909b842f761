"""Sessions, plans, steps and tools under the names of the other planner."""

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
WELL = (PlanOutcome.DONE, PlanOutcome.CLAIMED)  # the other planner has no status for claimed; texts say it
ADDRESSED = (Gate.State.APPROVED, Gate.State.ANSWERED)


def session_of(plan: Plan) -> str:
    """Return the session_id that the client sent with the first task."""
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
    """Return the step's own gates and those within it, oldest first."""
    return [gate for gate in plan.run.gates.all() if is_pending_at(gate, step)]


def is_pending(gate: Gate) -> bool:
    """Tell whether the gate can be decided; gates of ended runs cannot."""
    return gate.pending and not gate.run.is_ended


def sent_gates(plan: Plan) -> dict[UUID, int]:
    """Return the pending gates of the steps in an answer, by step. Gates within steps are sent with messages."""
    own = {gate.step: gate.pk for gate in plan.run.gates.all() if is_pending(gate) and gate.kind == ApprovalKind.STEP}
    return {step.pk: own[step.gate_step] for step in plan.steps_now if step.gate_step in own}


def step_object(step: PlanStep, plan: Plan, user_id: str) -> dict[str, Any]:
    gates = gates_at(plan, step)
    decision = max((one for gate in gates for one in visible_decisions(gate)), key=lambda one: one.pk, default=None)
    ended = step.status in (StepStatus.COMPLETED, StepStatus.FAILED)
    return {
        "id": str(step.pk),
        "data_type": "step",
        "plan_id": str(plan.pk),
        "session_id": session_of(plan),
        "user_id": (decision and decision.by) or user_id,
        "action": step.first_action,
        "agent": step.owner,
        "status": status_of(step, gates),
        "agent_reply": (reply_of(step) or step.error or None) if ended else None,
        "human_feedback": feedback_words(decision) or None,
        "human_feedback_status": step_feedback(step, gates),
        "updated_action": step.action if step.action != step.first_action else None,
        "ts": isoformat(_changed(step, gates)),
    }


def reply_of(step: PlanStep) -> str:
    """Return the reply of a completed step; a note comes first if no tool call shows it."""
    return noted(note_of(step), step.reply) if step.status == StepStatus.COMPLETED else ""


def visible_decisions(gate: Gate) -> list[GateDecision]:
    """Return the decisions at a gate, without a council's while it is hidden from people who still decide."""
    found = [one for one in gate.decisions.all() if one.decision not in NOT_DECIDED]
    return sorted((one for one in found if not (gate.hides and one.of_council)), key=lambda one: one.pk)


def feedback_words(decision: GateDecision | None) -> str:
    return str(decision.value or decision.text) if decision else ""


def status_of(step: PlanStep, gates: Sequence[Gate]) -> str:
    """Return the status under the other planner's names: `awaiting_feedback` whenever a gate of the step is pending,
    also one within it or after its failure."""
    asked = any(map(is_pending, gates))
    if asked and step.status in (StepStatus.WORKING, StepStatus.FAILED):
        return StepStatus.AWAITING.value
    if step.status == StepStatus.AWAITING and not asked:  # its gate is not open yet, or not any more
        return StepStatus.PLANNED.value
    return step.status


def step_feedback(step: PlanStep, gates: Sequence[Gate]) -> str | None:
    if not gates:
        return None
    newest = gates[-1]
    if is_pending(newest):
        return "pending"
    if newest.state in (Gate.State.VOID, Gate.State.PENDING):  # the step was changed, or the run has ended
        changed = any(one.event == StepEvent.CHANGED and one.by_name for one in step.history)
        return "addressed" if changed else None
    return "addressed" if newest.state in ADDRESSED else "rejected"


def _changed(step: PlanStep, gates: Sequence[Gate]) -> datetime:
    decided = [one.made for gate in gates for one in visible_decisions(gate)]
    return max([step.history[-1].made, *(gate.made for gate in gates), *decided])


# ---- sessions ---------------------------------------------------------------------------------------------


def session_object(matter: Project, plans: Sequence[Plan], user_id: str) -> dict[str, Any]:
    """Return the session object. `plans`: all plans of the project, newest first."""
    project = project_fields(matter, plans)
    return {
        "id": project["id"],
        "data_type": "session",
        "session_id": matter.name,
        "user_id": user_id,
        "content": project["title"] or matter.name,
        "current_status": project["current_status"],
        "message_to_user": project["message_to_user"],
        "ts": project["ts"],
    }


# ---- tools ------------------------------------------------------------------------------------------------


def tool_lines(teams: Sequence[TeamVersion]) -> Iterator[dict[str, Any]]:
    """Yield one object for each pair of agent and tool, without duplicates of agents in several teams."""
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
        yield name, {**_inline_references(one, shared), "required": name in required}


def _inline_references(part: Any, shared: Mapping[str, Any]) -> Any:
    """Replace each `$ref` by its definition: the part is sent without the rest of its schema."""
    if isinstance(part, list):
        return [_inline_references(one, shared) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return _inline_references(shared[part["$ref"].rpartition("/")[2]], shared)
    return {name: _inline_references(one, shared) for name, one in part.items()}
