"""Connections to endpoints over aiohttp: small kernel buffers, one request each, read at the pace of
`response_stream.ReadShare`.

Imported only by processes that perform runs, because the imports are expensive.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import aiohttp
import httpx2
import openai
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import AddrInfoType
from multidict import CIMultiDict
from openai._vendor.httpx_aiohttp import AiohttpTransport
from openai._vendor.httpx_aiohttp.transport import AiohttpResponseStream, map_aiohttp_exceptions
from pydantic_core import to_json
from yarl import URL

from .providers import Provider
from .response_stream import PIECE_BYTES, RawAnswer, ReadShare

if TYPE_CHECKING:
    from openai._types import RequestOptions

# a compressed answer could be a thousand times larger than it looks; some compress all the same
NO_COMPRESSION: "RequestOptions" = {"headers": {"Accept-Encoding": "identity"}}
RECEIVE_WINDOW = (
    16 * 1024
)  # bytes that may wait in the kernel: so many come at once at most, and a hundred pieces a round trip


class ArrivingResponse:
    """An answer whose head has arrived, for `response_stream.read_pieces`, with httpx2's errors.

    Creating an httpx2 response would take longer than reading the answer.
    """

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        # as in httpx2: repeated headers are one value
        self.headers = {"content-encoding": ", ".join(response.headers.getall("content-encoding", ["identity"]))}

    async def aiter_raw(self) -> AsyncGenerator[bytes, None]:
        with map_aiohttp_exceptions():
            async for chunk in self._response.content.iter_chunked(PIECE_BYTES):
                yield chunk

    async def aclose(self) -> None:
        with map_aiohttp_exceptions():
            await self._response.__aexit__(None, None, None)


class StreamingOpenAI(openai.AsyncOpenAI):
    """The openai client, with the URL, options and headers of its first request reused.

    The library builds them for every request, which takes longer than sending it; they are the same for all
    requests of one client.
    """

    _send: Callable[[bytes], Awaitable[RawAnswer]] | None = None

    async def complete(self, body: dict[str, Any]) -> RawAnswer:
        """Return a chat completion whose body has not been read yet. Raises the library's error for an error
        status.
        """
        if self._send:
            return await self._send(to_json(body))
        asked: dict[str, Any] = {"body": body, "cast_to": httpx2.Response, "options": NO_COMPRESSION}
        answer = cast(httpx2.Response, await self.post("/chat/completions", stream=True, **asked))
        self._send = self._sender(answer.request)
        return answer

    def _sender(self, first: httpx2.Request) -> Callable[[bytes], Awaitable[RawAnswer]]:
        """Return a function that sends bodies as the first request was sent."""
        headers = [(name, value) for name, value in first.headers.multi_items() if name != "content-length"]
        below = self._client._transport
        if not isinstance(below, AiohttpTransport):
            return partial(self._rehearse, below, first.url, headers)
        asked: dict[str, Any] = {
            "headers": CIMultiDict(headers),
            "timeout": aiohttp.ClientTimeout(sock_connect=first.extensions["timeout"]["connect"]),
            "allow_redirects": False,
            "auto_decompress": False,
        }
        bare = httpx2.Request("POST", first.url)  # nothing of the first question stays
        return partial(self._ask, partial(below.get_client().post, URL(str(first.url)), **asked), bare)

    async def _ask(self, post: Callable[..., Any], bare: httpx2.Request, body: bytes) -> RawAnswer:
        with map_aiohttp_exceptions():
            response: aiohttp.ClientResponse = await post(data=body)
        if 200 <= response.status < 300:
            return ArrivingResponse(response)
        stream, head = AiohttpResponseStream(response), response.raw_headers
        refused = httpx2.Response(response.status, headers=head, stream=stream, request=bare)
        for hook in self._client.event_hooks["response"]:  # where it is cut: an error may be of any length
            await hook(refused)
        raise await self._refusal(refused)

    async def _rehearse(
        self, rehearsal: httpx2.AsyncBaseTransport, url: httpx2.URL, headers: list[tuple[str, str]], body: bytes
    ) -> RawAnswer:
        request = httpx2.Request("POST", url, headers=headers, content=body)
        response = await rehearsal.handle_async_request(request)
        if response.is_success:
            return response
        response.request = request
        raise await self._refusal(response)

    async def _refusal(self, response: httpx2.Response) -> openai.APIStatusError:
        await response.aread()
        return self._make_status_error_from_response(response)


def aiohttp_transport(provider: Provider, turns: asyncio.Lock) -> httpx2.AsyncBaseTransport:
    made = AiohttpTransport(trust_env=False)
    made.client = partial(_session, provider.concurrency, made.ssl_context, turns)
    return made


def _session(at_once: int, encryption: ssl.SSLContext, turns: asyncio.Lock) -> aiohttp.ClientSession:
    """Create the session. The transport calls it at the first request, when the event loop runs."""
    connector = aiohttp.TCPConnector(limit=at_once, force_close=True, ssl=encryption, socket_factory=_socket)
    connector._factory = cast(Any, partial(_Handler, asyncio.get_running_loop(), turns))
    return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), read_bufsize=PIECE_BYTES)


def _socket(address: AddrInfoType) -> socket.socket:
    family, kind, protocol, *_ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_WINDOW)
    return made


class _Handler(ResponseHandler):
    """aiohttp's protocol handler within the share of reading: endless heads and frames of tiny chunks never reach our
    code.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, turns: asyncio.Lock) -> None:
        super().__init__(loop)
        self._share = ReadShare(turns)
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
