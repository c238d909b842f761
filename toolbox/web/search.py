"""Web search by one of several providers; an administrator configures which one.

Why so: toolbox/DESIGN.md, The web.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.web.url_policy import AddressRefused, host_of, shorten_address

if TYPE_CHECKING:
    import aiohttp

HITS, TITLE, SNIPPET = 8, 200, 400  # hits of a search; characters of title and snippet
SECONDS, SIZE = 15.0, 2 * 2**20
FAILED_TEXT = {
    401: "its key is refused (401)",
    403: "it refuses, as SearXNG does where its JSON format is off (403)",
    429: "it asks to be left alone for a while (429)",
}


@dataclass(frozen=True)
class SearchAnswer:
    """Configuration of a search: provider, base address, and key if the provider needs one."""

    provider: str
    address: str
    key: str = ""


@dataclass(frozen=True)
class SearchHit:
    title: str
    address: str
    snippet: str


@dataclass(frozen=True)
class _Provider:
    """How to make a request, the path to the list of hits in the answer, and the key of a hit's snippet."""

    request: Callable[[SearchAnswer, str], tuple[str, str, dict[str, Any]]]
    hits: Sequence[str]
    snippet: str


def _searxng(by: SearchAnswer, words: str) -> tuple[str, str, dict[str, Any]]:
    return "GET", f"{by.address.rstrip('/')}/search", {"params": {"q": words, "format": "json"}}


def _brave(by: SearchAnswer, words: str) -> tuple[str, str, dict[str, Any]]:
    headers = {"X-Subscription-Token": by.key, "Accept": "application/json"}
    return "GET", f"{by.address.rstrip('/')}/res/v1/web/search", {"params": {"q": words}, "headers": headers}


def _tavily(by: SearchAnswer, words: str) -> tuple[str, str, dict[str, Any]]:
    asked = {"query": words, "max_results": HITS}
    return "POST", f"{by.address.rstrip('/')}/search", {"json": asked, "headers": {"Authorization": f"Bearer {by.key}"}}


PROVIDERS: Mapping[str, _Provider] = {
    "searxng": _Provider(_searxng, ("results",), "content"),
    "brave": _Provider(_brave, ("web", "results"), "description"),
    "tavily": _Provider(_tavily, ("results",), "content"),
}


async def search(by: SearchAnswer, words: str) -> list[SearchHit]:
    """Return the first hits, possibly none. Raises AddressRefused if the search does not answer."""
    import aiohttp

    provider = PROVIDERS[by.provider]
    method, address, how = provider.request(by, words)
    times = aiohttp.ClientTimeout(total=SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=times, trust_env=False, cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.request(method, address, allow_redirects=False, **how) as response,
        ):
            if response.status != 200:
                reason = FAILED_TEXT.get(response.status, f"status {response.status}")
                raise AddressRefused(f"The search did not answer: {reason}.")
            found = json.loads(await _whole(response))
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise AddressRefused("The search did not answer: nothing came from it in time.") from error
    except ValueError as error:
        if isinstance(error, AddressRefused):
            raise
        raise AddressRefused("The search did not answer: what it sent is no JSON.") from error
    return parse_hits(found, provider)


async def _whole(response: "aiohttp.ClientResponse") -> bytes:
    body = await response.content.read(SIZE)
    while piece := await response.content.read(SIZE):
        body += piece
        if len(body) > SIZE:
            raise AddressRefused("The search did not answer: it sent more than can be read.")
    return body


def parse_hits(found: Any, provider: _Provider) -> list[SearchHit]:
    for name in provider.hits:
        found = found.get(name) if isinstance(found, dict) else None
    kept: dict[str, SearchHit] = {}
    for one in found if isinstance(found, list) else ():
        if not isinstance(one, dict):
            continue
        try:
            address = shorten_address(str(one.get("url", "")))
        except AddressRefused:
            continue
        title, snippet = (_line(one.get(name), most) for name, most in (("title", TITLE), (provider.snippet, SNIPPET)))
        kept.setdefault(address, SearchHit(title or host_of(address), address, snippet))
    return list(kept.values())[:HITS]


def _line(text: Any, most: int) -> str:
    line = " ".join(str(text or "").split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def format_hits(found: Sequence[SearchHit]) -> str:
    """Return the hits as text for a model."""
    return "\n\n".join(f"{number}. {one.title}\n{one.address}\n{one.snippet}" for number, one in enumerate(found, 1))
