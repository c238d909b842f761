"""What the live page of a mission shows to one person alone: what may be decided there, whose steps are looked at."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.template.loader import render_to_string

from engine.models import Gate
from runs.deciding import at_gate, may_see
from runs.forms import as_number

from .models import Mission
from .rules import COORDINATOR
from .tools.publish import PUBLISH_COMMIT


def beside(mission: Mission, request: HttpRequest) -> dict[str, Any]:
    asked = as_number(request.GET.get("focus", ""))
    numbers = [one.number for one in mission.crew_list]
    gates = Gate.objects.whole().filter(run=mission.pk).pending() if not mission.run.over else ()
    parts = [render_to_string("runs/_at_gate.html", at_gate(gate, request.user, {}), request) for gate in gates]
    return {"focus": asked if asked in numbers else COORDINATOR, "at": {0: parts}}


def decides_about_branches(user: Any, mission: UUID) -> bool:
    """Whether somebody is asked whether a branch of it leaves, and so may read all of that."""
    return any(may_see(gate, user) for gate in Gate.objects.whole().filter(run=mission, tool=PUBLISH_COMMIT))
