from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse

from runs import submissions
from runs.api.endpoints import router_of
from runs.api.schemas import Strict, placed, problems
from runs.api.scopes import Scope, credential, needs
from runs.api.submitting import OnceKey, submitted

from .face import CheckObject
from .models import Check

router = router_of("check")


class NewCheck(Strict):
    question: str
    writer: str = "rehearsal/instant"
    checker: str = "rehearsal/instant"


@router.post(
    "/checks",
    response={202: CheckObject},
    openapi_extra=problems(400, 402, 403, 413, 415, 422, 429, also={202: placed("check")}),
    summary="Submit a check",
)
@needs(Scope.SUBMIT, "check")
def submit_check(request: HttpRequest, asked: NewCheck, key: OnceKey = None) -> HttpResponse:
    return submitted(request, "check", asked, key, partial(_submit, request, asked))


def _submit(request: HttpRequest, asked: NewCheck, **once: str) -> Check:
    values: dict[str, Any] = {"owner": credential(request).owner, "limited": True, **asked.model_dump()}
    return submissions.submit(Check.objects, **values, **once)
