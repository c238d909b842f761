"""The pages of teams: each with its versions and its plans."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from engine.tools import tools
from runs.asked_often import DAYS
from runs.face import faces
from runs.rights import SEE
from runs.views import changing

from .. import easing, team_files
from ..models import Plan, Team, TeamVersion
from ..rules.asking import asked
from ..rules.demands import Policy
from ..team_changes import changes


@require_GET
def team(request: HttpRequest, pk: int) -> HttpResponse:
    team = get_object_or_404(Team.objects.select_related("owner", "current"), pk=pk)
    context = changing.page_of(request, team, versions_of(team), changes_between)
    context |= {"eased": easing.of_team(team, request.user, timezone.now() - timedelta(days=DAYS))}
    return _shown(request, "team", context, team_version__team=team)


@require_GET
def version(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    team = get_object_or_404(Team, pk=pk)
    context = changing.version_of(team, versions_of(team), number, changes_between)
    return _shown(request, "version", context, team_version=context["version"])


def _shown(request: HttpRequest, page: str, context: dict[str, Any], **used: Any) -> HttpResponse:
    version, plans = context["version"], SEE.within(Plan.objects.all(), request.user, owner="run__owner").filter(**used)
    context |= changing.uses_of(faces()["plan"], plans, "team_version")
    context |= {"asked": list(asked(Policy.of(version.policy))), "agents": list(map(_agent, version.agents.all()))}
    return render(request, f"plans/teams/{page}.html", {**context, "default_model": settings.DEFAULT_MODEL})


def _agent(agent: Any) -> dict[str, Any]:
    """With what each of its tools does to the world; of one that is not there any more nothing is known."""
    known = tools("plan")
    effects = [(name, known[name].effect if name in known else "not there") for name in agent.tools_now]
    return {"row": agent, "tools": [(name, str(effect).replace("_", " ")) for name, effect in effects]}


def versions_of(team: Team) -> list[TeamVersion]:
    """Newest first, with author and what they hold: two queries."""
    return list(team.versions.select_related("author").prefetch_related("agents"))


def changes_between(before: TeamVersion, after: TeamVersion) -> list[str]:
    return changes((before.name, before.held()), (after.name, after.held()))


@require_GET
def file(request: HttpRequest, pk: int) -> HttpResponse:
    """What `team_import` takes, and the page of a new team."""
    version = get_object_or_404(Team.objects.whole(), pk=pk).current
    headers = {"Content-Disposition": f'attachment; filename="team-{pk}.json"'}
    return HttpResponse(team_files.written_as_file(version), content_type="application/json", headers=headers)


@require_POST
def switch(request: HttpRequest, pk: int) -> HttpResponse:
    changing.switch(request, get_object_or_404(Team, pk=pk), "plans")
    return redirect("team", pk)
