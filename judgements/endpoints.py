"""The HTTP API of judgements. Who calls, and what an error looks like, is the site's business.

Why so: docs/decisions.md, The API.
"""

import json
from functools import partial
from hashlib import sha256
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import urlencode
from uuid import UUID

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from ninja import Header, Query, Router
from ninja.errors import AuthenticationError

from engine.hidden import visible_json
from engine.llm import catalogue
from engine.llm.providers import is_rehearsal
from engine.models import ModelCall
from engine.models.budgets import BudgetUsedUp
from engine.reader import read
from runs import steering
from runs.api.objects import run_object
from runs.api.refusals import Refusal, wrong_fields
from runs.api.schemas import LONGEST_WAIT, Key, placed, problems, streamed
from runs.api.scopes import Scope, credential, needs
from runs.models import KEY_LENGTH, IdempotencyKey, KeyUsed
from runs.record import record_line
from runs.rights import EXPORT, SEE, STEER, Right

from . import procedure, rules, schemas
from .events import NO_SUCH_JUDGEMENT, stream, until_ended
from .filters import HistoryForm
from .forms import Submission, as_read, council_named
from .history import PAGE, History
from .models import Council, CouncilChanged, Judgement, OnlyCouncils

router = Router()

# ---- one judgement ----------------------------------------------------------------------------------------


@router.post(
    "/judgements",
    response={202: schemas.Judgement},
    openapi_extra=problems(400, 402, 403, 409, 413, 415, 422, 429, also={202: placed("judgement")}),
    summary="Submit a judgement",
)
@needs(Scope.SUBMIT, "judgement")
def submit(
    request: HttpRequest,
    asked: schemas.NewJudgement,
    key: Annotated[Key | None, Header(alias="Idempotency-Key", description="Makes it safe to send this again.")] = None,
) -> HttpResponse:
    """Three agents judge the content: those that are given, or a council's. An agent has name, model and criteria.

    A council judges as it is now: 409 where its version is another than the one that is named. 403 for agents of one's
    own where only councils may be asked. 402 where a budget has not enough left: nothing changes by asking again soon.
    The same request under the same key brings the judgement that was submitted first.
    """
    once = {"key": _checked(key), "request_hash": _hash(asked)} if key is not None else None
    judgement = _submitted_before(request, once) if once else None
    if judgement is None:
        judgement = _submit(request, asked, once)
    headers = {"Location": f"{_address(request)}{reverse('api:judgement', args=[judgement.pk])}"}
    return _answer(request, judgement.pk, HTTPStatus.ACCEPTED, headers)


@router.get(
    "/judgements/{uuid:id}",
    response=schemas.Judgement,
    openapi_extra=problems(404, 422, 429, 503),
    summary="Look at a judgement, or wait for its end",
    url_name="judgement",
)
async def judgement(
    request: HttpRequest,
    id: UUID,
    wait: Annotated[
        float, Query(ge=0, le=LONGEST_WAIT, allow_inf_nan=False, description="Seconds to wait for the end at most.")
    ] = 0,
) -> HttpResponse:
    """With a wait the answer comes as soon as the judgement has ended, or after that time."""
    _take_only(request, "wait")
    found = await sync_to_async(_visible)(request, id)
    if not wait or found.run.over:
        return await sync_to_async(_answer)(request, id)
    await until_ended(id, credential(request).owner, wait)
    # by the one reading thread: many waits for one judgement end at once
    return await read(partial(_answer_again, request, id))


@router.get(
    "/judgements/{uuid:id}/events",
    response={200: None, 204: None},
    openapi_extra=problems(404, 422, 429, 503, also={200: streamed("judgement")}),
    summary="Follow a judgement",
)
async def events(
    request: HttpRequest,
    id: UUID,
    last: Annotated[
        str | None, Header(alias="Last-Event-ID", description="The revision that is known already.")
    ] = None,
) -> HttpResponseBase:
    """Server-sent events, one at each change until the end: event is judgement, id its revision, data the judgement.

    204 where it has ended and its last revision is known already: there is nothing to connect again for.
    """
    _take_only(request)
    found = await sync_to_async(_visible)(request, id)
    known = int(last) if last and last.isascii() and last.isdigit() and len(last) < 19 else None
    if found.run.over and found.run.revision == known:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    pieces = stream(id, credential(request), _address(request), known)
    await anext(pieces)
    # nginx would keep pieces back until it has many
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingHttpResponse(pieces, content_type="text/event-stream", headers=headers)


