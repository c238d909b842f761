"""The calls that all kinds of runs have. Who calls, and what an error looks like, is the site's business.

Why so: docs/decisions.md, The API.
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

from engine.models import Run
from engine.models.budgets import BudgetUsedUp
from engine.reader import read
from runs import reviews, steering
from runs.face import Face, face_of, faces
from runs.filters import HistoryForm
from runs.forking import Forks
from runs.history import History
from runs.record import record_line
from runs.reviews import ReviewText
from runs.rights import EXPORT, REVIEW, STEER

from . import schemas
from .answers import address_of, answer, found, history_answer, json_answer, kind_of, stream_answer, take_only
from .events import stream, until_ended
from .forking import ForkCalls
from .limits import submits
from .objects import review_object, run_object
from .refusals import Refusal, wrong_fields
from .schemas import LONGEST_WAIT, placed, problems, streamed
from .scopes import Scope, credential, needs

Wait = Annotated[
    float, Query(ge=0, le=LONGEST_WAIT, allow_inf_nan=False, description="Seconds to wait for the end at most.")
]
Until = Annotated[
    str,
    Query(pattern="^(end|gate|end,gate|gate,end)$", description="What is waited for: the end, or a gate that opens."),
]
LastEvent = Annotated[str | None, Header(alias="Last-Event-ID", description="The revision that is known already.")]


class Calls:
    """What programs do with runs of one kind, a name of a procedure, or of all kinds where that is empty."""

    def __init__(self, kind: str, noun: str) -> None:
        self._kind, self._noun = kind, noun

    async def look(self, request: HttpRequest, id: UUID, wait: Wait = 0, until: Until = "end") -> HttpResponse:
        """With a wait the answer comes as soon as it has ended, or after that time; with `until=end,gate` also as soon
        as somebody is needed."""
        take_only(request, "wait", "until")
        row, or_asks = await sync_to_async(found)(request, id, self._kind), "gate" in until
        if not wait or row.run.over:
            return await sync_to_async(answer)(request, row)
        await until_ended(id, credential(request).owner, wait, or_asks=or_asks)
        # by the one reading thread: many waits for one run end at once
        return await read(partial(self._answer_again, request, id))

    def _answer_again(self, request: HttpRequest, pk: UUID) -> HttpResponse:
        """After a wait: the token may have ended meanwhile, and its owner may do less than before."""
        holder = credential(request).holder()
        if holder is None:
            raise AuthenticationError
        credential(request).owner = holder
        return answer(request, found(request, pk, self._kind))

    async def events(self, request: HttpRequest, id: UUID, last: LastEvent = None) -> HttpResponseBase:
        """Server-sent events, one at each change until the end: id is the revision, data the same as in a look.

        204 where it has ended and its last revision is known already: there is nothing to connect again for.
        """
        take_only(request)
        run = (await sync_to_async(found)(request, id, self._kind)).run
        known = int(last) if last and last.isascii() and last.isdigit() and len(last) < 19 else None
        if run.over and run.revision == known:
            return HttpResponse(status=HTTPStatus.NO_CONTENT)
        pieces = stream(id, credential(request), address_of(request), known, self._noun)
        await anext(pieces)
        return stream_answer(pieces)

    def cancel(self, request: HttpRequest, id: UUID) -> HttpResponse:
        """Ends it, and nothing comes of it. To cancel again changes nothing; 409 where it ended by itself."""
        done = steering.cancel(found(request, id, self._kind, STEER), credential(request).owner)
        row = found(request, id, self._kind)
        if not done and row.run.status != Run.Status.CANCELLED:
            raise Refusal(409, f"It cannot be cancelled, for it is over: {_status(row)}.")
        return answer(request, row, HTTPStatus.ACCEPTED)

    def retry(self, request: HttpRequest, id: UUID) -> HttpResponse:
        """It goes on with what is missing. 409 where it has not failed, is redacted, or a person has decided it."""
        row = found(request, id, self._kind, STEER)
        try:
            retried = steering.retry(row, credential(request).owner, limited=True)
        except BudgetUsedUp as error:
            raise Refusal(402, str(error)) from error
        row = found(request, id, self._kind)
        if not retried:
            raise Refusal(409, f"{steering.why_not_retried(row.run)} It is now: {_status(row)}.")
        return answer(request, row, HTTPStatus.ACCEPTED)

    def kind(self, request: HttpRequest, id: UUID, **said: Any) -> str:
        return self._kind or kind_of(request, id)

    def record(self, request: HttpRequest, id: UUID) -> HttpResponse:
        """All that happened, as entries with every prompt and raw answer, and its place in the log, for verify.py.

        409 where nobody gets it yet, with why.
        """
        run = found(request, id, self._kind, EXPORT).run
        if reason := face_of(run).withheld([run]).get(run.pk):
            raise Refusal(409, reason)
        return HttpResponse(record_line(run.pk), content_type="application/json")

    # ---- reviews ----

    def reviews(self, request: HttpRequest, id: UUID) -> HttpResponse:
        """Notes and overrides, oldest first. The last override is what holds; the outcome stays beside it."""
        take_only(request)
        run = found(request, id, self._kind).run
        return json_answer({"results": [review_object(one) for one in run.reviews.all()]})

    def review(self, request: HttpRequest, id: UUID, said: schemas.NewReview) -> HttpResponse:
        """It stays in the record for good, under the name of the token's owner. Who says the very same again within
        ten minutes has sent it twice: it is kept once. 409 where it is not over, or nothing else is decided by it."""
        run = found(request, id, self._kind, REVIEW).run
        text, outcome = _checked(run, said)
        try:
            kept = reviews.add(run, credential(request).owner, text, outcome)
        except ValueError as error:
            raise Refusal(409, str(error)) from error
        return json_answer(review_object(kept), HTTPStatus.CREATED)

    # ---- lists ----

    @property
    def listing(self) -> Callable[..., HttpResponse]:
        return self._list if self._kind else self._list_all

    def _list_all(self, request: HttpRequest, asked: Query[schemas.SoughtOfAll]) -> HttpResponse:
        if asked.kind and asked.kind not in faces():
            raise wrong_fields([("kind", f"There is no such kind. There are: {', '.join(faces())}.")])
        return self._page(request, asked, asked.kind)

    def _list(self, request: HttpRequest, asked: Query[schemas.SoughtOfKind]) -> HttpResponse:
        return self._page(request, asked, self._kind)

    def _page(self, request: HttpRequest, asked: schemas.SoughtOfKind, kind: str) -> HttpResponse:
        take_only(request, *type(asked).model_fields)
        history = History(credential(request).owner, sought_of(asked), face=faces()[kind] if kind else None)
        return history_answer(request, asked, history, kind)


def sought_of(asked: schemas.SoughtOfKind) -> dict[str, Any]:
    """As the page's filters take it."""
    form = HistoryForm({"q": asked.q, "since": asked.since, "until": asked.until}, ())
    if not form.is_valid():
        raise wrong_fields((name, str(errors[0])) for name, errors in form.errors.items())
    said = {"status": asked.status, "came_to": asked.outcome}
    return form.sought | {name: value for name, value in said.items() if value}


