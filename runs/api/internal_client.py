"""Calls of the API from within, for other interfaces; authentication, limits and refusals are the same.

Why so: runs/DESIGN.md, Other doors.
"""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import NoReverseMatch, resolve, reverse

from .errors import RATE_LIMIT_HEADERS, ApiError

FORWARDED_HEADERS = (
    "HTTP_AUTHORIZATION",
    "HTTP_HOST",
    "SERVER_NAME",
    "SERVER_PORT",
    "REMOTE_ADDR",
    "HTTP_IDEMPOTENCY_KEY",
)
ERROR_HEADERS = (*RATE_LIMIT_HEADERS, "WWW-Authenticate")


class _Inner(HttpRequest):
    """A request with the credentials of another, but its own address and body."""

    def __init__(self, outer: HttpRequest, method: str, path: str, query: Mapping[str, str], content: Any) -> None:
        super().__init__()
        self._outer = outer
        self.method, self.path, self.path_info = method, path, path
        kept = {name: outer.META[name] for name in FORWARDED_HEADERS if name in outer.META}
        self.META = {**kept, "REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": urlencode(query)}
        self.GET = QueryDict(self.META["QUERY_STRING"])  # immutable
        self.content_type, self.content_params = "application/json", {}
        self._body = b"" if content is None else json.dumps(content).encode()

    def _get_scheme(self) -> str:
        return self._outer.scheme or "http"


async def call_api(
    outer: HttpRequest,
    method: str,
    name: str,
    content: Any = None,
    *,
    at: Mapping[str, Any] | None = None,
    query: Mapping[str, str] | None = None,
    key: str = "",
) -> Any:
    """Call the named endpoint with the credentials of the outer request and return its JSON.

    `at` are the parameters of the path. `key` replaces the outer request's idempotency key. Raises ApiError.
    """
    try:
        path = reverse(f"api:{name}", kwargs=dict(at or {}))
    except NoReverseMatch as error:
        raise ApiError(404, "There is nothing under this id.") from error
    found = resolve(path)
    inner = _Inner(outer, method, path, query or {}, content)
    if key:
        inner.META["HTTP_IDEMPOTENCY_KEY"] = key
    view = found.func if iscoroutinefunction(found.func) else sync_to_async(found.func)
    answer: HttpResponse = await view(inner, *found.args, **found.kwargs)
    said = json.loads(answer.content or b"null")
    if answer.status_code >= 400:
        headers = {name: answer.headers[name] for name in ERROR_HEADERS if name in answer.headers}
        errors = [(one["path"], one["message"]) for one in said.get("errors", ())]
        raise ApiError(answer.status_code, said["detail"], errors, headers)
    return said
