"""The HTTP API of missions. Authentication and error responses are in `magi_site.api`.

Why so: runs/DESIGN.md, The API.
"""

from functools import partial
from hashlib import sha256
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse

from engine.run_control import RunEnded
from runs.api.endpoints import run_router
from runs.api.errors import ApiError, FieldErrors, field_errors
from runs.api.idempotent_submit import IdempotencyHeader, submit_response
from runs.api.rate_limit_headers import count_submission
from runs.api.responses import get_run_or_refuse, json_response, reject_unknown_parameters, run_response
from runs.api.scopes import TokenScope, credential_of, requires_scope
from runs.procedure.schemas import location_response, problem_responses
from runs.rights import STEER

from . import attachments, comments, forms, memory_endpoints, procedure, publishing, schemas
from .egress_policy import APPROVER_CHOICES
from .models import Mission
from .models.files import patch_text
from .responses import output_fields, terminal_fields
from .spec import decides_about_branches

router = run_router("mission")
router.add_router("", memory_endpoints.router)
BUNDLED = {"content": {publishing.BUNDLE: {"schema": {"type": "string", "format": "binary"}}}}
MAILBOX = {"content": {publishing.MAILBOX: {"schema": {"type": "string", "format": "binary"}}}}
NO_COMMIT_TEXT = "There is no such commit of it on this machine."
FILES = "files"  # the parts of a multipart body
ENDED_TEXT = "The mission is over: nobody hears it any more. A new one can go on with its files."


@router.post(
    "/missions",
    response={202: schemas.MissionOut},
    openapi_extra=problem_responses(400, 402, 403, 404, 413, 415, 422, 429, also={202: location_response("mission")}),
    summary="Submit a goal",
)
@requires_scope(TokenScope.SUBMIT, "mission")
@count_submission
def submit_mission(request: HttpRequest, asked: schemas.NewMission, key: IdempotencyHeader = None) -> HttpResponse:
    """A crew of agents works towards it in a sandbox without network. 422 where this machine cannot confine commands.
    The same request with the same key returns the mission that was submitted first."""
    digests = [digest for file in request.FILES.getlist(FILES) for digest in (file.name or "", _digest(file))]
    return submit_response(request, "mission", asked, key, partial(_submit, request, asked), digests)


def _digest(file: UploadedFile) -> str:
    found = sha256()
    for chunk in file.chunks():
        found.update(chunk)
    file.seek(0)
    return found.hexdigest()


def _submit(request: HttpRequest, asked: schemas.NewMission, **once: str) -> Mission:
    given = {name: getattr(asked, name) for name in ("goal", "title", "crew", "model", "check", "spend", "git")}
    if strange := asked.policy.keys() - APPROVER_CHOICES.keys():
        raise field_errors([("policy", f"There is no {min(strange)[:60]}. There are {', '.join(APPROVER_CHOICES)}.")])
    given |= asked.policy
    crew = [one.model_dump() for one in asked.agents] if asked.agents is not None else None
    faults = FieldErrors()
    with faults.has():
        _check_may_continue(request, asked.mission)
    uploads = request.FILES.getlist(FILES)
    texts, no_texts = attachments.uploaded_texts(uploads)
    packed, not_taken = attachments.uploaded_archives(uploads)
    faults.add((FILES, said) for said in (*no_texts, *not_taken))
    files = [*packed.files, *((one.path, one.text) for one in asked.files), *texts]
    come: dict[str, Any] = {"note": packed.note, "repository": packed.repository}
    values, wrong = forms.submit_values(given, files, crew, asked.limits, asked.mission or "", **come)
    faults.add(wrong)
    faults.raise_if_any()
    return procedure.submit(owner=credential_of(request).owner, limited=True, **once, **values)


def _check_may_continue(request: HttpRequest, pk: str | None) -> None:
    """Raise for a mission to continue that the caller may not see."""
    try:
        if pk:
            get_run_or_refuse(request, UUID(pk), "mission")
    except ValueError as error:
        raise field_errors([("mission", "There is no such mission.")]) from error


@router.post(
    "/missions/{uuid:id}/messages",
    response={202: schemas.MissionOut},
    openapi_extra=problem_responses(400, 403, 404, 409, 413, 415, 422),
    summary="Say something to the crew of a mission",
)
@requires_scope(TokenScope.STEER, "mission")
def post_mission_message(request: HttpRequest, id: UUID, asked: schemas.MissionMessageIn) -> HttpResponse:
    """The agent reads it before its next step; an agent that has stopped is woken."""
    get_run_or_refuse(request, id, "mission", STEER)
    try:
        comments.post_message(id, credential_of(request).owner, asked.text, asked.to)
    except comments.InvalidMessage as wrong:
        raise field_errors([("text", str(wrong))]) from wrong
    except RunEnded as over:
        raise ApiError(409, ENDED_TEXT) from over
    return run_response(request, get_run_or_refuse(request, id, "mission"), HTTPStatus.ACCEPTED)


