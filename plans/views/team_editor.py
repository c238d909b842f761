"""Pages that create and change a team, as a form or as one text; each takes over what was typed on the other.

They work without scripts: buttons add and remove agents and tasks.
"""

import re
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from engine.councils import with_name_now
from engine.decoding import UnknownEncoding, decoded
from engine.llm import model_list
from engine.tools import available_tools, server_tools
from runs import retention
from runs.forms import parse_number, posted_values
from runs.presets import NAME_LENGTH, PresetChanged, views

from .. import team_files
from ..models import Team, TeamVersion
from ..models.presets import NOTHING, TeamAgentRow
from ..policy_suggestions import suggested_policy
from ..rules.approval_policy import POLICIES
from ..rules.enums import StepEffect
from ..team_formset import (
    MOST,
    TeamSubmission,
    TextSubmission,
    compact_demand,
    forms_to_policy,
    policy_to_forms,
    posted_team_values,
)
from .teams import changes_between, versions_of

AS_TEXT, AS_FORM = "as-text", "as-form"
CHANGE = re.compile(r"(add|remove)-(agent|example)(?:-(\d{1,2}))?")
READY_MADE = re.compile(r"policy-(.+)")
FIRST = {"agent": "name", "example": "task"}  # field with the focus after adding one


@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Show or post a new team: empty, or a copy."""
    if not request.user.has_perm("plans.add_team"):
        raise PermissionDenied("You may not make teams. Ask who administers this site for the right to.")
    if request.method == "POST":
        return _posted(request, None)
    return _opened(request, None, _copied(request.GET.get("from", "")))


@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    team = get_object_or_404(Team.objects.with_content(), pk=pk)
    views.refuse_editor(team, request.user)
    if request.method == "POST":
        return _posted(request, team)
    holds = {"name": team.name, **team.current.held()}
    if request.GET.get("ease") == StepEffect.WRITES:
        return _opened(request, team, holds | {"policy": suggested_policy(holds["policy"])}, eased=True)
    return _opened(request, team, holds)


def _copied(pk: str) -> dict[str, Any]:
    """Return the content of a copy; one empty agent if there is no such team."""
    original = Team.objects.with_content().filter(pk=parse_number(pk)).first()
    if original is None or original.current is None:
        return {"agents": [NOTHING]}
    name = f"Copy of {original.name}"[:NAME_LENGTH]
    return {"name": name, "retention_days": original.retention_days, **original.current.held()}


def _opened(request: HttpRequest, team: Team | None, holds: dict[str, Any], **more: Any) -> HttpResponse:
    opened = team.number if team else 0
    if request.GET.get("as") == "text":
        return _text_page(request, team, opened, _as_text(holds))
    return _form_page(request, team, opened, TeamSubmission(team=team, gone=_gone(), **holds), **more)


def _posted(request: HttpRequest, team: Team | None) -> HttpResponse:
    posted = posted_values(request.POST)
    opened, do = parse_number(posted.get("version", "")), posted.get("do", "")
    if "text" in posted or request.FILES:
        return _text_posted(request, team, opened, posted)
    if do == AS_TEXT:
        return _text_page(request, team, opened, _as_text(posted_team_values(posted)), posted=posted)
    if changed := _changed(do, posted):
        typed, focus = changed
        again = TeamSubmission(
            team=team, gone=_gone(), **{**typed, "retention_days": parse_number(typed["retention_days"])}
        )
        return _form_page(request, team, opened, again, focus=focus)
    return _form_saved(request, team, opened, TeamSubmission(posted, team=team, gone=_gone()))


def _changed(do: str, posted: Mapping[str, str]) -> tuple[dict[str, Any], str] | None:
    """Return the typed values after a button that saves nothing, and the field that gets the focus."""
    typed = posted_team_values(posted)
    if change := CHANGE.fullmatch(do):
        what, noun, number = change.groups()
        some: list[Any] = typed[f"{noun}s"]
        if what == "add":
            some.append(NOTHING if noun == "agent" else "")
            return typed, f"{noun[0]}{len(some)}-{FIRST[noun]}"
        del some[int(number or 0) - 1 : int(number or 0)]
        return typed, f"add-{noun}"
    if (chosen := READY_MADE.fullmatch(do)) and chosen[1] in POLICIES:
        return typed | {"policy": POLICIES[chosen[1]].as_json()}, chosen[1]
    return None


# ---- the form --------------------------------------------------------------------------------------------------


def _form_saved(request: HttpRequest, team: Team | None, opened: int, form: TeamSubmission) -> HttpResponse:
    if not form.is_valid():
        return _form_page(request, team, opened, form, status=422)
    try:
        return _saved(request, team, opened, form)
    except PresetChanged:
        overtaken = _overtaken(team, opened)
        return _form_page(request, team, overtaken["version"].number, form, status=409, overtaken=overtaken)
    except IntegrityError:
        form.refuse_name()
        return _form_page(request, team, opened, form, status=422)


def _form_page(
    request: HttpRequest, team: Team | None, opened: int, form: TeamSubmission, status: int = 200, **more: Any
) -> HttpResponse:
    context = {
        "submission": form,
        "form": form.own,
        "problems": form.problems,
        "room": {"agent": len(form.agents) < MOST["agent"], "example": len(form.examples) < MOST["example"]},
        "spare": len(form.agents) > 1,
        "ready_made": list(POLICIES),
        "models": model_list.offered_models(model_list.declared_models()),
        **_common(team, opened),
        **more,
    }
    return render(request, "plans/teams/form.html", context, status=status)


def _common(team: Team | None, opened: int) -> dict[str, Any]:
    return {
        "team": team,
        "opened": opened,
        "obligation": retention.OBLIGATION,
        "default_model": settings.DEFAULT_MODEL,
        "page": "library",
    }


def _gone() -> frozenset[str]:
    """Return the names of tools in teams that no longer exist."""
    named = TeamAgentRow.objects.filter(version__in=Team.objects.values("current")).values_list("tools", flat=True)
    return frozenset(name for some in named for name in some) - available_tools("plan").keys() - set(server_tools())


def _overtaken(team: Team | None, opened: int) -> dict[str, Any]:
    """Return what somebody saved meanwhile: to save again is then the user's decision."""
    versions: list[TeamVersion] = versions_of(get_object_or_404(Team, pk=team.pk if team else 0))
    seen = next((version for version in versions if version.number == opened), None)
    return {"version": versions[0], "changes": changes_between(seen, versions[0]) if seen else []}


