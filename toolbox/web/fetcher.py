"""Fetches single pages. The address is checked at every redirect and when each socket is made
(`engine.web.public_sockets`); time and size are limited.

Why so: toolbox/DESIGN.md, The web.
"""

import asyncio
import re
import time
import zlib
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from engine.web.public_sockets import PublicSockets
from engine.web.url_policy import AddressRefused, check_address, check_redirect, host_of, is_allowed

from . import robots

if TYPE_CHECKING:
    import aiohttp

AGENT = "MAGI/1 (reads single pages for a person; obeys robots.txt)"
ACCEPTED_TYPES = "text/html,application/xhtml+xml,text/*;q=0.9,application/pdf;q=0.9,application/json;q=0.8"
REDIRECTS, MOVED = 5, (301, 302, 303, 307, 308)
AT_ONCE, HOSTS_KEPT = 2, 500
ROBOTS_CACHE_SECONDS = 24 * 60 * 60.0
PIECE = 64 * 1024
STATUS_REASONS = {429: "It asks to be left alone for a while (429)."}


@dataclass(frozen=True)
class FetchLimits:
    """`connect`, `seconds`: seconds to connect and in all. `size`: bytes of a body, compressed and decompressed.
    `apart`: seconds between two pages of a host."""

    connect: float = 10.0
    seconds: float = 20.0
    size: int = 5 * 2**20
    apart: float = 1.0


@dataclass(frozen=True)
class FetchedPage:
    asked: str
    address: str  # after redirects
    status: int
    type: str
    charset: str
    body: bytes


@dataclass
class WebFetcher:
    """Fetches pages. `allowed`: hosts that may have private addresses. `resolver` replaces the system's in tests."""

    allowed: Collection[str] = ()
    bounds: FetchLimits = field(default_factory=FetchLimits)
    resolver: Any = None
    robots_texts: "dict[str, tuple[float, str | None]]" = field(default_factory=dict)  # end of validity, by origin
    next_at: dict[str, float] = field(default_factory=dict)
    places: "WeakKeyDictionary[Any, dict[str, asyncio.Semaphore]]" = field(default_factory=WeakKeyDictionary)

    async def page(self, address: str) -> FetchedPage:
        """Fetch a page. Raises AddressRefused with the reason if it cannot be read."""
        asked = check_address(address, self.allowed)
        try:
            async with asyncio.timeout(self.bounds.seconds), self._place(host_of(asked)):
                return await self._read(asked)
        except TimeoutError as error:
            raise AddressRefused(
                f"{host_of(asked)} did not send all of it in {self.bounds.seconds:g} seconds."
            ) from error

    async def _read(self, asked: str) -> FetchedPage:
        at = asked
        for _ in range(REDIRECTS + 1):
            if not await self._may(at):
                raise AddressRefused(f"It is not read: the robots.txt of {host_of(at)} says no.")
            got = await self._get(asked, at)
            if got.status not in MOVED:
                break
            at = got.address
        else:
            raise AddressRefused(f"It was redirected more than {REDIRECTS} times.")
        if got.status != 200:
            raise AddressRefused(STATUS_REASONS.get(got.status, f"It answered with status {got.status}."))
        return got

    # ---- one request ----------------------------------------------------------------------------------------

    async def _get(self, asked: str, at: str) -> FetchedPage:
        """Make one request. A redirect is returned with its target as the address. Raises AddressRefused."""
        import aiohttp

        factory = PublicSockets(is_allowed(at, self.allowed))
        try:
            async with self._session(factory) as session, session.get(at, allow_redirects=False) as response:
                if response.status in MOVED:
                    to = check_redirect(at, response.headers.get("Location", ""), self.allowed)
                    return FetchedPage(asked, to, response.status, "", "", b"")
                said = response.headers.get("Content-Type", "")
                body = await self._body(response) if response.status == 200 else b""
                type_, _, rest = said.partition(";")
                return FetchedPage(asked, at, response.status, type_.strip().lower(), _charset(rest), body)
        except aiohttp.ClientError as error:
            if factory.refused:
                raise AddressRefused(f"{host_of(at)} leads to an address that is not public.") from error
            raise AddressRefused(f"{host_of(at)} could not be reached: {_why(error)}.") from error
        except OSError as error:
            raise AddressRefused(f"{host_of(at)} could not be reached: {_why(error)}.") from error

    @asynccontextmanager
    async def _session(self, factory: "PublicSockets") -> "AsyncIterator[aiohttp.ClientSession]":
        import aiohttp

        connector = aiohttp.TCPConnector(
            socket_factory=factory, resolver=self.resolver, force_close=True, use_dns_cache=False
        )
        times = aiohttp.ClientTimeout(total=None, connect=self.bounds.connect)
        headers = {"User-Agent": AGENT, "Accept": ACCEPTED_TYPES, "Accept-Encoding": "gzip, deflate"}
        async with aiohttp.ClientSession(
            connector=connector,
            connector_owner=self.resolver is None,  # keep a given resolver open
            timeout=times,
            headers=headers,
            trust_env=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        ) as session:
            yield session

    async def _body(self, response: "aiohttp.ClientResponse") -> bytes:
        unpacked = _Unpacked(response.headers.get("Content-Encoding", ""), self.bounds.size)
        sent = 0
        async for piece in response.content.iter_chunked(PIECE):
            sent += len(piece)
            if sent > self.bounds.size:
                raise AddressRefused(too_large(self.bounds.size))
            unpacked.add(piece)
        return unpacked.whole()

    # ---- politeness -----------------------------------------------------------------------------------------

    async def _may(self, at: str) -> bool:
        parts = urlsplit(at)
        text = await self._robots(f"{parts.scheme}://{parts.netloc}")
        if text is None:
            raise AddressRefused(f"The robots.txt of {host_of(at)} cannot be read now, so nothing else is.")
        return robots.allows(text, parts.path + (f"?{parts.query}" if parts.query else ""))

    async def _robots(self, origin: str) -> str | None:
        """Return the robots.txt, cached for a day; empty if there is none, None if the server fails."""
        until, text = self.robots_texts.get(origin, (0.0, ""))
        if time.monotonic() < until:
            return text
        at = f"{origin}/robots.txt"
        for _ in range(REDIRECTS + 1):
            got = await self._get(at, at)
            if got.status not in MOVED:
                break
            at = got.address
        text = None if got.status >= 500 else got.body.decode(errors="replace") if got.status == 200 else ""
        while len(self.robots_texts) >= HOSTS_KEPT:
            self.robots_texts.pop(next(iter(self.robots_texts)))
        self.robots_texts[origin] = (time.monotonic() + (ROBOTS_CACHE_SECONDS if text is not None else 60.0), text)
        return text

    @asynccontextmanager
    async def _place(self, host: str) -> AsyncIterator[None]:
        """Wait until a page of this host may be fetched: at most AT_ONCE at a time, and one per `apart` seconds."""
        of_hosts = self.places.setdefault(asyncio.get_running_loop(), {})
        if len(of_hosts) > HOSTS_KEPT:
            of_hosts.clear()
        async with of_hosts.setdefault(host, asyncio.Semaphore(AT_ONCE)):
            now = time.monotonic()
            begins = max(now, self.next_at.get(host, 0.0))
            if len(self.next_at) > HOSTS_KEPT:
                self.next_at = {one: at for one, at in self.next_at.items() if at > now}
            self.next_at[host] = begins + self.bounds.apart
            await asyncio.sleep(begins - now)
            yield