@router.post(
    "/missions/{uuid:id}/pause",
    response={202: schemas.MissionOut},
    openapi_extra=problem_responses(403, 404, 409, 415),
    summary="Pause a mission",
)
@requires_scope(TokenScope.STEER, "mission")
def pause_mission(request: HttpRequest, id: UUID) -> HttpResponse:
    """It takes effect after the tool calls that are running. Terminals keep running."""
    return _paused(request, id, True)


@router.post(
    "/missions/{uuid:id}/resume",
    response={202: schemas.MissionOut},
    openapi_extra=problem_responses(403, 404, 409, 415),
    summary="Let a paused mission go on",
)
@requires_scope(TokenScope.STEER, "mission")
def resume_mission(request: HttpRequest, id: UUID) -> HttpResponse:
    return _paused(request, id, False)


def _paused(request: HttpRequest, pk: UUID, on: bool) -> HttpResponse:
    get_run_or_refuse(request, pk, "mission", STEER)
    try:
        comments.pause(pk, credential_of(request).owner, on)
    except (comments.MessageRefused, RunEnded) as refused:
        raise ApiError(409, ENDED_TEXT if isinstance(refused, RunEnded) else str(refused)) from refused
    return run_response(request, get_run_or_refuse(request, pk, "mission"), HTTPStatus.ACCEPTED)


@router.get(
    "/missions/{uuid:id}/bundle",
    openapi_extra=problem_responses(404, 422, also={200: BUNDLED}),
    summary="Get the branches that a mission has published, as one file that git reads",
)
def mission_bundle(request: HttpRequest, id: UUID) -> HttpResponse:
    """404 where nothing was published, or it was published on another machine."""
    reject_unknown_parameters(request)
    get_run_or_refuse(request, id, "mission")
    if (data := publishing.read_bundle(id)) is None:
        raise ApiError(404, "Nothing of it was published on this machine.")
    return HttpResponse(data, content_type=publishing.BUNDLE)


@router.get(
    "/missions/{uuid:id}/commits/{commit}",
    openapi_extra=problem_responses(404, 422, also={200: BUNDLED}),
    summary="Get a commit that a gate asks about, as one file that git reads",
)
def mission_commit(request: HttpRequest, id: UUID, commit: str) -> HttpResponse:
    """Exactly what would be published. 404 where the commit was made on another machine."""
    _check_may_read_branches(request, id)
    if (data := publishing.bundled_commit(id, commit)) is None:
        raise ApiError(404, NO_COMMIT_TEXT)
    return HttpResponse(data, content_type=publishing.BUNDLE)


@router.get(
    "/missions/{uuid:id}/commits/{commit}/mailbox",
    openapi_extra=problem_responses(404, 422, also={200: MAILBOX}),
    summary="Get the commits of a crew up to this one, as git am takes them",
)
def mission_commit_mailbox(request: HttpRequest, id: UUID, commit: str) -> HttpResponse:
    """404 where the mission did not begin with a repository, or works on another machine."""
    _check_may_read_branches(request, id)
    return _mailbox(id, commit, NO_COMMIT_TEXT)


def _check_may_read_branches(request: HttpRequest, pk: UUID) -> None:
    """Approvers of a branch may read it without any other right to the mission."""
    reject_unknown_parameters(request)
    if not decides_about_branches(credential_of(request).owner, pk):
        get_run_or_refuse(request, pk, "mission")


@router.get(
    "/missions/{uuid:id}/mailbox",
    openapi_extra=problem_responses(404, 422, also={200: MAILBOX}),
    summary="Get all commits of a mission that is over, as git am takes them",
)
def mission_mailbox(request: HttpRequest, id: UUID) -> HttpResponse:
    """The last commit has what was not committed. 404 where it is not over, did not begin with a repository, or works
    on another machine."""
    reject_unknown_parameters(request)
    get_run_or_refuse(request, id, "mission")
    return _mailbox(id, publishing.ended_with(id), "There are no commits of it on this machine, or it is not over.")


def _mailbox(pk: UUID, commit: str, missing: str) -> HttpResponse:
    if (data := publishing.mailed(pk, commit)) is None:
        raise ApiError(404, missing)
    return HttpResponse(data, content_type=publishing.MAILBOX)


@router.get(
    "/missions/{uuid:id}/patch",
    response=schemas.PatchOut,
    openapi_extra=problem_responses(404, 422),
    summary="Get what a mission has changed, as one difference",
)
def mission_patch(request: HttpRequest, id: UUID) -> HttpResponse:
    reject_unknown_parameters(request)
    return json_response({"patch": patch_text(get_run_or_refuse(request, id, "mission").files.all())})


@router.get(
    "/missions/{uuid:id}/terminals/{int:number}",
    response=schemas.TerminalOut,
    openapi_extra=problem_responses(404, 422),
    summary="Get a command of a mission, with what it said",
)
def mission_terminal(request: HttpRequest, id: UUID, number: int) -> HttpResponse:
    """Of a running command, its output so far and its present screen."""
    reject_unknown_parameters(request)
    row = get_run_or_refuse(request, id, "mission")
    one = next((one for one in row.terminals.all() if one.number == number), None)
    if one is None:
        raise ApiError(404, "There is no such terminal.")
    return json_response(terminal_fields(one) | output_fields(one))
