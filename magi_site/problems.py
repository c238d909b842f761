"""Errors of the API as RFC 9457 has them: one shape, whatever went wrong and whoever found it out."""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

PATHS = "/api/"
CONTENT_TYPE = "application/problem+json"
KEPT = ("Allow", "Retry-After", "WWW-Authenticate")
DETAILS = {
    400: "The request cannot be read.",
    404: "There is nothing at this address. /api/v1/docs lists what there is.",
    405: "This address does not take this method.",
    413: "The body is too large.",
    500: "Something broke here. The server's log says what.",
}


def problem(
    status: int,
    detail: str = "",
    errors: Iterable[tuple[str, str]] = (),
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """`errors` are pairs of a field's path and what is wrong there."""
    title = HTTPStatus(status).phrase
    content: dict[str, Any] = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": detail or DETAILS.get(status, f"{title}."),
    }
    if wrong := [{"path": path, "message": message} for path, message in errors]:
        content["errors"] = wrong
    # in ASCII: a name that is no text is repeated, too
    return HttpResponse(json.dumps(content), status=status, content_type=CONTENT_TYPE, headers=dict(headers or {}))


@sync_and_async_middleware
def problems(get_response: Callable) -> Callable[[HttpRequest], HttpResponse | Awaitable[HttpResponse]]:
    """What the API did not refuse itself, such as an unknown address, is no page for people either."""

    def change(request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if not request.path_info.startswith(PATHS):
            return response
        if response.status_code >= HTTPStatus.BAD_REQUEST and response.headers.get("Content-Type") != CONTENT_TYPE:
            kept = {name: response.headers[name] for name in KEPT if name in response.headers}
            response = problem(response.status_code, headers=kept)
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    async def answer_later(request: HttpRequest) -> HttpResponse:
        return change(request, await get_response(request))

    def answer(request: HttpRequest) -> HttpResponse:
        return change(request, get_response(request))

    return answer_later if iscoroutinefunction(get_response) else answer