@router.post(
    "/judgements/{uuid:id}/cancel",
    response={202: schemas.Judgement},
    openapi_extra=problems(403, 404, 409),
    summary="Cancel a judgement",
)
@needs(Scope.STEER, "judgement")
def cancel(request: HttpRequest, id: UUID) -> HttpResponse:
    """Ends it without a verdict. To cancel again changes nothing; 409 where it ended by itself."""
    found = _visible(request, id, STEER)
    if not steering.cancel(found, credential(request).owner):
        found = _visible(request, id)
        if found.status != "cancelled":
            raise Refusal(409, f"It cannot be cancelled, for it is over: {found.status}.")
    return _answer(request, id, HTTPStatus.ACCEPTED)


@router.post(
    "/judgements/{uuid:id}/retry",
    response={202: schemas.Judgement},
    openapi_extra=problems(402, 403, 404, 409, 429),
    summary="Let a failed judgement go on",
)
@needs(Scope.STEER, "judgement")
def retry(request: HttpRequest, id: UUID) -> HttpResponse:
    """It goes on with what is missing. 409 where it has not failed."""
    found = _visible(request, id, STEER)
    try:
        retried = steering.retry(found, credential(request).owner, limited=True)
    except BudgetUsedUp as error:
        raise Refusal(402, str(error)) from error
    if not retried:
        raise Refusal(409, f"Only what failed can be retried. This one: {_visible(request, id).status}.")
    return _answer(request, id, HTTPStatus.ACCEPTED)


@router.get(
    "/judgements/{uuid:id}/record",
    response=dict[str, Any],
    openapi_extra=problems(403, 404),
    summary="The full record",
)
def record(request: HttpRequest, id: UUID) -> HttpResponse:
    """All that happened, as entries with every prompt and raw answer, and its place in the log, for verify.py."""
    return HttpResponse(record_line(_visible(request, id, EXPORT).pk), content_type="application/json")


# ---- lists ------------------------------------------------------------------------------------------------


@router.get(
    "/judgements",
    response=schemas.Judgements,
    openapi_extra=problems(422),
    summary="List judgements, newest first",
)
def judgements(request: HttpRequest, asked: Query[schemas.Sought]) -> HttpResponse:
    _take_only(request, *schemas.Sought.model_fields)
    found = History(credential(request).owner, _sought(asked))
    try:
        pks = found.after(UUID(asked.cursor) if asked.cursor else None, PAGE + 1)
    except ValueError as error:
        raise wrong_fields([("cursor", "There is no such place. Begin without a cursor.")]) from error
    page = pks[:PAGE]
    read = Judgement.objects.whole().in_bulk(page)
    usage = ModelCall.objects.usage_of(page)
    results = [run_object(read[pk], _address(request), usage[pk]) for pk in page]
    return _json({"results": results, "next": _next(request, asked, page[-1]) if len(pks) > PAGE else None})


@router.get(
    "/councils", response=schemas.Councils, openapi_extra=problems(422), summary="The councils that can be asked"
)
def councils(request: HttpRequest) -> HttpResponse:
    _take_only(request)
    return _json({"results": [_council(council) for council in Council.objects.offered().whole()]})


@router.get("/models", response=schemas.Models, openapi_extra=problems(422), summary="The models that can be asked")
async def models(request: HttpRequest) -> HttpResponse:
    """What the providers list, the default model first. Any other name at a known provider may be written, too."""
    _take_only(request)
    offered = catalogue.offered(await catalogue.suggestions())
    default = settings.DEFAULT_MODEL
    return _json({"results": [{"name": n, "default": n == default, "rehearsal": is_rehearsal(n)} for n in offered]})


# ---- submitting -------------------------------------------------------------------------------------------


def _checked(key: str) -> str:
    if not 0 < len(key) <= KEY_LENGTH:
        raise Refusal(400, f"An Idempotency-Key has 1 to {KEY_LENGTH} characters. This one has {len(key)}.")
    return key


def _hash(asked: schemas.NewJudgement) -> str:
    return sha256(json.dumps(asked.model_dump(exclude_unset=True), sort_keys=True).encode()).hexdigest()


def _submitted_before(request: HttpRequest, once: dict[str, str]) -> Judgement | None:
    try:
        found = IdempotencyKey.objects.run_of(credential(request).owner, **once)
        return Judgement.objects.get(pk=found) if found else None
    except KeyUsed as error:
        raise _used_key() from error


def _used_key() -> Refusal:
    return Refusal(422, "This Idempotency-Key came with another request before. Use a new key for a new request.")


