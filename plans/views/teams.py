"""Pages of plan teams, their versions and plans."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from engine.tools import available_tools
from runs.approvals.stats import DAYS
from runs.presets import views
from runs.procedure.spec import specs
from runs.rights import SEE

from .. import policy_suggestions, team_files
from ..models import Plan, Team, TeamVersion
from ..presets import describe_changes
from ..rules.approval_policy import TeamPolicy
from ..rules.policy_text import policy_lines


@require_GET
def team(request: HttpRequest, pk: int) -> HttpResponse:
    team = get_object_or_404(Team.objects.select_related("owner", "current"), pk=pk)
    context = views.preset_page(request, team, versions_of(team), changes_between)
    context |= {
        "eased": policy_suggestions.suggestions_for_team(team, request.user, timezone.now() - timedelta(days=DAYS))
    }
    return _shown(request, "team", context, team_version__team=team)


@require_GET
def version(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    team = get_object_or_404(Team, pk=pk)
    context = views.version_page(team, versions_of(team), number, changes_between)
    return _shown(request, "version", context, team_version=context["version"])


def _shown(request: HttpRequest, page: str, context: dict[str, Any], **used: Any) -> HttpResponse:
    version, plans = context["version"], SEE.within(Plan.objects.all(), request.user, owner="run__owner").filter(**used)
    context |= views.preset_uses(specs()["plan"], plans, "team_version")
    context |= {
        "asked": list(policy_lines(TeamPolicy.of(version.policy))),
        "agents": list(map(_agent, version.agents.all())),
    }
    return render(request, f"plans/teams/{page}.html", {**context, "default_model": settings.DEFAULT_MODEL})


def _agent(agent: Any) -> dict[str, Any]:
    """Return the agent with the effects of its tools; those that no longer exist have none."""
    known = available_tools("plan")
    effects = [(name, known[name].effect if name in known else "not there") for name in agent.tools_now]
    return {"row": agent, "tools": [(name, str(effect).replace("_", " ")) for name, effect in effects]}


def versions_of(team: Team) -> list[TeamVersion]:
    """Return all versions, newest first, with authors and agents, in two queries."""
    return list(team.versions.select_related("author").prefetch_related("agents"))


def changes_between(before: TeamVersion, after: TeamVersion) -> list[str]:
    return describe_changes((before.name, before.held()), (after.name, after.held()))


@require_GET
def file(request: HttpRequest, pk: int) -> HttpResponse:
    """Download the team as the file that `team_import` and the page of a new team take."""
    version = get_object_or_404(Team.objects.with_content(), pk=pk).current
    headers = {"Content-Disposition": f'attachment; filename="team-{pk}.json"'}
    return HttpResponse(team_files.team_file_text(version), content_type="application/json", headers=headers)


@require_POST
def switch(request: HttpRequest, pk: int) -> HttpResponse:
    views.switch_preset(request, get_object_or_404(Team, pk=pk), "plans")
    return redirect("team", pk)