class _Unpacked:
    """Decompresses a body while it arrives, up to a limit. Methods raise AddressRefused."""

    def __init__(self, encoding: str, most: int) -> None:
        packed = encoding.strip().lower()
        if packed not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise AddressRefused(f"It was sent in a packing that is not read: {packed[:20]}.")
        self._most, self._pieces, self._size = most, list[bytes](), 0
        self._zip = zlib.decompressobj(zlib.MAX_WBITS | 32) if packed not in ("", "identity") else None

    def add(self, piece: bytes) -> None:
        if self._zip:
            try:
                piece = self._zip.decompress(piece, self._most - self._size + 1)
            except zlib.error as error:
                raise AddressRefused("It could not be unpacked.") from error
        self._size += len(piece)
        if self._size > self._most:
            raise AddressRefused(too_large(self._most))
        self._pieces.append(piece)

    def whole(self) -> bytes:
        if self._zip and not self._zip.eof:
            raise AddressRefused("It could not be unpacked: its end is missing.")
        return b"".join(self._pieces)


def too_large(most: int) -> str:
    return f"It has more than {most / 2**20:g} MB."


def _charset(rest: str) -> str:
    found = re.search(r"charset\s*=\s*[\"']?([\w.:-]+)", rest, re.IGNORECASE)
    return found[1].lower() if found else ""


def _why(error: Exception) -> str:
    """Return the reason without details of this machine or network."""
    import aiohttp

    if isinstance(error, aiohttp.ClientSSLError):
        return "its certificate is not good"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "there is no such host"
    if isinstance(error, aiohttp.ClientConnectorError | OSError):
        return "nothing answers there"
    return "what it sent is no answer"
