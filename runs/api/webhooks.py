"""API endpoints for webhooks and their deliveries.

Why so: runs/DESIGN.md, Other doors.
"""

from http import HTTPStatus
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Field, Query, Router

from engine.models import RunEventType
from engine.web.url_policy import AddressRefused
from runs.models.webhooks import (
    ADDRESS_LENGTH,
    SAVED_LENGTH,
    Webhook,
    WebhookDelivery,
    WebhookDeliveryState,
    WebhookFormat,
)
from runs.procedure.spec import specs
from runs.webhooks import forms

from ..procedure.schemas import Identifier, Moment, StrictSchema, problem_responses, text_field
from ..run_object import isoformat
from .errors import ApiError, field_errors
from .responses import get_run_or_refuse, json_response, reject_unknown_parameters
from .scopes import TokenScope, credential_of, requires_scope

router = Router()
PAGE_SIZE = 50
Before = Annotated[int, Query(ge=0, description="The id of the last one that is known already.")]


class NewWebhook(StrictSchema):
    """Where to. Whatever is left out restricts nothing."""

    address: Annotated[str, text_field(ADDRESS_LENGTH, 1)]
    shape: Literal[*WebhookFormat.values] = Field(WebhookFormat.STANDARD, description="What a message looks like.")  # type: ignore[valid-type]
    kind: str = Field("", description="Of runs of this kind alone.")
    saved: str = Field(
        "", max_length=SAVED_LENGTH, description="Of runs by this saved set alone: the name that it has when they end."
    )
    run: Identifier | None = Field(None, description="Of this run alone.")
    what: Literal["", *RunEventType.values] = Field("", description="Of ends alone, or of gates alone.")  # type: ignore[valid-type]


class WebhookOut(StrictSchema):
    id: int
    address: str
    shape: str
    kind: str
    saved: str
    run: Identifier | None
    what: str
    made: Moment


class NewWebhookOut(WebhookOut):
    secret: str = Field(description="The key of its signatures, shown once, as verifiers of Standard Webhooks take it.")


class WebhookListOut(StrictSchema):
    results: list[WebhookOut]


class DeliveryOut(StrictSchema):
    id: int
    message_id: str = Field(description="The header webhook-id of each attempt.")
    run: Identifier
    what: Literal[*RunEventType.values]  # type: ignore[valid-type]
    state: Literal[*WebhookDeliveryState.values]  # type: ignore[valid-type]
    attempts: int
    status: int | None = Field(description="Of the last answer.")
    error: str
    made: Moment
    due: Moment | None = Field(description="When it is tried next; null where it is over.")
    ended: Moment | None


class DeliveryListOut(StrictSchema):
    results: list[DeliveryOut]


@router.post(
    "/webhooks",
    response={201: NewWebhookOut},
    openapi_extra=problem_responses(400, 403, 404, 409, 413, 415, 422),
    summary="Create a webhook",
    url_name="webhooks",
)
@requires_scope(TokenScope.WEBHOOKS, "")
def create_webhook(request: HttpRequest, asked: NewWebhook) -> HttpResponse:
    """Covers future events of runs that the token's owner may see. 409 for more than twenty."""
    if asked.kind and asked.kind not in specs():
        raise field_errors([("kind", f"There is no such kind. There are: {', '.join(specs())}.")])
    try:
        address = forms.webhook_address(asked.address)
    except AddressRefused as error:
        raise field_errors([("address", str(error))]) from error
    owner = credential_of(request).owner
    run = _run(request, asked.run) if asked.run else None
    if forms.has_reached_limit(owner):
        raise ApiError(409, forms.TOO_MANY_TEXT)
    values = asked.model_dump(exclude={"address", "run"})
    hook = Webhook.objects.create(owner=owner, address=address, run_id=run, **values)
    return json_response({**_hook(hook), "secret": hook.secret}, HTTPStatus.CREATED)


def _run(request: HttpRequest, asked: str) -> Any:
    try:
        return get_run_or_refuse(request, UUID(asked)).pk
    except (ApiError, ValueError) as error:
        raise field_errors([("run", "There is no such run.")]) from error


@router.get(
    "/webhooks",
    response=WebhookListOut,
    openapi_extra=problem_responses(403, 422),
    summary="List your webhooks",
    url_name="webhooks",
)
@requires_scope(TokenScope.WEBHOOKS, "")
def list_webhooks(request: HttpRequest) -> HttpResponse:
    """Addresses are shown in full. Anyone who knows an address of Slack, Mattermost or Teams can post there."""
    reject_unknown_parameters(request)
    return json_response(
        {"results": [_hook(one) for one in Webhook.objects.filter(owner=credential_of(request).owner)]}
    )


@router.delete(
    "/webhooks/{int:id}",
    response={204: None},
    openapi_extra=problem_responses(403, 404),
    summary="Delete a webhook",
)
@requires_scope(TokenScope.WEBHOOKS, "")
def delete_webhook(request: HttpRequest, id: int) -> HttpResponse:
    _own(request, id).delete()
    return HttpResponse(status=HTTPStatus.NO_CONTENT)


@router.get(
    "/webhooks/{int:id}/deliveries",
    response=DeliveryListOut,
    openapi_extra=problem_responses(404, 422),
    summary="List deliveries of a webhook, newest first",
)
def deliveries(request: HttpRequest, id: int, before: Before = 0) -> HttpResponse:
    reject_unknown_parameters(request, "before")
    rows = _own(request, id).deliveries.all()
    rows = rows.filter(pk__lt=before) if before else rows
    return json_response({"results": [_delivery(one) for one in rows[:PAGE_SIZE]]})


@router.post(
    "/webhooks/{int:id}/deliveries/{int:number}/resend",
    response={202: DeliveryOut},
    openapi_extra=problem_responses(403, 404, 409, 415),
    summary="Resend a delivery",
)
@requires_scope(TokenScope.WEBHOOKS, "")
def resend_delivery(request: HttpRequest, id: int, number: int) -> HttpResponse:
    """Queues it under the same id for another day. 409 while it is being sent."""
    one = _own(request, id).deliveries.filter(pk=number).first()
    if one is None:
        raise ApiError(404, "There is no such message.")
    if not one.resend():
        raise ApiError(409, "It is being sent right now.")
    one.refresh_from_db()
    return json_response(_delivery(one), HTTPStatus.ACCEPTED)


def _own(request: HttpRequest, pk: int) -> Webhook:
    hook = Webhook.objects.filter(owner=credential_of(request).owner, pk=pk).first()
    if hook is None:
        raise ApiError(404, "There is no such webhook.")
    return hook


def _hook(one: Webhook) -> dict[str, Any]:
    names = ("address", "shape", "kind", "saved", "what")
    run = str(one.run_id) if one.run_id else None
    return {"id": one.pk, **{name: getattr(one, name) for name in names}, "run": run, "made": isoformat(one.made)}


def _delivery(one: WebhookDelivery) -> dict[str, Any]:
    names = ("message_id", "what", "state", "attempts", "status", "error")
    return {
        "id": one.pk,
        "run": str(one.run_id),
        **{name: getattr(one, name) for name in names},
        "made": isoformat(one.made),
        "due": isoformat(one.due) if one.state == WebhookDeliveryState.TO_SEND else None,
        "ended": isoformat(one.ended),
    }
