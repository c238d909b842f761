"""Streams from endpoints: requests are isolated from each other, and each has a limited share of the process.

An endpoint may send faster than anybody can read, in very small pieces, or so compressed that few bytes are much
work. Site and engine share one event loop, so data is read in small pieces, counted, and left in the kernel (and so
at the endpoint) while others have their turn.

Why so: engine/DESIGN.md, What models are told and asked.
"""

import asyncio
import http.cookiejar
import time
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator, Mapping
from contextlib import aclosing
from functools import partial
from types import coroutine
from typing import Any, Protocol, TypeVar, cast

import httpx2

from . import errors, rehearsal
from .providers import REHEARSAL, Provider

PIECE_BYTES = 16 * 1024  # bytes taken at once
MOST_BYTES = 64 * 1024 * 1024  # of one answer: 100,000 pieces of thought with all that gateways send around them
BURST_SECONDS = 0.05  # seconds of work that any answer may take at once: thousands of the usual small pieces
STEADY_BYTES_PER_SECOND = (
    0.003  # of the time that it lasts: 300 pieces a second, and 300 answers at once leave the process alive
)
BULK_SHARE = 0.25  # of the time of this process: what all answers that take more share, by turns
SLICE_SECONDS = 0.005  # seconds of work that are worth a wait
MAX_UNRESTED_PIECES = 4  # pieces between two looks at the others

T = TypeVar("T")
ResponseHook = Callable[[httpx2.Response], object]
NO_COOKIES = http.cookiejar.DefaultCookiePolicy(allowed_domains=())


def endpoint_client(provider: Provider, on_response: ResponseHook, turns: asyncio.Lock) -> httpx2.AsyncClient:
    """Return a client for all requests to this provider, each on its own connection, which is closed after the answer.

    Late data on a reused connection cannot be told from the answer to the next request, whenever it is checked.
    Only a connection with a single request has no next one.
    """
    rehearsed = provider.name == REHEARSAL
    return httpx2.AsyncClient(
        transport=rehearsal.RehearsalTransport() if rehearsed else _connected(provider, turns),
        timeout=httpx2.Timeout(None, connect=5),  # a whole attempt has a deadline of its own
        follow_redirects=False,
        trust_env=False,
        headers={"Connection": "close"},
        cookies=http.cookiejar.CookieJar(NO_COOKIES),
        event_hooks={} if rehearsed else {"response": [on_response]},
    )


def _connected(provider: Provider, turns: asyncio.Lock) -> httpx2.AsyncBaseTransport:
    from .http_transport import aiohttp_transport  # expensive import, needed only to perform runs

    return aiohttp_transport(provider, turns)


# ---- what comes -------------------------------------------------------------------------------------------


class ReadShare:
    """Limit on the time that reading one answer takes. Beyond its own share it takes turns with all others that exceed
    theirs.

    Measured in wall time, not CPU time: on a busy machine a share is of what is left.
    """

    def __init__(self, turns: asyncio.Lock) -> None:
        self._turns = turns
        self._worked = self._paid = 0.0
        self._began = self._since = time.monotonic()
        self._unrested = 0

    def begin(self) -> None:
        """Start measuring, after a wait."""
        self._since = time.monotonic()

    def stop(self) -> float:
        """Stop measuring; return the seconds of work beyond the share, or 0 if that is at most SLICE_SECONDS."""
        now = time.monotonic()
        self._worked, self._since = self._worked + now - self._since, now
        own = BURST_SECONDS + STEADY_BYTES_PER_SECOND * (now - self._began)
        due = self._worked - self._paid - own
        return due if due > SLICE_SECONDS else 0.0

    async def rest(self) -> None:
        """Let others have their turn after some work."""
        self._unrested += 1
        if due := self.stop():
            await self.pay(due)
        elif self._unrested >= MAX_UNRESTED_PIECES:
            await asyncio.sleep(0)
        else:
            return
        self._unrested = 0
        self.begin()

    async def pay(self, due: float) -> None:
        async with self._turns:
            await asyncio.sleep(due * (1 / BULK_SHARE - 1))
        self._paid += due


@coroutine
def _measured(waiting: Awaitable[T], share: ReadShare) -> Generator[Any, Any, T]:
    """Await with the libraries' own work counted: they combine a thousand tiny chunks into one piece."""
    steps = waiting.__await__()
    go_on = partial(steps.send, None)
    while True:
        share.begin()
        try:
            awaited = go_on()
        except StopIteration as end:
            return cast(T, end.value)
        share.stop()
        try:
            yield awaited
        except BaseException as error:  # noqa: BLE001 - handed on: it is what the wait ends with, a deadline above all
            go_on = partial(steps.throw, error)
        else:
            go_on = partial(steps.send, None)


class RawAnswer(Protocol):
    """The part of a response that is used here: httpx2's response, or a cheaper one."""

    @property
    def headers(self) -> Mapping[str, str]: ...

    def aiter_raw(self) -> AsyncGenerator[bytes, None]: ...

    async def aclose(self) -> None: ...


async def read_pieces(response: RawAnswer, share: ReadShare) -> AsyncGenerator[bytes, None]:
    """Yield a body, decompressed, in pieces of up to PIECE_BYTES. Raises UnusableAnswer if it is too large or its
    compression is unknown.
    """
    unpack, received, unpacked = _unpacker(response), 0, 0
    async with aclosing(response.aiter_raw()) as chunks:
        while (chunk := await _measured(anext(chunks, None), share)) is not None:
            received += len(chunk)
            for piece in unpack(chunk):
                unpacked += len(piece)
                if max(received, unpacked) > MOST_BYTES:
                    raise errors.UnusableAnswer("The answer has no end: more than 64 MB came.")
                yield piece
                await share.rest()


def _unpacker(response: RawAnswer) -> Callable[[bytes], Iterator[bytes]]:
    """Return a decompressor that works piece by piece: a body may be a thousand times larger than it looks."""
    encoding = response.headers.get("content-encoding", "identity").lower()
    if encoding in ("identity", ""):
        return lambda chunk: iter([chunk])
    if encoding not in ("gzip", "deflate"):
        raise errors.UnusableAnswer(f"The answer is compressed in a way that was not asked for ({encoding[:20]}).")
    return partial(_unpacked, zlib.decompressobj(zlib.MAX_WBITS | 32))


def _unpacked(unpacking: "zlib._Decompress", packed: bytes) -> Iterator[bytes]:
    while not unpacking.eof:
        piece = unpacking.decompress(packed, PIECE_BYTES)
        packed = unpacking.unconsumed_tail
        yield piece
        if not packed and len(piece) < PIECE_BYTES:
            return
    yield b""  # whatever comes after the end