def _checked(run: Run, said: schemas.NewReview) -> tuple[str, str | None]:
    """As the page for it checks what is typed there."""
    form, outcomes = ReviewText({"text": said.text}), face_of(run).outcomes_of(run)
    wrong = [] if form.is_valid() else [(name, str(errors[0])) for name, errors in form.errors.items()]
    if said.outcome is not None and said.outcome not in outcomes:
        wrong.append(("outcome", f"It cannot come to that. There are: {', '.join(outcomes) or 'none'}."))
    if wrong:
        raise wrong_fields(wrong)
    return form.cleaned_data["text"], said.outcome


def _status(row: Any) -> str:
    """In the word of its kind."""
    return run_object(row, "")["status"]


# ---- their addresses --------------------------------------------------------------------------------------


def router_of(kind: str = "", *, lists: bool = True) -> Router:
    """The calls of one kind, under the plural of its noun, or those of all kinds, under /runs.

    A procedure adds its own to them, above all how to submit. `lists`: False where it has a list of its own.
    """
    face, router = faces()[kind] if kind else None, Router(by_alias=True)
    noun, nouns, a_noun = (face.noun, face.nouns, face.a_noun.lower()) if face else ("run", "runs", "a run")
    for route in _routes(Calls(kind, noun), noun, nouns, a_noun, face.schema if face else schemas.Run):
        if lists or route.name != nouns:
            _add(router, route, noun, nouns)
    if face and face.forks:
        for route in _routes_of_forks(kind, face, face.forks):
            _add(router, route, noun, nouns)
    return router


