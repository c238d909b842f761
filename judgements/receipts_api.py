"""HTTP endpoints of receipts: issued for an approval, used once."""

from http import HTTPStatus
from typing import Annotated, Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from ninja import Body, Router

from engine.ledger import signing
from engine.models.rate_limits import Limits, RateBucket, per_minute
from runs.api.errors import ApiError, field_errors
from runs.api.rate_limit_headers import with_rate_limit_headers
from runs.api.responses import not_found
from runs.api.scopes import TokenScope, credential_of, requires_scope
from runs.procedure.schemas import problem_responses
from runs.rights import SEE, RunRight

from . import schemas
from .models import DEFAULT_LIFETIME, ExpectedReceipt, Judgement, Receipt, ReceiptRefused

ISSUE_RECEIPTS = RunRight("judgements.issue_receipt", "get a receipt for it")

router = Router()

STATUS = {"invalid": 422, "unknown": 404, "audience": 403, "expired": 410}
"""HTTP status by the code of a refusal; 409 for all others, where the receipt was or might have been valid."""


def receipts_of(owner: Any) -> Limits:
    return {f"receipts of {owner.pk}": per_minute(settings.USER_RECEIPTS)}


@router.post(
    "/judgements/{uuid:id}/receipt",
    response={201: schemas.ReceiptOut},
    openapi_extra=problem_responses(400, 403, 404, 409, 413, 415, 422, 429),
    summary="Get a receipt for an approval",
)
@requires_scope(TokenScope.SUBMIT, "judgement")
@with_rate_limit_headers("receipts", receipts_of)
def issue(request: HttpRequest, id: UUID, asked: Annotated[schemas.NewReceipt | None, Body()] = None) -> HttpResponse:
    """Issue a signed, single-use proof that this content was approved. 409 if it is not approved."""
    owner = credential_of(request).owner
    judgement = SEE.one(Judgement.objects.select_related("run"), owner, id)
    if judgement is None:
        raise not_found("judgement")
    if not ISSUE_RECEIPTS.covers(owner, judgement.run):
        raise ApiError(403, ISSUE_RECEIPTS.refusal("judgement"))
    audience, lifetime = (asked.audience or "", asked.lifetime) if asked else ("", DEFAULT_LIFETIME)
    many = f"You have asked for {settings.USER_RECEIPTS} receipts in a minute, as many as one person may."
    RateBucket.objects.consume(receipts_of(owner), many)
    try:
        statement = Receipt.objects.issue(judgement, owner, audience, lifetime)
    except ReceiptRefused as refused:
        raise _refusal(refused) from refused
    return _json(statement, HTTPStatus.CREATED)


@router.post(
    "/receipts/consume",
    response={200: schemas.UsedReceiptOut},
    openapi_extra=problem_responses(400, 403, 404, 409, 410, 413, 415, 422),
    summary="Use a receipt up",
)
@requires_scope(TokenScope.SUBMIT, "judgement")
def consume(request: HttpRequest, asked: schemas.ReceiptUse) -> HttpResponse:
    """Use a receipt. Each receipt gets 200 once and never again: then carry out what was approved.

    409 if it was used already, if its judgement was overridden, or if another council, another version or a rehearsal
    judged than was expected. 410 if it has expired, 403 if it is for another audience.
    """
    owner = credential_of(request).owner
    if asked.council is None and asked.version is not None:
        raise field_errors([("version", "It is a council's. Name the council, too.")])
    expected = ExpectedReceipt(asked.council, asked.version, asked.rehearsal)
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


@router.get(
    "/key", response=schemas.VerifierKeyOut, auth=None, summary="The key that verifies receipts and checkpoints"
)
def key(request: HttpRequest) -> HttpResponse:
    """Return the public key, without authentication."""
    return _json({"log": signing.name(), "key": signing.verifier_key()})


def _refusal(refused: ReceiptRefused) -> ApiError:
    return ApiError(STATUS.get(refused.code, 409), str(refused))


def _json(content: Any, status: int = HTTPStatus.OK) -> HttpResponse:
    return JsonResponse(content, status=status, json_dumps_params={"ensure_ascii": False})