# ---- the text --------------------------------------------------------------------------------------------------


def _as_text(holds: Mapping[str, Any]) -> str:
    """Return the team as a text that `team_files` reads. It does not contain the retention."""
    held = policy_to_forms(holds["policy"]) if "policy" in holds else {}
    demands = {key: compact_demand(with_name_now(demand)) for key, demand in held.items()}
    policy = forms_to_policy(demands, holds["policy"]["ahead"]) if demands else POLICIES["Careful"].as_json()
    own = {name: holds.get(name, "") for name in ("name", "description", "planner")}
    lists = {"examples": holds.get("examples", []), "agents": holds["agents"]}
    return team_files.as_json({**own, "policy": policy, **lists})


def _text_posted(request: HttpRequest, team: Team | None, opened: int, posted: Mapping[str, str]) -> HttpResponse:
    text = posted.get("text", "")
    try:
        read = team_files.parse_team_file(text := _submitted_text(request, text))
    except team_files.InvalidTeamFile as wrong:
        return _text_page(request, team, opened, text, 422, posted=posted, problems=wrong.problems)
    if posted.get("do") == AS_FORM:
        kept = {"retention_days": parse_number(posted.get("retention_days", "")), "short": "short" in posted}
        form = TeamSubmission(team=team, gone=_gone(), name=read.name, **{**read.held, **kept})
        return _form_page(request, team, opened, form, left_out=read.left_out)
    form_of_text = TextSubmission(read, posted, team)
    if not form_of_text.is_valid():
        return _text_page(request, team, opened, text, 422, posted=posted, problems=form_of_text.problems)
    return _text_saved(request, team, opened, form_of_text, text, posted)


def _text_saved(
    request: HttpRequest, team: Team | None, opened: int, form: TextSubmission, text: str, posted: Mapping[str, str]
) -> HttpResponse:
    try:
        return _saved(request, team, opened, form)
    except PresetChanged:
        overtaken = _overtaken(team, opened)
        number = overtaken["version"].number
        return _text_page(request, team, number, text, 409, posted=posted, overtaken=overtaken)
    except IntegrityError:
        form.refuse_name()
        return _text_page(request, team, opened, text, 422, posted=posted, problems=form.problems)


def _submitted_text(request: HttpRequest, text: str) -> str:
    """Return the text of the uploaded file, else `text`. Raises InvalidTeamFile if the file is too large or no
    text."""
    sent = request.FILES.get("file")
    if sent is None:
        return text
    if (sent.size or 0) > team_files.LONGEST * 4:
        raise team_files.InvalidTeamFile([("file", f"It is too large: {team_files.LONGEST:,} characters are taken.")])
    try:
        return decoded(sent.read()).text
    except UnknownEncoding as error:
        raise team_files.InvalidTeamFile([("file", f"It {error}")]) from error


def _text_page(
    request: HttpRequest,
    team: Team | None,
    opened: int,
    text: str,
    status: int = 200,
    posted: Mapping[str, str] | None = None,
    **more: Any,
) -> HttpResponse:
    days = (team or Team()).kept_days
    start = {"retention_days": days, "short": retention.is_below_half_year(days)}
    typed = {name: (posted or {}).get(name, "") for name in start if name in (posted or {})}
    known = [
        (tool.name, str(tool.effect).replace("_", " "), tool.description) for tool in available_tools("plan").values()
    ]
    context = {"text": text, "kept": typed if posted else start, "tools": known, **_common(team, opened), **more}
    return render(request, "plans/teams/text.html", context, status=status)


# ---- saved -----------------------------------------------------------------------------------------------------


def _saved(request: HttpRequest, team: Team | None, opened: int, form: TeamSubmission | TextSubmission) -> HttpResponse:
    """Save the team. Raises PresetOutOfDate, and IntegrityError if the name is taken."""
    if team is None:
        team = Team.objects.create_first(owner=request.user, retention_days=form.retention_days, **form.values())
        message = "The team is saved."
    else:
        message = views.revise_preset(team, form, request.user, opened)
    messages.success(request, " ".join([message, *(f"Left out: {one}" for one in getattr(form, "left_out", ()))]))
    return redirect("team", team.pk)
