"""The HTTP API of inquiries. Who calls, and what an error looks like, is the site's business.

Why so: docs/decisions.md, The API.
"""

from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from engine.models import NewDocument
from engine.steering import Over
from runs.api.answers import answer, found, json_answer, take_only
from runs.api.endpoints import router_of
from runs.api.limits import submits
from runs.api.refusals import Faults, Refusal, wrong_fields
from runs.api.schemas import placed, problems
from runs.api.scopes import Scope, credential, needs
from runs.api.submitting import OnceKey, checked_encoding, submitted
from runs.rights import STEER
from toolbox import documents

from . import forms, procedure, schemas, talking
from .models import ATTACHED, Inquiry, OrderKind

router = router_of("inquiry")
UNTITLED = "Pasted text"
FILES = "documents"  # the parts of a multipart body
OTHERWISE = {"documents", "encoding", "critics", "follows", "models", "limits"}  # of what is asked, and read by itself


@router.post(
    "/inquiries",
    response={202: schemas.Inquiry},
    openapi_extra=problems(400, 402, 403, 413, 415, 422, 429, also={202: placed("inquiry")}),
    summary="Submit a question",
)
@needs(Scope.SUBMIT, "inquiry")
@submits
def submit_inquiry(request: HttpRequest, asked: schemas.NewInquiry, key: OnceKey = None) -> HttpResponse:
    """It is planned, looked up step by step and answered; a critic approves or rejects each part. Every quote is
    checked before a critic sees it. The same request under the same key brings the inquiry that was submitted first."""
    files, unreadable = documents.uploaded(request.FILES.getlist(FILES), ATTACHED, checked_encoding(asked.encoding))
    queue = partial(_submit, request, asked, files, unreadable)
    return submitted(request, "inquiry", asked, key, queue, [one.digest for one in files])


def _submit(
    request: HttpRequest,
    asked: schemas.NewInquiry,
    files: Sequence[NewDocument],
    unreadable: Sequence[str],
    **once: str,
) -> Inquiry:
    faults, attached, follows = Faults(), list[NewDocument](), None
    faults.add((FILES, said) for said in unreadable)
    for number, document in enumerate(asked.documents):
        with faults.noted():
            attached.append(_document(number, document))
    attached += files
    critics = {f"{name}_critic": _critic(one) for name, one in asked.critics}
    with faults.noted():
        follows = _followed(request, asked.follows) if asked.follows else None
    lists = {name: ", ".join(getattr(asked, name)) for name in ("hosts", "collections")}
    own = {f"{name}_model": one or "" for name, one in asked.models} | asked.limits.model_dump()
    values, wrong = forms.asked(
        forms.filled(asked.model_dump(exclude=OTHERWISE) | critics | lists | own), attached, follows
    )
    faults.add(wrong)
    faults.refuse()
    return procedure.submit(owner=credential(request).owner, limited=True, **once, **values)


def _followed(request: HttpRequest, pk: UUID) -> Inquiry:
    try:
        followed = found(request, pk, "inquiry")
    except Refusal as refusal:
        raise wrong_fields([("follows", "There is no such inquiry.")]) from refusal
    if complaint := forms.followed_complaint(followed):
        raise wrong_fields([("follows", complaint)])
    return followed


def _critic(one: str | schemas.CouncilNamed | None) -> str:
    return f"{forms.COUNCIL}{one.council}" if isinstance(one, schemas.CouncilNamed) else one or ""


def _document(number: int, one: schemas.NewSource) -> NewDocument:
    try:
        return documents.pasted((one.title or "").strip() or UNTITLED, one.text, ATTACHED)
    except documents.UnreadableDocument as error:
        raise wrong_fields([(f"documents.{number}", str(error))]) from error


@router.post(
    "/inquiries/{uuid:id}/hint",
    response={202: schemas.Inquiry},
    openapi_extra=problems(400, 403, 404, 409, 413, 415, 422),
    summary="Give who works on an inquiry a hint",
)
@needs(Scope.STEER, "inquiry")
def hint_inquiry(request: HttpRequest, id: UUID, asked: schemas.InquiryWords) -> HttpResponse:
    """It is read before the next move, and takes no retry."""
    return _said(request, id, OrderKind.HINT, asked.text)


@router.post(
    "/inquiries/{uuid:id}/replan",
    response={202: schemas.Inquiry},
    openapi_extra=problems(400, 403, 404, 409, 413, 415, 422),
    summary="Re-plan an inquiry",
)
@needs(Scope.STEER, "inquiry")
def replan_inquiry(request: HttpRequest, id: UUID, asked: schemas.InquiryWords) -> HttpResponse:
    """By these words, without a retry. What was found by the old plan is not taken over."""
    return _said(request, id, OrderKind.REPLAN, asked.text)


@router.post(
    "/inquiries/{uuid:id}/stop",
    response={202: schemas.Inquiry},
    openapi_extra=problems(403, 404, 409, 415),
    summary="Stop the research of an inquiry, and answer with what is there",
)
@needs(Scope.STEER, "inquiry")
def stop_inquiry(request: HttpRequest, id: UUID) -> HttpResponse:
    """The expert goes on with the results that were approved, and its critic still reviews. 409 with why not."""
    return _said(request, id, OrderKind.STOP)


def _said(request: HttpRequest, pk: UUID, kind: OrderKind, words: str = "") -> HttpResponse:
    found(request, pk, "inquiry", STEER)
    try:
        talking.say(pk, credential(request).owner, kind, words)
    except talking.Wrong as wrong:
        raise wrong_fields([("text", str(wrong))]) from wrong
    except (talking.Refused, Over) as refused:
        raise Refusal(409, "The inquiry is over." if isinstance(refused, Over) else str(refused)) from refused
    return answer(request, found(request, pk, "inquiry"), HTTPStatus.ACCEPTED)


@router.get(
    "/inquiries/{uuid:id}/sources/{int:number}",
    response=schemas.SourceText,
    openapi_extra=problems(404, 422),
    summary="Get a source as it was read",
)
def inquiry_source(request: HttpRequest, id: UUID, number: int) -> HttpResponse:
    take_only(request)
    row = found(request, id, "inquiry")
    source = next((one for one in row.sources.all() if one.number == number), None)
    if source is None:
        raise Refusal(404, "There is no such source.")
    return json_answer({"number": number, "kind": source.kind, "title": source.title, "text": source.text})
