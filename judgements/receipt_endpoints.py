"""The HTTP API of receipts: handed out for an approval, used up once."""

from http import HTTPStatus
from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from ninja import Body, Router

from engine import signing

from . import schemas
from .events import NOT_FOUND
from .models import USUAL_LIFETIME, Judgement, Receipt, ReceiptRefused
from .refusals import Refusal
from .schemas import problems

router = Router()

STATUS = {"invalid": 422, "unknown": 404, "audience": 403, "expired": 410}
"""By why a receipt does not count; for all other reasons 409: it did, or might have."""


@router.post(
    "/judgements/{uuid:id}/receipt",
    response={201: schemas.Receipt},
    openapi_extra=problems(400, 404, 409, 413, 415, 422),
    summary="Get a receipt for an approval",
)
def issue(request: HttpRequest, id: UUID, asked: Annotated[schemas.NewReceipt | None, Body()] = None) -> HttpResponse:
    """A signed statement that this content was approved, to be used once. 409 where it is not approved."""
    owner = request.auth.owner  # type: ignore[attr-defined]
    judgement = Judgement.objects.visible_to(owner).filter(pk=id).first()
    if judgement is None:
        raise Refusal(404, NOT_FOUND)
    audience, lifetime = (asked.audience or "", asked.lifetime) if asked else ("", USUAL_LIFETIME)
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
def consume(request: HttpRequest, asked: schemas.Use) -> HttpResponse:
    """200 for one use of each receipt, and never again: whoever gets it may carry out what was approved.

    409 where it was used already or its judgement overridden, 410 where it expired, 403 where it is for somebody else.
    """
    owner = request.auth.owner  # type: ignore[attr-defined]
    try:
        used = Receipt.objects.consume(asked.receipt, owner, asked.audience or "")
    except ReceiptRefused as refused:
        raise _refusal(refused) from refused
    return _json(
        {
            "id": str(used.pk),
            "judgement": str(used.judgement_id),
            "content_sha256": asked.receipt["content_sha256"],
            "consumed": f"{used.consumed:%Y-%m-%dT%H:%M:%S.%fZ}",
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
