"""The HTTP API of missions. Who calls, and what an error looks like, is the site's business.

Why so: docs/decisions.md, The API.
"""

from functools import partial
from http import HTTPStatus
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from engine.steering import Over
from runs.api.answers import answer, found, json_answer, take_only
from runs.api.endpoints import router_of
from runs.api.limits import submits
from runs.api.refusals import Faults, Refusal, wrong_fields
from runs.api.schemas import placed, problems
from runs.api.scopes import Scope, credential, needs
from runs.api.submitting import OnceKey, submitted
from runs.rights import STEER

from . import forms, memory_endpoints, procedure, publishing, schemas, talking
from .api import said_object, terminal_object
from .leaving import WHO
from .models import Mission
from .models.files import patch_of
from .pages import decides_about_branches

router = router_of("mission")
router.add_router("", memory_endpoints.router)
BUNDLED = {"content": {publishing.BUNDLE: {"schema": {"type": "string", "format": "binary"}}}}
OVER = "The mission is over: nobody hears it any more. A new one can go on with its files."


@router.post(
    "/missions",
    response={202: schemas.Mission},
    openapi_extra=problems(400, 402, 403, 404, 413, 415, 422, 429, also={202: placed("mission")}),
    summary="Submit a goal",
)
@needs(Scope.SUBMIT, "mission")
@submits
def submit_mission(request: HttpRequest, asked: schemas.NewMission, key: OnceKey = None) -> HttpResponse:
    """A crew of agents pursues it in a sandbox without network. 422 where no command can be held on this machine. The
    same request under the same key brings the mission that was submitted first."""
    return submitted(request, "mission", asked, key, partial(_submit, request, asked))


def _submit(request: HttpRequest, asked: schemas.NewMission, **once: str) -> Mission:
    given = {name: getattr(asked, name) for name in ("goal", "title", "crew", "model", "check", "spend", "git")}
    if strange := asked.policy.keys() - WHO.keys():
        raise wrong_fields([("policy", f"There is no {min(strange)[:60]}. There are {', '.join(WHO)}.")])
    given |= asked.policy
    crew = [one.model_dump() for one in asked.agents] if asked.agents is not None else None
    files = [(one.path, one.text) for one in asked.files]
    faults = Faults()
    with faults.noted():
        _see(request, asked.mission)
    values, wrong = forms.asked(given, files, crew, asked.limits, asked.mission or "")
    faults.add(wrong)
    faults.refuse()
    return procedure.submit(owner=credential(request).owner, limited=True, **once, **values)


def _see(request: HttpRequest, pk: str | None) -> None:
    """Nobody goes on with what they may not see."""
    try:
        if pk:
            found(request, UUID(pk), "mission")
    except ValueError as error:
        raise wrong_fields([("mission", "There is no such mission.")]) from error


@router.post(
    "/missions/{uuid:id}/messages",
    response={202: schemas.Mission},
    openapi_extra=problems(400, 403, 404, 409, 413, 415, 422),
    summary="Say something to the crew of a mission",
)
@needs(Scope.STEER, "mission")
def say_to_mission(request: HttpRequest, id: UUID, asked: schemas.MissionWords) -> HttpResponse:
    """Read before the next step of whom it is for; who has stopped is woken."""
    found(request, id, "mission", STEER)
    try:
        talking.say(id, credential(request).owner, asked.text, asked.to)
    except talking.Wrong as wrong:
        raise wrong_fields([("text", str(wrong))]) from wrong
    except Over as over:
        raise Refusal(409, OVER) from over
    return answer(request, found(request, id, "mission"), HTTPStatus.ACCEPTED)


@router.post(
    "/missions/{uuid:id}/pause",
    response={202: schemas.Mission},
    openapi_extra=problems(403, 404, 409, 415),
    summary="Pause a mission",
)
@needs(Scope.STEER, "mission")
def pause_mission(request: HttpRequest, id: UUID) -> HttpResponse:
    """It takes effect after the acts that are under way. Terminals live on."""
    return _paused(request, id, True)


@router.post(
    "/missions/{uuid:id}/resume",
    response={202: schemas.Mission},
    openapi_extra=problems(403, 404, 409, 415),
    summary="Let a paused mission go on",
)
@needs(Scope.STEER, "mission")
def resume_mission(request: HttpRequest, id: UUID) -> HttpResponse:
    return _paused(request, id, False)


def _paused(request: HttpRequest, pk: UUID, on: bool) -> HttpResponse:
    found(request, pk, "mission", STEER)
    try:
        talking.pause(pk, credential(request).owner, on)
    except (talking.Refused, Over) as refused:
        raise Refusal(409, OVER if isinstance(refused, Over) else str(refused)) from refused
    return answer(request, found(request, pk, "mission"), HTTPStatus.ACCEPTED)


@router.get(
    "/missions/{uuid:id}/bundle",
    openapi_extra=problems(404, 422, also={200: BUNDLED}),
    summary="Get the branches that a mission has published, as one file that git reads",
)
def mission_bundle(request: HttpRequest, id: UUID) -> HttpResponse:
    """404 where nothing was published, or on another machine."""
    take_only(request)
    found(request, id, "mission")
    if (data := publishing.bundled(id)) is None:
        raise Refusal(404, "Nothing of it was published on this machine.")
    return HttpResponse(data, content_type=publishing.BUNDLE)


@router.get(
    "/missions/{uuid:id}/commits/{commit}",
    openapi_extra=problems(404, 422, also={200: BUNDLED}),
    summary="Get a commit that a gate asks about, as one file that git reads",
)
def mission_commit(request: HttpRequest, id: UUID, commit: str) -> HttpResponse:
    """All bytes that would be published. 404 where it was made on another machine."""
    take_only(request)
    if not decides_about_branches(credential(request).owner, id):
        found(request, id, "mission")
    if (data := publishing.bundled_commit(id, commit)) is None:
        raise Refusal(404, "There is no such commit of it on this machine.")
    return HttpResponse(data, content_type=publishing.BUNDLE)


@router.get(
    "/missions/{uuid:id}/patch",
    response=schemas.Patch,
    openapi_extra=problems(404, 422),
    summary="Get what a mission has changed, as one difference",
)
def mission_patch(request: HttpRequest, id: UUID) -> HttpResponse:
    take_only(request)
    return json_answer({"patch": patch_of(found(request, id, "mission").files.all())})


@router.get(
    "/missions/{uuid:id}/terminals/{int:number}",
    response=schemas.Terminal,
    openapi_extra=problems(404, 422),
    summary="Get a command of a mission, with what it said",
)
def mission_terminal(request: HttpRequest, id: UUID, number: int) -> HttpResponse:
    """What one that lives has said so far, and its screen as it is now."""
    take_only(request)
    row = found(request, id, "mission")
    one = next((one for one in row.terminals.all() if one.number == number), None)
    if one is None:
        raise Refusal(404, "There is no such terminal.")
    return json_answer(terminal_object(one) | said_object(one))
