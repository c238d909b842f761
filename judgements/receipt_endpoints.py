"""The HTTP API of receipts: handed out for an approval, used up once."""

from http import HTTPStatus
from typing import Annotated, Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from ninja import Body, Router

from engine.evidence import signing
from engine.models.pace import Limits, Pace, per_minute
from runs.api.answers import missing
from runs.api.limits import paced
from runs.api.refusals import Refusal, wrong_fields
from runs.api.schemas import problems
from runs.api.scopes import Scope, credential, needs
from runs.rights import SEE

from . import schemas
from .models import USUAL_LIFETIME, Expected, Judgement, Receipt, ReceiptRefused
from .rights import RECEIVE

router = Router()

STATUS = {"invalid": 422, "unknown": 404, "audience": 403, "expired": 410}
"""By why a receipt does not count; for all other reasons 409: it did, or might have."""


def receipts_of(owner: Any) -> Limits:
    return {f"receipts of {owner.pk}": per_minute(settings.USER_RECEIPTS)}


@router.post(
    "/judgements/{uuid:id}/receipt",
    response={201: schemas.Receipt},
    openapi_extra=problems(400, 403, 404, 409, 413, 415, 422, 429),
    summary="Get a receipt for an approval",
)
@needs(Scope.SUBMIT, "judgement")
@paced("receipts", receipts_of)
def issue(request: HttpRequest, id: UUID, asked: Annotated[schemas.NewReceipt | None, Body()] = None) -> HttpResponse:
    """A signed statement that this content was approved, to be used once. 409 where it is not approved."""
    owner = credential(request).owner
    judgement = SEE.one(Judgement.objects.select_related("run"), owner, id)
    if judgement is None:
        raise missing("judgement")
    if not RECEIVE.covers(owner, judgement.run):
        raise Refusal(403, RECEIVE.refusal("judgement"))
    audience, lifetime = (asked.audience or "", asked.lifetime) if asked else ("", USUAL_LIFETIME)
    many = f"You have asked for {settings.USER_RECEIPTS} receipts in a minute, as many as one person may."
    Pace.objects.take(receipts_of(owner), many)
    try:
        statement = Receipt.objects.issue(judgement, owner, audience, lifetime)
    except ReceiptRefused as refused:
        raise _refusal(refused) from refused
    return _json(statement, HTTPStatus.CREATED)


@router.post(
    "/receipts/consume",
    response={200: schemas.UsedReceipt},
    openapi_extra=problems(400, 403, 404, 409, 410, 413, 415, 422),
    summary="Use a receipt up",
)
@needs(Scope.SUBMIT, "judgement")
def consume(request: HttpRequest, asked: schemas.Use) -> HttpResponse:
    """200 for one use of each receipt, and never again: whoever gets it may carry out what was approved.

    409 where it was used already, its judgement overridden, or another council, another version or a rehearsal judged
    than was expected; 410 where it expired, 403 where it is for somebody else.
    """
    owner = credential(request).owner
    if asked.council is None and asked.version is not None:
        raise wrong_fields([("version", "It is a council's. Name the council, too.")])
    expected = Expected(asked.council, asked.version, asked.rehearsal)
    try:
        used = Receipt.objects.consume(asked.receipt, owner, expected, asked.audience or "", first=asked.first)
    except ReceiptRefused as refused:
        raise _refusal(refused) from refused
    return _json(
        {
            "id": str(used.pk),
            "judgement": str(used.judgement_id),
            "content_sha256": asked.receipt["content_sha256"],
            "consumed": f"{used.consumed:%Y-%m-%dT%H:%M:%S.%fZ}",
            **used.judged_by,
        }
    )


@router.get("/key", response=schemas.VerifierKey, auth=None, summary="The key that verifies receipts and checkpoints")
def key(request: HttpRequest) -> HttpResponse:
    """Open to everybody: it is the public half."""
    return _json({"log": signing.name(), "key": signing.verifier_key()})


def _refusal(refused: ReceiptRefused) -> Refusal:
    return Refusal(STATUS.get(refused.code, 409), str(refused))


def _json(content: Any, status: int = HTTPStatus.OK) -> HttpResponse:
    return JsonResponse(content, status=status, json_dumps_params={"ensure_ascii": False})