@dataclass(frozen=True)
class Route:
    method: str
    path: str
    name: str
    view: Callable[..., Any]
    gives: Any
    summary: str
    said: dict[str, Any]


def _routes(calls: Calls, noun: str, nouns: str, a_noun: str, schema: type[Schema]) -> Iterator[Route]:
    one, steers = f"/{nouns}/{{uuid:id}}", needs(Scope.STEER, calls.kind)
    page, waits = schemas.page_of(nouns, schema), (404, 422, 429, 503)
    yield Route("GET", f"/{nouns}", nouns, calls.listing, page, f"List {nouns}, newest first", problems(422))
    summary = f"Look at {a_noun}, or wait for its end"
    yield Route("GET", one, noun, calls.look, schema, summary, problems(*waits))
    followed = problems(*waits, also={200: streamed(noun)})
    yield Route("GET", f"{one}/events", "events", calls.events, {200: None, 204: None}, f"Follow {a_noun}", followed)
    summary, said = f"Cancel {a_noun}", problems(403, 404, 409)
    yield Route("POST", f"{one}/cancel", "cancel", steers(calls.cancel), {202: schema}, summary, said)
    summary, said = f"Let a failed {noun} go on", problems(402, 403, 404, 409, 429)
    yield Route("POST", f"{one}/retry", "retry", steers(submits(calls.retry)), {202: schema}, summary, said)
    said = problems(403, 404, 409)
    yield Route("GET", f"{one}/record", "record", calls.record, dict[str, Any], "The full record", said)


def _routes_of_forks(kind: str, face: Face[Any, Any], forks: Forks) -> Iterator[Route]:
    calls, submitting = ForkCalls(kind, forks), needs(Scope.SUBMIT, kind)
    path, a_noun = f"/{face.nouns}/{{uuid:id}}/fork", face.a_noun.lower()
    summary, said = f"See what a fork of {a_noun} would leave behind", problems(404, 409, 422)
    yield Route("GET", path, "fork_preview", calls.preview, schemas.ForkPreview, summary, said)
    summary = f"Go on from a {forks.unit} of {a_noun}"
    said = problems(400, 402, 403, 404, 409, 413, 415, 422, 429, also={202: placed(face.noun)})
    yield Route("POST", path, "fork", submitting(submits(calls.fork)), {202: face.schema}, summary, said)


def _routes_of_reviews(calls: Calls) -> Iterator[Route]:
    """Under one address for all kinds."""
    path = "/runs/{uuid:id}/reviews"
    read, said = problems(404, 422), problems(400, 403, 404, 409, 413, 415, 422)
    yield Route("GET", path, "reviews", calls.reviews, schemas.Reviews, "Notes and overrides", read)
    kept = needs(Scope.REVIEW, calls.kind)(calls.review)
    yield Route("POST", path, "review", kept, {201: schemas.Review}, "Review a run that is over", said)


def _add(router: Router, route: Route, noun: str, nouns: str) -> None:
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
    """ninja writes something down at each view, which a method does not let it."""

    @wraps(view)
    async def later(*args: Any, **more: Any) -> Any:
        return await view(*args, **more)

    @wraps(view)
    def now(*args: Any, **more: Any) -> Any:
        return view(*args, **more)

    return later if iscoroutinefunction(view) else now


router = router_of()
for route in _routes_of_reviews(Calls("", "run")):
    _add(router, route, "run", "runs")
