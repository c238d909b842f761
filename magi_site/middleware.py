from codecs import lookup
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from asgiref.sync import iscoroutinefunction
from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.core.exceptions import BadRequest
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

from .problem_details import error_format_for, error_response

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'"
    ),
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
}


@sync_and_async_middleware
def security_headers(get_response: Callable) -> Callable[[HttpRequest], HttpResponse | Awaitable[HttpResponse]]:
    """Add the headers of `HEADERS`, and forbid caching of pages."""

    def add(response: HttpResponse) -> HttpResponse:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if response.headers.get("Content-Type", "").startswith("text/html"):
            response.headers.setdefault("Cache-Control", "no-store")
        return response

    async def answer_later(request: HttpRequest) -> HttpResponse:
        return add(await get_response(request))

    def answer(request: HttpRequest) -> HttpResponse:
        return add(get_response(request))

    return answer_later if iscoroutinefunction(get_response) else answer


@sync_and_async_middleware
def reject_invalid_utf8(get_response: Callable) -> Callable[[HttpRequest], HttpResponse | Awaitable[HttpResponse]]:
    """Refuse requests that declare another encoding than UTF-8.

    Django would decode forms with it, and several encodings yield lone surrogates, which no database stores.
    """

    def refusal(request: HttpRequest) -> HttpResponse | None:
        named = (request.content_params or {}).get("charset", "utf-8")
        if _is_utf8(named):
            return None
        if error_format_for(request.path_info):
            return error_response(request, 415, f"Send it as UTF-8: {named[:60]!a} is not read.")
        raise BadRequest(f"Sent as {named[:60]!a}, and UTF-8 alone is read.")

    async def answer_later(request: HttpRequest) -> HttpResponse:
        return refusal(request) or await get_response(request)

    def answer(request: HttpRequest) -> HttpResponse:
        return refusal(request) or get_response(request)

    return answer_later if iscoroutinefunction(get_response) else answer


def _is_utf8(encoding: str) -> bool:
    try:
        return lookup(encoding).name == "utf-8"
    except (LookupError, ValueError):  # ValueError: a name with a NUL
        return False


class NormalizedRequest(ASGIRequest):
    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        # Django handles an unknown encoding only; a name with a NUL raises here and `reject_invalid_utf8` refuses it
        with suppress(ValueError):
            super()._set_content_type_params(meta)  # type: ignore[misc]


def require_same_origin(sockets: Callable) -> Callable:
    """Accept websockets only from pages of this origin; another port of the same host is another origin."""
    scheme = "http" if settings.ENVIRONMENT.local else "https"
    refuse = WebsocketDenier.as_asgi()

    async def application(scope: dict[str, Any], receive: Callable, send: Callable) -> None:
        headers = dict(scope["headers"])
        origin = headers.get(b"origin", b"").decode("latin-1")
        own = f"{scheme}://{headers.get(b'host', b'').decode('latin-1')}"
        known = origin == own or origin in settings.CSRF_TRUSTED_ORIGINS
        await (sockets if known else refuse)(scope, receive, send)

    return application
