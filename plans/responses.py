"""Fields of plans, teams and tools in API responses, in addition to those of every run."""

import json
from collections.abc import Iterator
from typing import Any

from engine import mcp
from engine.models import McpLeftOut
from engine.tools import available_tools
from runs.forking import origin_facts
from runs.run_object import isoformat

from .models import Plan, PlanStep, TeamVersion
from .models.queries import figures_of, has_untrusted_input, note_of, possible_actions, step_situation
from .rules import scheduling
from .rules.enums import StepStatus


def plan_fields(row: Plan) -> dict[str, Any]:
    version = row.team_version
    return {
        "task": row.task,
        "team": {"id": version.team_id, "name": version.name, "version": version.number},
        "matter": (row.matter.name or None) if row.matter else None,
        "from": str(row.earlier_id) if row.earlier_id else None,
        "forked": origin_facts(row.run),
        "policy": row.policy,
        "plan_revision": row.revision,
        "questions": row.current.questions.splitlines(),
        "counts": vars(scheduling.counts(map(step_situation, row.steps_now))),
        "actions": possible_actions(row),
        "steps": [step_fields(row, step) for step in row.steps_now],
        "summary": row.summary,
        "figures": figures_of(row),
        "tainted": has_untrusted_input(row),
        "rehearsal": row.rehearsal,
    }


def facts_of_list(row: Plan) -> dict[str, Any]:
    version = row.team_version
    return {
        "team": {"id": version.team_id, "name": version.name, "version": version.number},
        "matter": (row.matter.name or None) if row.matter else None,
        "rehearsal": row.rehearsal,
    }


def step_fields(plan: Plan, step: PlanStep) -> dict[str, Any]:
    waits = step.status == StepStatus.AWAITING and not plan.run.is_ended  # an ended plan asks nobody
    return {
        "number": step.number,
        "owner": step.owner,
        "action": step.action,
        "first_action": step.first_action,
        "tools": step.tools,
        "tools_due": step.tools_due,
        "needs": step.needs,
        "effect": step.effect,
        "status": step.status if waits or step.status != StepStatus.AWAITING else StepStatus.PLANNED,
        "actions": possible_actions(plan, step),
        "skipped": step.skipped,
        "reply": step.reply or None,
        "claimed": bool(note_of(step)),
        "note": note_of(step) or None,
        "error": step.error or None,
        "calls": [_call(move.tool_call) for move in step.moves.all() if move.tool_call],
        "began": isoformat(step.began),
    }


def _call(call: Any) -> dict[str, Any]:
    arguments = json.loads(call.arguments) if call.arguments else {}
    return {
        **{"tool": call.tool, "effect": call.effect, "status": call.status},
        **{"arguments": arguments, "output": call.output, "error": call.error},
    }


def team_fields(version: TeamVersion) -> dict[str, Any]:
    agents = [
        {"name": one.name, "description": one.description, "model": one.model or None, "tools": one.tools}
        for one in version.agents.all()
    ]
    named = {"id": version.team_id, "name": version.name, "version": version.number}
    return {**named, "description": version.description, "policy": version.policy, "agents": agents}


def tool_fields() -> Iterator[dict[str, Any]]:
    for tool in available_tools("plan").values():
        fields = {"name": tool.name, "description": tool.description, "effect": tool.effect, "source": tool.source}
        yield {**fields, "arguments": tool.schema}


def tools_left_out() -> Iterator[dict[str, Any]]:
    for one in McpLeftOut.objects.filter(server__in=mcp.servers()):
        yield {"server": one.server, "why": one.why}
