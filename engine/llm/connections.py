"""The connections to endpoints, by aiohttp: small in the kernel, one request each, read at the pace of `wire.Share`.

Imported by whoever asks an endpoint and by nobody else: it is much to import.
"""

import asyncio
import json
import socket
import ssl
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import aiohttp
import httpx2
import openai
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import AddrInfoType
from openai._models import FinalRequestOptions
from openai._vendor.httpx_aiohttp import AiohttpTransport

from .providers import Provider
from .wire import PIECE, Share

if TYPE_CHECKING:
    from openai._types import RequestOptions

_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode  # as openai writes it
# a compressed answer could be a thousand times larger than it looks; some compress all the same
UNCOMPRESSED: "RequestOptions" = {"headers": {"Accept-Encoding": "identity"}}
WINDOW = 16 * 1024  # bytes that may wait in the kernel: so many come at once at most, and a hundred pieces a round trip


class Client(openai.AsyncOpenAI):
    """openai's own. It makes options, address and headers of every request anew, which takes longer than to send it;
    those of one client's questions are the same, so that the first one's do for all."""

    _first: httpx2.Request | None = None

    async def complete(self, body: dict[str, Any]) -> httpx2.Response:
        """A chat completion, its body not read yet. The client's own error where the status is one."""
        if self._first is None:
            asked: dict[str, Any] = {"body": body, "cast_to": httpx2.Response, "options": UNCOMPRESSED}
            return cast(httpx2.Response, await self.post("/chat/completions", stream=True, **asked))
        response = await self._client.send(self._as_the_first(body), stream=True)
        if not response.is_success:
            await response.aread()
            raise self._make_status_error_from_response(response)
        return response

    def _build_request(self, options: FinalRequestOptions, *, retries_taken: int = 0) -> httpx2.Request:
        made = super()._build_request(options, retries_taken=retries_taken)
        if options.method == "post" and self._first is None:
            self._kept = [(name, value) for name, value in made.headers.raw if name.lower() != b"content-length"]
            self._first = made
        return made

    def _as_the_first(self, body: dict[str, Any]) -> httpx2.Request:
        first = cast(httpx2.Request, self._first)
        extensions = dict(first.extensions)
        return httpx2.Request(
            first.method, first.url, headers=self._kept, content=_json(body).encode(), extensions=extensions
        )


def transport(provider: Provider, turns: asyncio.Lock) -> httpx2.AsyncBaseTransport:
    made = AiohttpTransport(trust_env=False)
    made.client = partial(_session, provider.concurrency, made.ssl_context, turns)
    return made


def _session(at_once: int, encryption: ssl.SSLContext, turns: asyncio.Lock) -> aiohttp.ClientSession:
    """Made by the transport at its first request, when the event loop runs."""
    connector = aiohttp.TCPConnector(limit=at_once, force_close=True, ssl=encryption, socket_factory=_socket)
    connector._factory = cast(Any, partial(_Handler, asyncio.get_running_loop(), turns))
    return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), read_bufsize=PIECE)


def _socket(address: AddrInfoType) -> socket.socket:
    family, kind, protocol, *_ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, WINDOW)
    return made


class _Handler(ResponseHandler):
    """aiohttp's own, on the same terms: heads without end and the frames of tiny chunks never get as far as we do."""

    def __init__(self, loop: asyncio.AbstractEventLoop, turns: asyncio.Lock) -> None:
        super().__init__(loop)
        self._share = Share(turns)
        self._paying: asyncio.Task[None] | None = None

    def data_received(self, data: bytes) -> None:
        self._share.begin()
        super().data_received(data)
        due = self._share.stop()
        if due and not self._paying:
            self._paying = self._loop.create_task(self._pay(due))

    async def _pay(self, due: float) -> None:
        self._pause_reading_for_buffer()
        await self._share.pay(due)
        self._paying = None
        self._resume_reading_for_buffer()

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._paying:
            self._paying.cancel()
        super().connection_lost(exc)