def _submit(request: HttpRequest, asked: schemas.NewJudgement, once: dict[str, str] | None) -> Judgement:
    council = _named(asked)
    agents = council.agents() if council else [_values(agent) for agent in asked.agents or ()]
    submission = Submission.of(asked.title or "", asked.content, agents)
    if not submission.is_valid():
        raise wrong_fields((problem.path, problem.message) for problem in submission.problems)
    values = {
        **submission.values(),
        "owner": credential(request).owner,
        "council": council.current if council else None,
    }
    try:
        return (
            procedure.submit_once(**once, **values, limited=True) if once else procedure.submit(**values, limited=True)
        )
    except KeyUsed as error:
        raise _used_key() from error
    except BudgetUsedUp as error:
        raise Refusal(402, str(error)) from error
    except OnlyCouncils as error:
        raise Refusal(403, str(error)) from error
    except CouncilChanged as error:
        raise Refusal(409, f"{error} Nothing was submitted.") from error


def _named(asked: schemas.NewJudgement) -> Council | None:
    if (asked.agents is None) == (asked.council is None):
        raise wrong_fields([("agents", "Name either three agents or a council, one of the two.")])
    if asked.council is None:
        if asked.version is not None:
            raise wrong_fields([("version", "It is a council's. Name the council, too.")])
        return None
    try:
        council = council_named(asked.council)
    except ValidationError as error:
        raise wrong_fields([("council", str(error.message))]) from error
    number = council.current.number if council.current else 0
    if asked.version not in (None, number):
        raise Refusal(409, f"“{council.name}” has version {number} now, not {asked.version}. Nothing was submitted.")
    return council


def _values(agent: schemas.NewAgent) -> dict[str, str]:
    return {name: value or "" for name, value in agent.model_dump().items()}


# ---- finding ----------------------------------------------------------------------------------------------


def _visible(request: HttpRequest, pk: UUID, right: Right = SEE) -> Judgement:
    """One that the caller may see, to do this with it. Others' are answered as those that are not there."""
    user = credential(request).owner
    found = Judgement.objects.visible_to(user).whole().filter(pk=pk).first()
    if found is None:
        raise Refusal(404, NO_SUCH_JUDGEMENT)
    if not right.covers(user, found.run):
        raise Refusal(403, right.refusal("judgement"))
    return found


def _sought(asked: schemas.Sought) -> dict[str, Any]:
    """As the page's filters take it."""
    form = HistoryForm(
        {
            "q": asked.q,
            "outcome": asked.status,
            "council": _number_of(asked.council),
            "since": asked.since,
            "until": asked.until,
        }
    )
    if not form.is_valid():
        names = {"outcome": "status"}
        raise wrong_fields((names.get(name, name), str(errors[0])) for name, errors in form.errors.items())
    return form.sought


def _number_of(council: str) -> int | str:
    """Councils have names here; a renamed one is found by the name that it has now."""
    if not council:
        return ""
    known = Council.objects.values_list("name", "pk")
    return next((pk for name, pk in known if as_read(name) == as_read(council)), council)


def _next(request: HttpRequest, asked: schemas.Sought, last: UUID) -> str:
    sought = {name: value for name, value in asked.model_dump().items() if value}
    return f"{_address(request)}{request.path}?{urlencode(sought | {'cursor': str(last)})}"


# ---- asking and answering ---------------------------------------------------------------------------------


def _take_only(request: HttpRequest, *names: str) -> None:
    """A filter that is written wrongly must not be left out without a word."""
    unknown = [(name, "There is no such parameter.") for name in request.GET if name not in names]
    doubled = [(name, "It is there more than once.") for name, values in request.GET.lists() if len(values) > 1]
    if unknown or doubled:
        raise wrong_fields([*unknown, *doubled])


def _address(request: HttpRequest) -> str:
    return f"{request.scheme}://{request.get_host()}"


def _answer(
    request: HttpRequest, pk: UUID, status: int = HTTPStatus.OK, headers: dict[str, str] | None = None
) -> HttpResponse:
    return _json(run_object(_visible(request, pk), _address(request)), status, headers)


def _answer_again(request: HttpRequest, pk: UUID) -> HttpResponse:
    """After a wait: the token may have ended meanwhile, and its owner may do less than before."""
    holder = credential(request).holder()
    if holder is None:
        raise AuthenticationError
    credential(request).owner = holder
    return _answer(request, pk)


def _json(content: Any, status: int = HTTPStatus.OK, headers: dict[str, str] | None = None) -> HttpResponse:
    return HttpResponse(visible_json(content), "application/json", status, headers=headers)


def _council(council: Council) -> dict[str, Any]:
    agents = [
        {"seat": seat, **agent, "fallback": agent["fallback"] or None}
        for seat, agent in zip(rules.SEATS, council.agents(), strict=True)
    ]
    version = council.current.number if council.current else 0
    return {"id": council.pk, "name": council.name, "version": version, "agents": agents}
