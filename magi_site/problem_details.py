"""Error responses: RFC 9457 under /api/, and the format of OpenAI-compatible servers under /v1/."""

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
    # ASCII escapes: a message may repeat a name with lone surrogates, which cannot be encoded
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
    """An error in the format of OpenAI-compatible servers.

    Clients of language models retry by themselves, which would start a second run. The header `x-should-retry` stops
    them except for RETRYABLE_STATUSES.
    """
    wrong = list(errors)
    details = [f"{path}: {message}" for path, message in wrong if message]
    text = " ".join([detail or DETAILS.get(status, ""), *details]).strip()
    kind = TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    error = {"message": text or f"{HTTPStatus(status).phrase}.", "type": kind}
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
    """The function that builds errors for this path, and their content type; None for pages."""
    return next((shape for prefix, shape in ERROR_FORMATS.items() if path.startswith(prefix)), None)


def error_response(request: HttpRequest, status: int, *details: Any, **more: Any) -> HttpResponse:
    """An error in the format of the request's path."""
    make, _ = error_format_for(request.path_info) or (problem_response, "")
    return make(status, *details, **more)


@sync_and_async_middleware
def problem_middleware(get_response: Callable) -> Callable[[HttpRequest], HttpResponse | Awaitable[HttpResponse]]:
    """Replace Django's error pages under API paths, such as the one for an unknown address, by API errors."""

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
