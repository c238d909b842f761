"""The calls by which a program says where it is to be told of what happens, and looks how far each message came.

Why so: docs/decisions.md, Other doors.
"""

from http import HTTPStatus
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Field, Query, Router

from engine.models import What
from engine.web.addresses import NotRead
from runs import hook_forms
from runs.face import faces
from runs.models.hooks import ADDRESS_LENGTH, SAVED_LENGTH, Delivery, DeliveryState, Hook, Shape

from .answers import found, json_answer, take_only
from .objects import time_of
from .refusals import Refusal, wrong_fields
from .schemas import Identifier, Moment, Strict, problems, text
from .scopes import Scope, credential, needs

router = Router()
PAGE = 50
Before = Annotated[int, Query(ge=0, description="The id of the last one that is known already.")]


class NewHook(Strict):
    """Where to. Whatever is left out restricts nothing."""

    address: Annotated[str, text(ADDRESS_LENGTH, 1)]
    shape: Literal[*Shape.values] = Field(Shape.STANDARD, description="What a message looks like.")  # type: ignore[valid-type]
    kind: str = Field("", description="Of runs of this kind alone.")
    saved: str = Field(
        "", max_length=SAVED_LENGTH, description="Of runs by this saved set alone: the name that it has when they end."
    )
    run: Identifier | None = Field(None, description="Of this run alone.")
    what: Literal["", *What.values] = Field("", description="Of ends alone, or of gates alone.")  # type: ignore[valid-type]


class HookObject(Strict):
    id: int
    address: str
    shape: str
    kind: str
    saved: str
    run: Identifier | None
    what: str
    made: Moment


class MadeHook(HookObject):
    secret: str = Field(description="The key of its signatures, shown once, as verifiers of Standard Webhooks take it.")


class Hooks(Strict):
    results: list[HookObject]


class DeliveryObject(Strict):
    id: int
    message_id: str = Field(description="The header webhook-id of each attempt.")
    run: Identifier
    what: Literal[*What.values]  # type: ignore[valid-type]
    state: Literal[*DeliveryState.values]  # type: ignore[valid-type]
    attempts: int
    status: int | None = Field(description="Of the last answer.")
    error: str
    made: Moment
    due: Moment | None = Field(description="When it is tried next; null where it is over.")
    ended: Moment | None


class Deliveries(Strict):
    results: list[DeliveryObject]


@router.post(
    "/hooks",
    response={201: MadeHook},
    openapi_extra=problems(400, 403, 404, 409, 413, 415, 422),
    summary="Have messages sent somewhere",
    url_name="hooks",
)
@needs(Scope.TELL, "")
def make_hook(request: HttpRequest, asked: NewHook) -> HttpResponse:
    """Of what happens from now on to runs that the token's owner may see. 409 for more than twenty."""
    if asked.kind and asked.kind not in faces():
        raise wrong_fields([("kind", f"There is no such kind. There are: {', '.join(faces())}.")])
    try:
        address = hook_forms.address_of(asked.address)
    except NotRead as error:
        raise wrong_fields([("address", str(error))]) from error
    owner = credential(request).owner
    run = _run(request, asked.run) if asked.run else None
    if hook_forms.has_too_many(owner):
        raise Refusal(409, hook_forms.TOO_MANY)
    values = asked.model_dump(exclude={"address", "run"})
    hook = Hook.objects.create(owner=owner, address=address, run_id=run, **values)
    return json_answer({**_hook(hook), "secret": hook.secret}, HTTPStatus.CREATED)


def _run(request: HttpRequest, asked: str) -> Any:
    try:
        return found(request, UUID(asked)).pk
    except (Refusal, ValueError) as error:
        raise wrong_fields([("run", "There is no such run.")]) from error


@router.get(
    "/hooks", response=Hooks, openapi_extra=problems(403, 422), summary="Where messages are sent", url_name="hooks"
)
@needs(Scope.TELL, "")
def hooks(request: HttpRequest) -> HttpResponse:
    """Addresses are shown whole, and those of Slack, Mattermost and Teams let in whoever knows them."""
    take_only(request)
    return json_answer({"results": [_hook(one) for one in Hook.objects.filter(owner=credential(request).owner)]})


@router.delete(
    "/hooks/{int:id}", response={204: None}, openapi_extra=problems(403, 404), summary="Send no more messages there"
)
@needs(Scope.TELL, "")
def take_away_hook(request: HttpRequest, id: int) -> HttpResponse:
    _own(request, id).delete()
    return HttpResponse(status=HTTPStatus.NO_CONTENT)


@router.get(
    "/hooks/{int:id}/deliveries",
    response=Deliveries,
    openapi_extra=problems(404, 422),
    summary="How far messages came, newest first",
)
def deliveries(request: HttpRequest, id: int, before: Before = 0) -> HttpResponse:
    take_only(request, "before")
    rows = _own(request, id).deliveries.all()
    rows = rows.filter(pk__lt=before) if before else rows
    return json_answer({"results": [_delivery(one) for one in rows[:PAGE]]})


@router.post(
    "/hooks/{int:id}/deliveries/{int:number}/resend",
    response={202: DeliveryObject},
    openapi_extra=problems(403, 404, 409, 415),
    summary="Send a message once more",
)
@needs(Scope.TELL, "")
def resend(request: HttpRequest, id: int, number: int) -> HttpResponse:
    """Under the same id, and for another day. 409 while it is being sent."""
    one = _own(request, id).deliveries.filter(pk=number).first()
    if one is None:
        raise Refusal(404, "There is no such message.")
    if not one.resend():
        raise Refusal(409, "It is being sent right now.")
    one.refresh_from_db()
    return json_answer(_delivery(one), HTTPStatus.ACCEPTED)


def _own(request: HttpRequest, pk: int) -> Hook:
    hook = Hook.objects.filter(owner=credential(request).owner, pk=pk).first()
    if hook is None:
        raise Refusal(404, "There is no such hook.")
    return hook


def _hook(one: Hook) -> dict[str, Any]:
    names = ("address", "shape", "kind", "saved", "what")
    run = str(one.run_id) if one.run_id else None
    return {"id": one.pk, **{name: getattr(one, name) for name in names}, "run": run, "made": time_of(one.made)}


def _delivery(one: Delivery) -> dict[str, Any]:
    names = ("message_id", "what", "state", "attempts", "status", "error")
    return {
        "id": one.pk,
        "run": str(one.run_id),
        **{name: getattr(one, name) for name in names},
        "made": time_of(one.made),
        "due": time_of(one.due) if one.state == DeliveryState.TO_SEND else None,
        "ended": time_of(one.ended),
    }
