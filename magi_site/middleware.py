from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

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
def headers(get_response: Callable) -> Callable[[HttpRequest], HttpResponse | Awaitable[HttpResponse]]:
    """What a page may load and who may keep it: nothing from elsewhere, nobody but the reader."""

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


def same_origin(sockets: Callable) -> Callable:
    """Lets a websocket through only from a page of this very site: another port of this host is another site."""
    scheme = "http" if settings.ENVIRONMENT.local else "https"
    refuse = WebsocketDenier.as_asgi()

    async def application(scope: dict[str, Any], receive: Callable, send: Callable) -> None:
        headers = dict(scope["headers"])
        origin = headers.get(b"origin", b"").decode("latin-1")
        own = f"{scheme}://{headers.get(b'host', b'').decode('latin-1')}"
        known = origin == own or origin in settings.CSRF_TRUSTED_ORIGINS
        await (sockets if known else refuse)(scope, receive, send)

    return application
