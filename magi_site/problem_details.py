"""Errors of the API as RFC 9457 has them: one shape, whatever went wrong and whoever found it out. Where a call is made
as to a language model, they have the shape that clients of those read."""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

CONTENT_TYPE = "application/problem+json"
KEPT_HEADERS = ("Allow", "Retry-After", "WWW-Authenticate")
DETAILS = {
    400: "The request cannot be read.",
    404: "There is nothing at this address. /api/v1/docs lists what there is.",
    405: "This address does not take this method.",
    413: "The body is too large.",
    500: "Something broke here. The server's log says what.",
}


def problem_response(
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


RETRYABLE_STATUSES = (429, 503)
TYPES = {402: "insufficient_quota", 403: "permission_error", 429: "rate_limit_error"}
CODES = {401: "invalid_api_key", 402: "insufficient_quota", 403: "insufficient_permissions", 429: "rate_limit_exceeded"}


def chat_problem_response(
    status: int,
    detail: str = "",
    errors: Iterable[tuple[str, str]] = (),
    headers: Mapping[str, str] | None = None,
    code: str | None = None,
) -> HttpResponse:
    """As who calls a language model reads it. Such clients try again by themselves, which would begin a second run, so
    they are told not to wherever that would not help."""
    wrong = list(errors)
    told = " ".join([detail or DETAILS.get(status, ""), *(f"{path}: {said}" for path, said in wrong if said)]).strip()
    kind = TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    error = {"message": told or f"{HTTPStatus(status).phrase}.", "type": kind}
    error |= {"param": wrong[0][0] if wrong else None, "code": code or CODES.get(status)}  # type: ignore[dict-item]
    retry = "true" if status in RETRYABLE_STATUSES else "false"
    more = {"x-should-retry": retry, **(headers or {})}
    content = json.dumps({"error": error})
    status = HTTPStatus.BAD_REQUEST if status == HTTPStatus.UNPROCESSABLE_ENTITY else status
    return HttpResponse(content, status=status, content_type=MODEL_CONTENT_TYPE, headers=more)


MODEL_CONTENT_TYPE = "application/json"
ERROR_FORMATS: Mapping[str, tuple[Callable[..., HttpResponse], str]] = {
    "/api/": (problem_response, CONTENT_TYPE),
    "/v1/": (chat_problem_response, MODEL_CONTENT_TYPE),
}


def error_format_for(path: str) -> tuple[Callable[..., HttpResponse], str] | None:
    """What makes an error for whoever calls this address, and its type; None where people are answered."""
    return next((shape for prefix, shape in ERROR_FORMATS.items() if path.startswith(prefix)), None)


def sign_in_refused(request: HttpRequest, status: int, *said: Any, **more: Any) -> HttpResponse:
    """In the shape of the address."""
    make, _ = error_format_for(request.path_info) or (problem_response, "")
    return make(status, *said, **more)


@sync_and_async_middleware
def problem_middleware(get_response: Callable) -> Callable[[HttpRequest], HttpResponse | Awaitable[HttpResponse]]:
    """What the API did not refuse itself, such as an unknown address, is no page for people either."""

    def change(request: HttpRequest, response: HttpResponse) -> HttpResponse:
        shape = error_format_for(request.path_info)
        if shape is None:
            return response
        make, content_type = shape
        if response.status_code >= HTTPStatus.BAD_REQUEST and response.headers.get("Content-Type") != content_type:
            kept = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
            response = make(response.status_code, headers=kept)
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    async def answer_later(request: HttpRequest) -> HttpResponse:
        return change(request, await get_response(request))

    def answer(request: HttpRequest) -> HttpResponse:
        return change(request, get_response(request))

    return answer_later if iscoroutinefunction(get_response) else answer
