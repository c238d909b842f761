"""Request and response helpers of the API, shared by all procedures."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse

from engine.models import Run
from engine.text.invisible_chars import visible_json
from runs.access_log import log_view, log_views
from runs.history.query import PAGE_SIZE, RunHistory
from runs.procedure.spec import specs
from runs.rights import SEE, RunRight

from ..procedure.schemas import RunListQuery
from ..run_object import run_object, run_objects, run_summaries
from .errors import ApiError, field_errors
from .scopes import credential_of


def reject_unknown_parameters(request: HttpRequest, *names: str) -> None:
    """Refuse unknown and repeated parameters, so that a mistyped filter is not ignored silently."""
    unknown = [(name, "There is no such parameter.") for name in request.GET if name not in names]
    doubled = [(name, "It is there more than once.") for name, values in request.GET.lists() if len(values) > 1]
    if unknown or doubled:
        raise field_errors([*unknown, *doubled])


# ---- finding ----------------------------------------------------------------------------------------------


def procedure_of(request: HttpRequest, pk: UUID) -> str:
    """Return the procedure of a run. A run that the caller may not see gets the same 404 as a missing one."""
    runs = Run.objects.filter(procedure__in=list(specs())).only("procedure", "owner_id", "parent_id")
    if (run := SEE.one(runs, credential_of(request).owner, pk)) is None:
        raise not_found("run")
    return run.procedure


def get_run_or_refuse(request: HttpRequest, pk: UUID, kind: str = "", right: RunRight = SEE) -> Any:
    """Return the row of a run that the caller may see and that `right` covers. Raises ApiError, and logs the view."""
    user, noun = credential_of(request).owner, specs()[kind].noun if kind else "run"
    face = specs()[kind or procedure_of(request, pk)]
    row = SEE.one(face.rows(), user, pk)
    if row is None:
        raise not_found(noun)
    if not right.covers(user, row.run):
        raise ApiError(403, right.refusal(noun))
    log_view(row.run, user)
    return row


def not_found(noun: str) -> ApiError:
    return ApiError(404, f"There is no such {noun}.")


# ---- answering --------------------------------------------------------------------------------------------


def address_of(request: HttpRequest) -> str:
    return f"{request.scheme}://{request.get_host()}"


def run_response(
    request: HttpRequest, row: Any, status: int = HTTPStatus.OK, headers: dict[str, str] | None = None
) -> HttpResponse:
    return json_response(run_object(row, address_of(request)), status, headers)


def history_response(request: HttpRequest, asked: RunListQuery, history: RunHistory, kind: str = "") -> HttpResponse:
    """Return one page of a list; `asked` has the filters and the `cursor` at which it starts."""
    try:
        pks = history.after(UUID(asked.cursor) if asked.cursor else None, PAGE_SIZE + 1)
    except ValueError as error:
        raise field_errors([("cursor", "There is no such place. Begin without a cursor.")]) from error
    sought = {name: "1" if value is True else value for name, value in asked.model_dump().items() if value}
    path = f"{address_of(request)}{request.path}"
    following = f"{path}?{urlencode(sought | {'cursor': str(pks[PAGE_SIZE - 1])})}" if len(pks) > PAGE_SIZE else None
    log_views(pks[:PAGE_SIZE], credential_of(request).owner)
    objects = run_objects if asked.full else run_summaries
    return json_response({"results": objects(pks[:PAGE_SIZE], address_of(request), kind), "next": following})


def json_response(content: Any, status: int = HTTPStatus.OK, headers: dict[str, str] | None = None) -> HttpResponse:
    return HttpResponse(visible_json(content), "application/json", status, headers=headers)


def stream_response(pieces: AsyncGenerator[str, None]) -> StreamingHttpResponse:
    """Stream immediately; without the header, nginx would buffer the pieces."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingHttpResponse(_after_head(pieces), content_type="text/event-stream", headers=headers)


async def _after_head(pieces: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
    async with aclosing(pieces):
        yield ""  # the head is sent with the first piece, and after a reconnect that may take long
        async for piece in pieces:
            yield piece
