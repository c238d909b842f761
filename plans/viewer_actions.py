"""Parts of a plan's live page that depend on the viewer: pending gates, and forms for messages and changes."""

from typing import Any

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse

from engine.models import Gate, Run
from runs.approvals.pending import gate_context
from runs.rights import SEE, STEER

from .display import message_readers
from .models import Plan, PlanStep
from .models.queries import is_pending_at, owners_of
from .prompts.planner import PERSON

ALL_BEFORE = "all"


def viewer_context(plan: Plan, request: HttpRequest) -> dict[str, Any]:
    """Return the pending gates as this user sees them, by the position of their step, and who reads messages."""
    user = request.user
    places: dict[int, list[str]] = {}
    for gate in Gate.objects.with_decisions().filter(run=plan.pk).pending():
        part = render_to_string("runs/_at_gate.html", gate_context(gate, user, {}), request)
        places.setdefault(_place_of(plan, gate), []).append(part)
    spoken = {**message_readers(plan), "is_own": bool(plan.run.owner_id) and plan.run.owner_id == user.pk}
    spoken["may_speak"] = STEER.covers(user, plan.run) and bool(spoken["hearers"] or spoken["planner_hears"])
    return {"gate_panels": places, "earlier": _earlier(plan, user), "own_matter": _own_matter(plan, user), **spoken}


def _earlier(plan: Plan, user: Any) -> Run | None:
    """Return the run of the example plan, if this user may see it."""
    found = Run.objects.filter(plan=plan.earlier_id).first() if plan.earlier_id else None
    return found if found and SEE.covers(user, found) else None


def _own_matter(plan: Plan, user: Any) -> str:
    """Return the URL of the project for its owner; empty for others."""
    there = plan.matter and plan.matter.owner_id == user.pk and plan.matter.erased is None
    return reverse("plan-matter", args=[plan.matter_id]) if there else ""


def _place_of(plan: Plan, gate: Gate) -> int:
    """Return the position of the gate's step; 0 for a gate of the plan itself."""
    return next((place for place, step in enumerate(plan.steps_now, 1) if is_pending_at(gate, step)), 0)


def step_edit_form(plan: Plan, step: PlanStep) -> dict[str, Any]:
    """Return template variables of the form that changes a step: owners with tools, and current values."""
    owners = [
        {
            "name": owner.name,
            "person": owner.name == PERSON,
            "checked": owner.name == step.owner,
            "tools": [
                (tool.name, tool.effect, owner.name == step.owner and tool.name in step.tools) for tool in owner.tools
            ],
        }
        for owner in owners_of(plan.agents)
    ]
    before = [one.number for one in plan.steps_now if one.position < step.position]
    needs = ALL_BEFORE if step.needs is None else ", ".join(map(str, step.needs))
    return {"owners": owners, "action": step.action, "needs": needs, "before": before}
