"""The pages of crews with their versions and missions, and the form that edits them."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from engine.decoding import UnknownEncoding, decoded
from runs.forms import parse_number, posted_values
from runs.presets import NAME_LENGTH, PresetChanged, views
from runs.procedure.spec import specs
from runs.rights import SEE

from .. import team_files
from ..models import Crew, CrewVersion, Mission
from ..models.presets import AGENT
from ..presets import AGENT_RIGHTS, READ_TOOLS, describe_changes
from ..rules import MOST
from ..team_files import InvalidMissionTeamFile

ALL, READING, AS_THEY_ARE = "all", "reads", "own"
MARKDOWN = "text/markdown; charset=utf-8"
NO_PERMISSION_TEXT = "You may not make crews. Ask who administers this site for the right to."


@require_GET
def team_page(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(Crew.objects.select_related("owner"), pk=pk)
    context = views.preset_page(request, found, _versions(found), describe_changes)
    return _shown(request, "crew", context, crew_version__crew=found)


@require_GET
def version(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    context = views.version_page(found := get_object_or_404(Crew, pk=pk), _versions(found), number, describe_changes)
    return _shown(request, "version", context, crew_version=context["version"])


def _shown(request: HttpRequest, page: str, context: dict[str, Any], **used: Any) -> HttpResponse:
    missions = SEE.within(Mission.objects.all(), request.user, owner="run__owner").filter(**used)
    context |= views.preset_uses(specs()["mission"], missions, "crew_version")
    return render(request, f"missions/crews/{page}.html", context)


def _versions(crew: Crew) -> list[CrewVersion]:
    return list(crew.versions.select_related("author"))


@require_GET
def file(request: HttpRequest, pk: int) -> HttpResponse:
    current = get_object_or_404(Crew.objects.with_content(), pk=pk).current
    if request.GET.get("as") == "markdown":
        headers = {"Content-Disposition": f'attachment; filename="crew-{pk}.md"'}
        return HttpResponse(team_files.team_file_markdown(current), content_type=MARKDOWN, headers=headers)
    headers = {"Content-Disposition": f'attachment; filename="crew-{pk}.json"'}
    return HttpResponse(team_files.team_file_text(current), content_type="application/json", headers=headers)


@require_POST
def switch_team(request: HttpRequest, pk: int) -> HttpResponse:
    views.switch_preset(request, get_object_or_404(Crew, pk=pk), "missions")
    return redirect("crew", pk)


# ---- the form ---------------------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """A form for a new crew, or for a copy of one."""
    if not request.user.has_perm("missions.add_crew"):
        raise PermissionDenied(NO_PERMISSION_TEXT)
    if request.method == "POST":
        return _posted(request, None)
    original = Crew.objects.with_content().filter(pk=parse_number(request.GET.get("from", ""))).first()
    if original is None or original.current is None:
        return _form(request, None, {"name": "", "agents": [AGENT]})
    name = f"Copy of {original.name}"[:NAME_LENGTH]
    return _form(request, None, {"name": name, **original.current.held()})


@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(Crew.objects.with_content(), pk=pk)
    views.refuse_editor(found, request.user)
    if request.method == "POST":
        return _posted(request, found)
    return _form(request, found, {"name": found.name, **found.current.held()}, opened=found.number)


def _posted(request: HttpRequest, crew: Crew | None) -> HttpResponse:
    posted, opened = posted_values(request.POST), parse_number(request.POST.get("version", ""))
    do, typed = posted.get("do", ""), _typed(posted)
    if do == "read":
        return _read(request, crew, typed, opened)
    if do == "add" and len(typed["agents"]) < MOST["agents"]:
        typed["agents"].append(AGENT)
        return _form(request, crew, typed, opened=opened)
    if do.startswith("remove-"):
        del typed["agents"][parse_number(do.removeprefix("remove-")) - 1 : parse_number(do.removeprefix("remove-"))]
        return _form(request, crew, typed, opened=opened)
    return _saved(request, crew, typed, opened)


def _typed(posted: Mapping[str, str]) -> dict[str, Any]:
    agents = []
    for number in range(1, MOST["agents"] + 1):
        begins = f"a{number}-"
        if f"{begins}name" in posted:
            own = [one for one in posted.get(f"{begins}own", "").split(",") if one]
            tools = {ALL: None, READING: list(READ_TOOLS)}.get(posted.get(f"{begins}tools", ALL), own or None)
            rights = [name for name in AGENT_RIGHTS if f"{begins}{name}" in posted]
            said = {name: posted.get(f"{begins}{name}", "").strip() for name in ("name", "description", "model")}
            agents.append({**said, "tools": tools, "rights": rights})
    return {
        "name": posted.get("name", "").strip(),
        "agents": agents,
        **{name: posted.get(name, "").strip() for name in ("good_for", "customs")},
    }


def _read(request: HttpRequest, crew: Crew | None, typed: dict[str, Any], opened: int) -> HttpResponse:
    """Fill in the form from an uploaded file, without saving it."""
    sent = next(iter(request.FILES.getlist("file")), None)
    try:
        found = team_files.parse_team_file(decoded(sent.read(team_files.LONGEST * 4)).text if sent else "")
    except (UnknownEncoding, InvalidMissionTeamFile) as error:
        problems = error.problems if isinstance(error, InvalidMissionTeamFile) else [("", f"The file {error}")]
        return _form(request, crew, typed, opened=opened, problems=problems, status=422)
    return _form(request, crew, {"name": found.name, **found.held}, opened=opened)


def _saved(request: HttpRequest, crew: Crew | None, typed: dict[str, Any], opened: int) -> HttpResponse:
    try:
        read = team_files.parse_team(typed)
        if crew is None:
            made = Crew.objects.create_first(name=read.name, owner=request.user, **read.held)
            return redirect("crew", made.pk)
        crew.revise(name=read.name, author=request.user, opened=opened, **read.held)
    except InvalidMissionTeamFile as wrong:
        return _form(request, crew, typed, opened=opened, problems=wrong.problems, status=422)
    except IntegrityError:
        taken = [("name", "Another crew has this name. Give this one another.")]
        return _form(request, crew, typed, opened=opened, problems=taken, status=422)
    except PresetChanged:
        number = Crew.objects.with_content().get(pk=crew.pk).number if crew else 0
        said = f"Version {number} was saved meanwhile. Your text is below; saving it now replaces that one."
        return _form(request, crew, typed, opened=number, problems=[("", said)], status=409)
    return redirect("crew", crew.pk)


def _form(
    request: HttpRequest, crew: Crew | None, typed: dict[str, Any], opened: int = 0, status: int = 200, **more: Any
) -> HttpResponse:
    agents = [_agent(number, one) for number, one in enumerate(typed["agents"], 1)]
    context = {
        "crew": crew,
        "typed": typed,
        "agents": agents,
        "opened": opened,
        "rights": AGENT_RIGHTS,
        "page": "library",
    }
    return render(request, "missions/crews/form.html", {**context, **more}, status=status)


def _agent(number: int, one: Mapping[str, Any]) -> dict[str, Any]:
    tools = one["tools"]
    which = ALL if tools is None else READING if list(tools) == list(READ_TOOLS) else AS_THEY_ARE
    return {**one, "number": number, "which": which, "own": ",".join(tools or ())}
