from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse

from runs import submissions
from runs.api.endpoints import run_router
from runs.api.idempotent_submit import IdempotencyHeader, submit_response
from runs.api.scopes import TokenScope, credential_of, requires_scope
from runs.procedure.schemas import StrictSchema, location_response, problem_responses

from .face import CheckObject
from .models import Check

router = run_router("check")


class NewCheck(StrictSchema):
    question: str
    writer: str = "rehearsal/instant"
    checker: str = "rehearsal/instant"


@router.post(
    "/checks",
    response={202: CheckObject},
    openapi_extra=problem_responses(400, 402, 403, 413, 415, 422, 429, also={202: location_response("check")}),
    summary="Submit a check",
)
@requires_scope(TokenScope.SUBMIT, "check")
def submit_check(request: HttpRequest, asked: NewCheck, key: IdempotencyHeader = None) -> HttpResponse:
    return submit_response(request, "check", asked, key, partial(_submit, request, asked))


def _submit(request: HttpRequest, asked: NewCheck, **once: str) -> Check:
    values: dict[str, Any] = {"owner": credential_of(request).owner, "limited": True, **asked.model_dump()}
    return submissions.submit_run(Check.objects, **values, **once)
