"""The HTTP API of inquiries. Authentication and the format of errors are in runs/api.

Why so: runs/DESIGN.md, The API.
"""

from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from engine.models import NewDocument
from engine.run_control import RunEnded
from runs.api.endpoints import run_router
from runs.api.errors import ApiError, FieldErrors, field_errors
from runs.api.idempotent_submit import IdempotencyHeader, checked_encoding, submit_response
from runs.api.rate_limit_headers import count_submission
from runs.api.responses import get_run_or_refuse, json_response, reject_unknown_parameters, run_response
from runs.api.scopes import TokenScope, credential_of, requires_scope
from runs.procedure.schemas import location_response, problem_responses
from runs.rights import STEER
from toolbox import documents

from . import comments, forms, procedure, schemas
from .models import ATTACHED, AssignmentKind, Inquiry

router = run_router("inquiry")
UNTITLED = "Pasted text"
FILES = "documents"  # name of the parts of a multipart body
NOT_FORM_FIELDS = {"documents", "encoding", "critics", "follows", "models", "limits"}  # of the request; read separately


@router.post(
    "/inquiries",
    response={202: schemas.InquiryOut},
    openapi_extra=problem_responses(400, 402, 403, 413, 415, 422, 429, also={202: location_response("inquiry")}),
    summary="Submit a question",
)
@requires_scope(TokenScope.SUBMIT, "inquiry")
@count_submission
def submit_inquiry(request: HttpRequest, asked: schemas.NewInquiry, key: IdempotencyHeader = None) -> HttpResponse:
    """It is planned, researched step by step and answered; a critic approves or rejects each part. Every quote is
    checked before a critic sees it. The same request with the same idempotency key returns the inquiry that was
    submitted first."""
    files, unreadable = documents.uploaded(request.FILES.getlist(FILES), ATTACHED, checked_encoding(asked.encoding))
    queue = partial(_submit, request, asked, files, unreadable)
    return submit_response(request, "inquiry", asked, key, queue, [one.digest for one in files])


def _submit(
    request: HttpRequest,
    asked: schemas.NewInquiry,
    files: Sequence[NewDocument],
    unreadable: Sequence[str],
    **once: str,
) -> Inquiry:
    faults, attached, follows = FieldErrors(), list[NewDocument](), None
    faults.add((FILES, said) for said in unreadable)
    for number, document in enumerate(asked.documents):
        with faults.has():
            attached.append(_document(number, document))
    attached += files
    critics = {f"{name}_critic": _critic(one) for name, one in asked.critics}
    with faults.has():
        follows = _followed(request, asked.follows) if asked.follows else None
    lists = {name: ", ".join(getattr(asked, name)) for name in ("hosts", "collections")}
    own = {f"{name}_model": one or "" for name, one in asked.models} | asked.limits.model_dump()
    values, wrong = forms.submit_values(
        forms.form_values(asked.model_dump(exclude=NOT_FORM_FIELDS) | critics | lists | own), attached, follows
    )
    faults.add(wrong)
    faults.raise_if_any()
    return procedure.submit(owner=credential_of(request).owner, limited=True, **once, **values)


def _followed(request: HttpRequest, pk: UUID) -> Inquiry:
    try:
        followed = get_run_or_refuse(request, pk, "inquiry")
    except ApiError as refusal:
        raise field_errors([("follows", "There is no such inquiry.")]) from refusal
    if complaint := forms.follow_up_problem(followed):
        raise field_errors([("follows", complaint)])
    return followed


def _critic(one: str | schemas.CriticCouncil | None) -> str:
    return f"{forms.COUNCIL}{one.council}" if isinstance(one, schemas.CriticCouncil) else one or ""


def _document(number: int, one: schemas.NewInquirySource) -> NewDocument:
    try:
        return documents.document_from_text((one.title or "").strip() or UNTITLED, one.text, ATTACHED)
    except documents.UnreadableDocument as error:
        raise field_errors([(f"documents.{number}", str(error))]) from error


@router.post(
    "/inquiries/{uuid:id}/hint",
    response={202: schemas.InquiryOut},
    openapi_extra=problem_responses(400, 403, 404, 409, 413, 415, 422),
    summary="Give a hint to the agents of an inquiry",
)
@requires_scope(TokenScope.STEER, "inquiry")
def add_hint(request: HttpRequest, id: UUID, asked: schemas.InquiryHintIn) -> HttpResponse:
    """It is read before the next move, and does not count as a retry."""
    return _intervene(request, id, AssignmentKind.HINT, asked.text)


@router.post(
    "/inquiries/{uuid:id}/replan",
    response={202: schemas.InquiryOut},
    openapi_extra=problem_responses(400, 403, 404, 409, 413, 415, 422),
    summary="Re-plan an inquiry",
)
@requires_scope(TokenScope.STEER, "inquiry")
def replan_inquiry(request: HttpRequest, id: UUID, asked: schemas.InquiryHintIn) -> HttpResponse:
    """The planner reads the text and plans again, without a retry. Results of the old plan are not taken over."""
    return _intervene(request, id, AssignmentKind.REPLAN, asked.text)


@router.post(
    "/inquiries/{uuid:id}/stop",
    response={202: schemas.InquiryOut},
    openapi_extra=problem_responses(403, 404, 409, 415),
    summary="Stop the research of an inquiry, and answer with the results so far",
)
@requires_scope(TokenScope.STEER, "inquiry")
def stop_inquiry(request: HttpRequest, id: UUID) -> HttpResponse:
    """The expert goes on with the approved results, and its critic still reviews. 409 with the reason if it cannot be
    stopped now."""
    return _intervene(request, id, AssignmentKind.STOP)


def _intervene(request: HttpRequest, pk: UUID, kind: AssignmentKind, words: str = "") -> HttpResponse:
    get_run_or_refuse(request, pk, "inquiry", STEER)
    try:
        comments.post_hint(pk, credential_of(request).owner, kind, words)
    except comments.InvalidHint as wrong:
        raise field_errors([("text", str(wrong))]) from wrong
    except (comments.HintRefused, RunEnded) as refused:
        raise ApiError(409, "The inquiry is over." if isinstance(refused, RunEnded) else str(refused)) from refused
    return run_response(request, get_run_or_refuse(request, pk, "inquiry"), HTTPStatus.ACCEPTED)


@router.get(
    "/inquiries/{uuid:id}/sources/{int:number}",
    response=schemas.SourceTextOut,
    openapi_extra=problem_responses(404, 422),
    summary="Get a source as it was read",
)
def inquiry_source(request: HttpRequest, id: UUID, number: int) -> HttpResponse:
    reject_unknown_parameters(request)
    row = get_run_or_refuse(request, id, "inquiry")
    source = next((one for one in row.sources.all() if one.number == number), None)
    if source is None:
        raise ApiError(404, "There is no such source.")
    return json_response({"number": number, "kind": source.kind, "title": source.title, "text": source.text})
