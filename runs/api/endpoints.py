"""API endpoints that all procedures share. `magi_site` handles authentication and renders errors.

Why so: runs/DESIGN.md, The API.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, wraps
from http import HTTPStatus
from typing import Annotated, Any
from uuid import UUID

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Header, Query, Router, Schema
from ninja.errors import AuthenticationError

from engine.db.reader import read
from engine.models import Run
from engine.models.budgets import BudgetExceeded
from runs import reviews, run_actions
from runs.forking import Forks
from runs.history.query import RunHistory
from runs.procedure.filters import RunHistoryForm
from runs.procedure.spec import ProcedureSpec, spec_of_run, specs
from runs.record.document import record_line
from runs.reviews import ReviewTextForm
from runs.rights import EXPORT, REVIEW, STEER

from ..procedure import schemas
from ..procedure.schemas import LONGEST_WAIT, event_stream_response, location_response, problem_responses
from ..run_object import review_object, run_object
from .errors import ApiError, field_errors
from .forking import ForkCalls
from .rate_limit_headers import count_submission
from .responses import (
    address_of,
    get_run_or_refuse,
    history_response,
    json_response,
    procedure_of,
    reject_unknown_parameters,
    run_response,
    stream_response,
)
from .scopes import TokenScope, credential_of, requires_scope
from .waiting import stream, until_ended

Wait = Annotated[
    float, Query(ge=0, le=LONGEST_WAIT, allow_inf_nan=False, description="Seconds to wait for the end at most.")
]
UntilParameter = Annotated[
    str,
    Query(pattern="^(end|gate|end,gate|gate,end)$", description="What is waited for: the end, or a gate that opens."),
]
LastEvent = Annotated[str | None, Header(alias="Last-Event-ID", description="The revision that is known already.")]


class RunEndpoints:
    """Endpoints for the runs of one procedure, or of all if `kind` is empty."""

    def __init__(self, kind: str, noun: str) -> None:
        self._kind, self._noun = kind, noun

    async def get(self, request: HttpRequest, id: UUID, wait: Wait = 0, until: UntilParameter = "end") -> HttpResponse:
        """With `wait`, responds at the end of the run or after that time; `until=end,gate` also waits for a gate."""
        reject_unknown_parameters(request, "wait", "until")
        row, or_asks = await sync_to_async(get_run_or_refuse)(request, id, self._kind), "gate" in until
        if not wait or row.run.is_ended:
            return await sync_to_async(run_response)(request, row)
        await until_ended(id, credential_of(request).owner, wait, or_asks=or_asks)
        # in the single reader thread: many waits for one run end at once
        return await read(partial(self._answer_again, request, id))

    def _answer_again(self, request: HttpRequest, pk: UUID) -> HttpResponse:
        """Respond after a wait. The token may have been revoked meanwhile, and its owner may have lost rights."""
        holder = credential_of(request).holder()
        if holder is None:
            raise AuthenticationError
        credential_of(request).owner = holder
        return run_response(request, get_run_or_refuse(request, pk, self._kind))

    async def events(self, request: HttpRequest, id: UUID, last: LastEvent = None) -> HttpResponseBase:
        """Sends server-sent events, one for each change until the end: id is the revision, data is the run as in GET.

        204 if it has ended and its last revision is known already, so that clients do not reconnect.
        """
        reject_unknown_parameters(request)
        run = (await sync_to_async(get_run_or_refuse)(request, id, self._kind)).run
        known = int(last) if last and last.isascii() and last.isdigit() and len(last) < 19 else None
        if run.is_ended and run.revision == known:
            return HttpResponse(status=HTTPStatus.NO_CONTENT)
        pieces = stream(id, credential_of(request), address_of(request), known, self._noun)
        await anext(pieces)
        return stream_response(pieces)

    def cancel(self, request: HttpRequest, id: UUID) -> HttpResponse:
        """Ends the run without an outcome. Cancelling again changes nothing; 409 if it ended by itself."""
        done = run_actions.cancel(get_run_or_refuse(request, id, self._kind, STEER), credential_of(request).owner)
        row = get_run_or_refuse(request, id, self._kind)
        if not done and row.run.status != Run.Status.CANCELLED:
            raise ApiError(409, f"It cannot be cancelled, for it is over: {_status(row)}.")
        return run_response(request, row, HTTPStatus.ACCEPTED)

    def retry(self, request: HttpRequest, id: UUID) -> HttpResponse:
        """Continues with the missing steps. 409 if it has not failed, is redacted, or was overridden."""
        row = get_run_or_refuse(request, id, self._kind, STEER)
        try:
            retried = run_actions.retry(row, credential_of(request).owner, limited=True)
        except BudgetExceeded as error:
            raise ApiError(402, str(error)) from error
        row = get_run_or_refuse(request, id, self._kind)
        if not retried:
            raise ApiError(409, f"{run_actions.retry_refusal(row.run)} It is now: {_status(row)}.")
        return run_response(request, row, HTTPStatus.ACCEPTED)

    def kind(self, request: HttpRequest, id: UUID, **said: Any) -> str:
        return self._kind or procedure_of(request, id)

    def record(self, request: HttpRequest, id: UUID) -> HttpResponse:
        """Returns everything that happened, as audit entries with every prompt and raw answer, and their place in the
        log.

        verify.py checks it. 409 with the reason if it is not available to anybody yet.
        """
        run = get_run_or_refuse(request, id, self._kind, EXPORT).run
        if reason := spec_of_run(run).hidden_run_ids([run]).get(run.pk):
            raise ApiError(409, reason)
        return HttpResponse(record_line(run.pk), content_type="application/json")

    # ---- reviews ----

    def reviews(self, request: HttpRequest, id: UUID) -> HttpResponse:
        """Lists notes and overrides, oldest first. The last override is in effect; the outcome stays unchanged."""
        reject_unknown_parameters(request)
        run = get_run_or_refuse(request, id, self._kind).run
        return json_response({"results": [review_object(one) for one in run.reviews.all()]})

    def review(self, request: HttpRequest, id: UUID, said: schemas.NewReview) -> HttpResponse:
        """Adds a review, which stays in the record under the name of the token's owner.

        An identical review within ten minutes is stored once. 409 if the run is not over or the override changes
        nothing.
        """
        run = get_run_or_refuse(request, id, self._kind, REVIEW).run
        text, outcome = _checked(run, said)
        try:
            kept = reviews.add_review(run, credential_of(request).owner, text, outcome)
        except ValueError as error:
            raise ApiError(409, str(error)) from error
        return json_response(review_object(kept), HTTPStatus.CREATED)

    # ---- lists ----

    @property
    def listing(self) -> Callable[..., HttpResponse]:
        return self._list if self._kind else self._list_all

    def _list_all(self, request: HttpRequest, asked: Query[schemas.AllRunsListQuery]) -> HttpResponse:
        if asked.kind and asked.kind not in specs():
            raise field_errors([("kind", f"There is no such kind. There are: {', '.join(specs())}.")])
        return self._page(request, asked, asked.kind)

    def _list(self, request: HttpRequest, asked: Query[schemas.ProcedureRunListQuery]) -> HttpResponse:
        return self._page(request, asked, self._kind)

    def _page(self, request: HttpRequest, asked: schemas.ProcedureRunListQuery, kind: str) -> HttpResponse:
        reject_unknown_parameters(request, *type(asked).model_fields)
        history = RunHistory(
            credential_of(request).owner, history_query_of(asked), face=specs()[kind] if kind else None
        )
        return history_response(request, asked, history, kind)


def history_query_of(asked: schemas.ProcedureRunListQuery) -> dict[str, Any]:
    """Convert the query to the filters of the history."""
    form = RunHistoryForm({"q": asked.q, "since": asked.since, "until": asked.until}, ())
    if not form.is_valid():
        raise field_errors((name, str(errors[0])) for name, errors in form.errors.items())
    said = {"status": asked.status, "came_to": asked.outcome}
    return form.search_terms | {name: value for name, value in said.items() if value}


def _checked(run: Run, said: schemas.NewReview) -> tuple[str, str | None]:
    """Validate a review like the form of the page does."""
    form, outcomes = ReviewTextForm({"text": said.text}), spec_of_run(run).outcomes_of(run)
    wrong = [] if form.is_valid() else [(name, str(errors[0])) for name, errors in form.errors.items()]
    if said.outcome is not None and said.outcome not in outcomes:
        wrong.append(("outcome", f"It cannot come to that. There are: {', '.join(outcomes) or 'none'}."))
    if wrong:
        raise field_errors(wrong)
    return form.cleaned_data["text"], said.outcome


def _status(row: Any) -> str:
    """Return the status in the words of its procedure."""
    return run_object(row, "")["status"]


# ---- routes -----------------------------------------------------------------------------------------------


def run_router(kind: str = "", *, lists: bool = True) -> Router:
    """Build the router of one procedure, under the plural of its noun, or of all, under /runs.

    Procedures add their own endpoints, such as the one to submit. With `lists` False, the procedure has its own list.
    """
    face, router = specs()[kind] if kind else None, Router(by_alias=True)
    noun, nouns, a_noun = (face.noun, face.nouns, face.noun_with_article.lower()) if face else ("run", "runs", "a run")
    for route in _routes(RunEndpoints(kind, noun), noun, nouns, a_noun, face.schema if face else schemas.RunOut):
        if lists or route.name != nouns:
            _add(router, route, noun, nouns)
    if face and face.forks:
        for route in _routes_of_forks(kind, face, face.forks):
            _add(router, route, noun, nouns)
    return router


@dataclass(frozen=True)
class EndpointRoute:
    method: str
    path: str
    name: str
    view: Callable[..., Any]
    gives: Any
    summary: str
    said: dict[str, Any]


def _routes(calls: RunEndpoints, noun: str, nouns: str, a_noun: str, schema: type[Schema]) -> Iterator[EndpointRoute]:
    one, steers = f"/{nouns}/{{uuid:id}}", requires_scope(TokenScope.STEER, calls.kind)
    page, waits = schemas.page_schema(nouns, schema), (404, 422, 429, 503)
    yield EndpointRoute(
        "GET", f"/{nouns}", nouns, calls.listing, page, f"List {nouns}, newest first", problem_responses(422)
    )
    summary = f"Look at {a_noun}, or wait for its end"
    yield EndpointRoute("GET", one, noun, calls.get, schema, summary, problem_responses(*waits))
    followed = problem_responses(*waits, also={200: event_stream_response(noun)})
    yield EndpointRoute(
        "GET", f"{one}/events", "events", calls.events, {200: None, 204: None}, f"Follow {a_noun}", followed
    )
    summary, said = f"Cancel {a_noun}", problem_responses(403, 404, 409)
    yield EndpointRoute("POST", f"{one}/cancel", "cancel", steers(calls.cancel), {202: schema}, summary, said)
    summary, said = f"Let a failed {noun} go on", problem_responses(402, 403, 404, 409, 429)
    yield EndpointRoute(
        "POST", f"{one}/retry", "retry", steers(count_submission(calls.retry)), {202: schema}, summary, said
    )
    said = problem_responses(403, 404, 409)
    yield EndpointRoute("GET", f"{one}/record", "record", calls.record, dict[str, Any], "The full record", said)


def _routes_of_forks(kind: str, face: ProcedureSpec[Any, Any], forks: Forks) -> Iterator[EndpointRoute]:
    calls, submitting = ForkCalls(kind, forks), requires_scope(TokenScope.SUBMIT, kind)
    path, a_noun = f"/{face.nouns}/{{uuid:id}}/fork", face.noun_with_article.lower()
    summary, said = f"See what a fork of {a_noun} would leave behind", problem_responses(404, 409, 422)
    yield EndpointRoute("GET", path, "fork_preview", calls.preview, schemas.ForkPreview, summary, said)
    summary = f"Go on from a {forks.unit} of {a_noun}"
    said = problem_responses(400, 402, 403, 404, 409, 413, 415, 422, 429, also={202: location_response(face.noun)})
    yield EndpointRoute(
        "POST", path, "fork", submitting(count_submission(calls.fork)), {202: face.schema}, summary, said
    )


def _routes_of_reviews(calls: RunEndpoints) -> Iterator[EndpointRoute]:
    """Yield the routes of reviews, which share one address for all procedures."""
    path = "/runs/{uuid:id}/reviews"
    read, said = problem_responses(404, 422), problem_responses(400, 403, 404, 409, 413, 415, 422)
    yield EndpointRoute("GET", path, "reviews", calls.reviews, schemas.ReviewListOut, "Notes and overrides", read)
    kept = requires_scope(TokenScope.REVIEW, calls.kind)(calls.review)
    yield EndpointRoute("POST", path, "review", kept, {201: schemas.ReviewOut}, "Review a run that is over", said)


def _add(router: Router, route: EndpointRoute, noun: str, nouns: str) -> None:
    router.add_api_operation(
        route.path,
        [route.method],
        _function(route.view),
        response=route.gives,
        summary=route.summary,
        openapi_extra=route.said,
        operation_id=f"{nouns}_endpoints_{route.name}",
        url_name=route.name if route.name in (noun, nouns) else f"{noun}-{route.path.rpartition('/')[2]}",
    )


def _function(view: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method in a function, because ninja sets attributes on each view."""

    @wraps(view)
    async def later(*args: Any, **more: Any) -> Any:
        return await view(*args, **more)

    @wraps(view)
    def now(*args: Any, **more: Any) -> Any:
        return view(*args, **more)

    return later if iscoroutinefunction(view) else now


router = run_router()
for route in _routes_of_reviews(RunEndpoints("", "run")):
    _add(router, route, "run", "runs")
