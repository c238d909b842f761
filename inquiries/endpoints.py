"""The HTTP API of inquiries. Who calls, and what an error looks like, is the site's business.

Why so: docs/decisions.md, The API.
"""

from functools import partial
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from engine.models import NewDocument
from runs.api.answers import found, json_answer, take_only
from runs.api.endpoints import router_of
from runs.api.refusals import Refusal, wrong_fields
from runs.api.schemas import placed, problems
from runs.api.scopes import Scope, credential, needs
from runs.api.submitting import OnceKey, submitted
from toolbox import documents

from . import forms, procedure, schemas
from .models import DOCUMENTS, Inquiry

router = router_of("inquiry")
UNTITLED = "Pasted text"


@router.post(
    "/inquiries",
    response={202: schemas.Inquiry},
    openapi_extra=problems(400, 402, 403, 413, 415, 422, 429, also={202: placed("inquiry")}),
    summary="Submit a question",
)
@needs(Scope.SUBMIT, "inquiry")
def submit_inquiry(request: HttpRequest, asked: schemas.NewInquiry, key: OnceKey = None) -> HttpResponse:
    """It is planned, looked up step by step and answered; a critic lets each part pass or sends it back. Every quote is
    checked before a critic sees it. The same request under the same key brings the inquiry that was submitted first."""
    return submitted(request, "inquiry", asked, key, partial(_submit, request, asked))


def _submit(request: HttpRequest, asked: schemas.NewInquiry, **once: str) -> Inquiry:
    attached = [_document(number, one) for number, one in enumerate(asked.documents)]
    critics = {f"{name}_critic": _critic(one) for name, one in asked.critics}
    values, wrong = forms.asked(asked.model_dump(exclude={"documents", "critics"}) | critics, attached)
    if wrong:
        raise wrong_fields(wrong)
    return procedure.submit(owner=credential(request).owner, limited=True, **once, **values)


def _critic(one: str | schemas.CouncilNamed) -> str:
    return one if isinstance(one, str) else f"{forms.COUNCIL}{one.council}"


def _document(number: int, one: schemas.NewDocument) -> NewDocument:
    try:
        return documents.pasted((one.title or "").strip() or UNTITLED, one.text, DOCUMENTS)
    except documents.UnreadableDocument as error:
        raise wrong_fields([(f"documents.{number}", str(error))]) from error


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
