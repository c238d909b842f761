"""The HTTP API of plan teams: reading, exporting, and creating or changing them from files."""

from http import HTTPStatus
from typing import Annotated, Any

from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from ninja import Body, Query, Router
from pydantic import WithJsonSchema

from runs.api.errors import ApiError, field_errors
from runs.api.responses import json_response, reject_unknown_parameters
from runs.api.saved import list_answer, part, saved_one
from runs.api.scopes import TokenScope, credential_of, requires_scope
from runs.presets import PresetChanged
from runs.procedure.schemas import SoughtSaved, location_response, problem_responses

from . import schemas, team_files
from .models import Team, TeamVersion
from .responses import team_fields
from .team_files import ParsedTeam
from .team_formset import TextSubmission

router = Router()

NEEDED = {"name": {"type": "string", "minLength": 1}, "agents": {"type": "array", "minItems": 1, "maxItems": 8}}
TeamFile = Annotated[
    dict[str, Any],
    WithJsonSchema({"type": "object", "required": [*NEEDED], "properties": NEEDED}),
    Body(description="`name`, one to eight `agents`, and optional keys; unknown keys are listed in the answer."),
]
Opened = Annotated[int | None, Query(ge=1, description="The version that you changed; 409 if another one is current.")]


@router.get(
    "/teams", response=schemas.TeamListOut, openapi_extra=problem_responses(422), summary="List the teams that can plan"
)
def teams(request: HttpRequest, asked: Query[SoughtSaved]) -> HttpResponse:
    """Names of teams and agents. With `full`: tools, policy and instructions, too."""
    reject_unknown_parameters(request, *SoughtSaved.model_fields)
    found = [one.current for one in Team.objects.available().with_content() if one.current]
    return list_answer(asked, found, short=_in_short, whole=_whole)


@router.post(
    "/teams",
    response={201: schemas.TeamSavedOut},
    openapi_extra=problem_responses(400, 403, 413, 415, 422, also={201: location_response("team")}),
    summary="Create a team from a file",
)
@requires_scope(TokenScope.DECIDE, "plan")
def make_team(request: HttpRequest, asked: TeamFile) -> HttpResponse:
    """Takes the format of `GET /teams/{name}/file`, or one with `system_message`, `deployment_name` and
    `starting_tasks`. `left_out` lists the parts that were not used. Needs the scope `decide`, since a policy decides
    what needs no approval."""
    owner = credential_of(request).owner
    if not owner.has_perm("plans.add_team"):
        raise ApiError(403, "You may not make teams. Ask who administers this site for the right to.")
    submission = _checked(asked, None)
    try:
        team = Team.objects.create_first(owner=owner, **submission.values())
    except IntegrityError as error:
        raise _taken(submission) from error
    headers = {"Location": f"{request.path}/{team.pk}"}
    return _saved(team, submission.read, HTTPStatus.CREATED, headers)


@router.get(
    "/teams/{name}",
    response=schemas.TeamDetailOut,
    openapi_extra=problem_responses(404, 422),
    summary="One team, by name or id",
)
def team(request: HttpRequest, name: str) -> HttpResponse:
    """The current version, with the agents' instructions."""
    reject_unknown_parameters(request)
    return json_response(_whole(_named(name)))


@router.get(
    "/teams/{name}/file",
    response={200: schemas.TeamFileIn},
    openapi_extra=problem_responses(404, 422),
    summary="Export a team as a file",
)
def team_file(request: HttpRequest, name: str) -> HttpResponse:
    """The format that `POST /teams` and `manage.py team_import` take, also on other installations."""
    reject_unknown_parameters(request)
    return json_response(team_files.team_file_object(_named(name)))


@router.put(
    "/teams/{name}",
    response={200: schemas.TeamSavedOut},
    openapi_extra=problem_responses(400, 403, 404, 409, 413, 415, 422),
    summary="Save a file as the next version of a team",
)
@requires_scope(TokenScope.DECIDE, "plan")
def change_team(request: HttpRequest, name: str, asked: TeamFile, version: Opened = None) -> HttpResponse:
    """Plans that have started keep their version. If nothing differs, there is no new version. Needs the scope
    `decide`, as creating a team does."""
    reject_unknown_parameters(request, "version")
    saved, owner = _named(name).team, credential_of(request).owner
    if not saved.is_editable_by(owner):
        raise ApiError(403, f"You may not change the team “{saved.name}”. Ask its owner, or who administers this site.")
    submission = _checked(asked, saved)
    try:
        saved.revise(author=owner, opened=version or saved.number, **submission.values())
    except PresetChanged as error:
        number = Team.objects.get(pk=saved.pk).number
        raise ApiError(409, f"“{saved.name}” has version {number} now, not {version or saved.number}.") from error
    except IntegrityError as error:
        raise _taken(submission) from error
    return _saved(saved, submission.read, HTTPStatus.OK)


def _checked(asked: TeamFile, saved: Team | None) -> TextSubmission:
    try:
        submission = TextSubmission(team_files.parse_team(asked), {}, saved)
    except team_files.InvalidTeamFile as wrong:
        raise field_errors(wrong.problems) from wrong
    if not submission.is_valid():
        raise field_errors(submission.problems)
    return submission


def _taken(submission: TextSubmission) -> ApiError:
    submission.refuse_name()
    return field_errors(submission.problems)


def _saved(team: Team, read: ParsedTeam, status: int, headers: dict[str, str] | None = None) -> HttpResponse:
    current: TeamVersion = Team.objects.with_content().get(pk=team.pk).current
    return json_response({"team": _whole(current), "left_out": list(read.left_out)}, status, headers)


def _named(which: str) -> TeamVersion:
    found: TeamVersion = saved_one(Team, which).current
    return found


def _in_short(version: TeamVersion) -> dict[str, Any]:
    found = team_fields(version)
    agents = [part(agent, "name", "model") for agent in found["agents"]]
    return {**part(found, "id", "name", "version", "description"), "agents": agents}


def _whole(version: TeamVersion) -> dict[str, Any]:
    """Return a team with instructions of its agents and the retention of its plans' texts."""
    agents = zip(team_fields(version)["agents"], version.agents.all(), strict=True)
    detailed = [{**agent, "system": row.system, "fallback": row.fallback or None} for agent, row in agents]
    days = version.team.kept_days
    own = {"planner": version.planner or None, "examples": version.examples, "retention_days": days or None}
    return {**team_fields(version), **own, "agents": detailed}
