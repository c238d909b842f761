"""What is asked for in a call of the API, and how it is answered, whatever kind of run it is about."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse

from engine.hidden import visible_json
from engine.models import Run
from runs.face import faces
from runs.given_looks import note_look, note_looks
from runs.history import PAGE, History
from runs.rights import SEE, Right

from .objects import run_object, run_objects, run_summaries
from .refusals import Refusal, wrong_fields
from .schemas import Sought
from .scopes import credential


def take_only(request: HttpRequest, *names: str) -> None:
    """A filter that is written wrongly must not be left out without a word."""
    unknown = [(name, "There is no such parameter.") for name in request.GET if name not in names]
    doubled = [(name, "It is there more than once.") for name, values in request.GET.lists() if len(values) > 1]
    if unknown or doubled:
        raise wrong_fields([*unknown, *doubled])


# ---- finding ----------------------------------------------------------------------------------------------


def kind_of(request: HttpRequest, pk: UUID) -> str:
    """Of a run that the caller may see. Others' are answered as those that are not there."""
    runs = Run.objects.filter(procedure__in=list(faces())).only("procedure", "owner_id", "parent_id")
    if (run := SEE.one(runs, credential(request).owner, pk)) is None:
        raise missing("run")
    return run.procedure


def found(request: HttpRequest, pk: UUID, kind: str = "", right: Right = SEE) -> Any:
    """The row of a run, of this kind or any, that the caller may see, to do this with it."""
    user, noun = credential(request).owner, faces()[kind].noun if kind else "run"
    face = faces()[kind or kind_of(request, pk)]
    row = SEE.one(face.rows(), user, pk)
    if row is None:
        raise missing(noun)
    if not right.covers(user, row.run):
        raise Refusal(403, right.refusal(noun))
    note_look(row.run, user)
    return row


def missing(noun: str) -> Refusal:
    return Refusal(404, f"There is no such {noun}.")


# ---- answering --------------------------------------------------------------------------------------------


def address_of(request: HttpRequest) -> str:
    return f"{request.scheme}://{request.get_host()}"


def answer(
    request: HttpRequest, row: Any, status: int = HTTPStatus.OK, headers: dict[str, str] | None = None
) -> HttpResponse:
    return json_answer(run_object(row, address_of(request)), status, headers)


def history_answer(request: HttpRequest, asked: Sought, history: History, kind: str = "") -> HttpResponse:
    """One page of a list, of this kind or of all; `asked` is what restricts it, and as `cursor` where it begins."""
    try:
        pks = history.after(UUID(asked.cursor) if asked.cursor else None, PAGE + 1)
    except ValueError as error:
        raise wrong_fields([("cursor", "There is no such place. Begin without a cursor.")]) from error
    sought = {name: "1" if value is True else value for name, value in asked.model_dump().items() if value}
    path = f"{address_of(request)}{request.path}"
    following = f"{path}?{urlencode(sought | {'cursor': str(pks[PAGE - 1])})}" if len(pks) > PAGE else None
    note_looks(pks[:PAGE], credential(request).owner)
    objects = run_objects if asked.full else run_summaries
    return json_answer({"results": objects(pks[:PAGE], address_of(request), kind), "next": following})


def json_answer(content: Any, status: int = HTTPStatus.OK, headers: dict[str, str] | None = None) -> HttpResponse:
    return HttpResponse(visible_json(content), "application/json", status, headers=headers)


def stream_answer(pieces: AsyncGenerator[str, None]) -> StreamingHttpResponse:
    """Its head goes out at once. nginx would keep pieces back until it has many."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingHttpResponse(_after_head(pieces), content_type="text/event-stream", headers=headers)


async def _after_head(pieces: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
    async with aclosing(pieces):
        yield ""  # the head goes with the first piece, and where a stream broke and goes on that may be long in coming
        async for piece in pieces:
            yield piece
