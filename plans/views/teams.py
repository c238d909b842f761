"""The pages of teams: each with its versions and its plans, and the one on which a team is written as a file."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from engine.tools import tools
from runs.face import faces
from runs.forms import as_number, as_typed
from runs.rights import SEE
from runs.saved import NAME_LENGTH, RevisedMeanwhile
from runs.views import changing

from .. import team_files
from ..models import Plan, Team, TeamVersion
from ..rules.asking import asked
from ..rules.demands import Policy
from ..team_changes import changes

TAKEN = "Another team has this name. Choose a different one."
OVERTAKEN = "Somebody saved a newer version meanwhile. It stands on the team's page; what you wrote is still here."


@require_GET
def team(request: HttpRequest, pk: int) -> HttpResponse:
    team = get_object_or_404(Team.objects.select_related("owner"), pk=pk)
    context = changing.page_of(request, team, _versions(team), _changes)
    return _shown(request, "team", context, team_version__team=team)


@require_GET
def version(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    team = get_object_or_404(Team, pk=pk)
    context = changing.version_of(team, _versions(team), number, _changes)
    return _shown(request, "version", context, team_version=context["version"])


def _shown(request: HttpRequest, page: str, context: dict[str, Any], **used: Any) -> HttpResponse:
    version, plans = context["version"], SEE.within(Plan.objects.all(), request.user, owner="run__owner").filter(**used)
    context |= changing.uses_of(faces()["plan"], plans, "team_version")
    context |= {"asked": list(asked(Policy.of(version.policy))), "agents": list(map(_agent, version.agents.all()))}
    return render(request, f"plans/teams/{page}.html", {**context, "default_model": settings.DEFAULT_MODEL})


def _agent(agent: Any) -> dict[str, Any]:
    """With what each of its tools does to the world; of one that is not there any more nothing is known."""
    known = tools()
    effects = [(name, known[name].effect if name in known else "not there") for name in agent.tools]
    return {"row": agent, "tools": [(name, str(effect).replace("_", " ")) for name, effect in effects]}


def _versions(team: Team) -> list[TeamVersion]:
    """Newest first, with author and what they hold: two queries."""
    return list(team.versions.select_related("author").prefetch_related("agents"))


def _changes(before: TeamVersion, after: TeamVersion) -> list[str]:
    return changes((before.name, before.held()), (after.name, after.held()))


@require_GET
def file(request: HttpRequest, pk: int) -> HttpResponse:
    """What `team_import` takes, and the page of a new team."""
    version = get_object_or_404(Team.objects.whole(), pk=pk).current
    headers = {"Content-Disposition": f'attachment; filename="team-{pk}.json"'}
    return HttpResponse(team_files.written_as_file(version), content_type="application/json", headers=headers)


@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """A team of a file: a copy of one, or what is pasted or sent."""
    if not request.user.has_perm("plans.add_team"):
        raise PermissionDenied("You may not make teams. Ask who administers this site for the right to.")
    if request.method == "GET":
        return _form(request, _copied(request.GET.get("from", "")))
    text = as_typed(request.POST).get("text", "")
    try:
        read = team_files.read(text := _sent(request))
        saved = Team.objects.found(name=read.name, owner=request.user, **read.held)
    except team_files.Wrong as wrong:
        return _form(request, text, 422, problems=wrong.problems)
    except IntegrityError:
        return _form(request, text, 422, problems=[("name", TAKEN)])
    return _saved(request, saved, read)


def _copied(pk: str) -> str:
    original = Team.objects.offered().whole().filter(pk=as_number(pk)).first()
    original = original or Team.objects.offered().whole().order_by("pk").first()
    if original is None or original.current is None:
        return ""
    version = original.current
    version.name = f"Copy of {version.name}"[:NAME_LENGTH]
    return team_files.written_as_file(version)


def _sent(request: HttpRequest) -> str:
    """The file where one came, else what stands in the field. Wrong, where a file is too large or no text."""
    sent = request.FILES.get("file")
    if sent is None:
        return as_typed(request.POST).get("text", "")
    if (sent.size or 0) > team_files.LONGEST * 4:
        raise team_files.Wrong([("file", f"It is too large: {team_files.LONGEST:,} characters are taken.")])
    try:
        return sent.read().decode()
    except UnicodeDecodeError as error:
        raise team_files.Wrong([("file", "It is no text in UTF-8.")]) from error


@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    team = get_object_or_404(Team.objects.whole(), pk=pk)
    changing.refuse_changer(team, request.user)
    if request.method == "GET":
        return _form(request, team_files.written_as_file(team.current), team=team, opened=team.number)
    text, opened = as_typed(request.POST).get("text", ""), as_number(request.POST.get("version", ""))
    try:
        read = team_files.read(text := _sent(request))
        team.revise(name=read.name, author=request.user, opened=opened, **read.held)
    except team_files.Wrong as wrong:
        return _form(request, text, 422, team=team, opened=opened, problems=wrong.problems)
    except RevisedMeanwhile:
        newest = Team.objects.get(pk=pk).number
        return _form(request, text, 409, team=team, opened=newest, problems=[("", OVERTAKEN)])
    except IntegrityError:
        return _form(request, text, 422, team=team, opened=opened, problems=[("name", TAKEN)])
    return _saved(request, team, read)


def _saved(request: HttpRequest, team: Team, read: team_files.TeamRead) -> HttpResponse:
    messages.success(request, " ".join(["The team is saved.", *(f"Left out: {one}" for one in read.left_out)]))
    return redirect("team", team.pk)


def _form(request: HttpRequest, text: str, status: int = 200, **more: Any) -> HttpResponse:
    context = {"text": text, "tools": _tools(), "page": "library", **more}
    return render(request, "plans/teams/form.html", context, status=status)


def _tools() -> list[tuple[str, str, str]]:
    return [(tool.name, str(tool.effect).replace("_", " "), tool.description) for tool in tools().values()]


@require_POST
def switch(request: HttpRequest, pk: int) -> HttpResponse:
    changing.switch(request, get_object_or_404(Team, pk=pk), "plans")
    return redirect("team", pk)
