"""Tools for the web: a search, and reading of pages whose addresses were found before.

Why so: toolbox/DESIGN.md, The web.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import lru_cache
from urllib.parse import urlsplit

from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils import timezone
from pydantic import BaseModel, ConfigDict, Field

from engine.doctor import DoctorFinding
from engine.models import Effect, ToolCall
from engine.plurals import counted
from engine.tools import Tool, ToolOutput, ToolRefused, ToolUse
from engine.web.url_policy import LONGEST_QUERY, AddressRefused, addresses_in_text, host_of, shorten_address
from toolbox.web import search as searching
from toolbox.web.fetcher import WebFetcher
from toolbox.web.page_text import WebPageText, page_text

from ..models import Inquiry

TRIED = "weather"  # query of `manage.py doctor`
MOST_REFUSED = 10_000  # failed calls that are counted
KEPT = 1_200_000  # characters of a stored page with its metadata
INVENTED_ADDRESS_TEXT = (
    "This address was not found: it stands in no result of a search, on no page that was read, in no document and not "
    "in the question. Search first, or read an address that was found."
)


class WebSearchArguments(BaseModel):
    model_config = ConfigDict(title="WebSearch", extra="forbid")

    query: str = Field(min_length=1, max_length=400)


class WebPageArguments(BaseModel):
    model_config = ConfigDict(title="WebPage", extra="forbid")

    address: str = Field(min_length=1, max_length=2_000)


async def search(asked: WebSearchArguments, use: ToolUse) -> ToolOutput:
    inquiry = await _looks_outside(use)
    if not settings.SEARCH.get("provider"):
        raise ToolRefused("No search is set up here.")
    try:
        found = await searching.search(searching.SearchAnswer(**settings.SEARCH), asked.query)
    except AddressRefused as why:
        raise ToolRefused(str(why)) from why
    found = [one for one in found if _is_within(host_of(one.address), inquiry.hosts)]
    return ToolOutput(searching.format_hits(found) if found else "Nothing was found by these words.")


async def read(asked: WebPageArguments, use: ToolUse) -> str:
    inquiry = await _looks_outside(use)
    try:
        address = shorten_address(asked.address)
        await sync_to_async(_refuse_made_up)(inquiry, address)
        _refuse_elsewhere(inquiry, address)
        got = await _web(tuple(settings.PAGES_ALLOWED_HOSTS)).page(address)
        _refuse_elsewhere(inquiry, got.address)
        return (await asyncio.to_thread(page_text, got)).written()
    except AddressRefused as why:
        raise ToolRefused(str(why)) from why


@lru_cache(maxsize=4)
def _web(allowed: Sequence[str]) -> WebFetcher:
    """Return the fetcher of this process: it shares rate limits and robots.txt between calls."""
    return WebFetcher(allowed)


async def _looks_outside(use: ToolUse) -> Inquiry:
    inquiry = await Inquiry.objects.filter(pk=use.run.pk, web=True).afirst()
    if inquiry is None:
        raise ToolRefused("Only an inquiry that may look outside does this.")
    return inquiry


def _is_within(host: str, hosts: Sequence[str]) -> bool:
    return not hosts or any(host == one or host.endswith(f".{one}") for one in hosts)


def _refuse_elsewhere(inquiry: Inquiry, address: str) -> None:
    if not _is_within(host_of(address), inquiry.hosts):
        raise ToolRefused(f"{host_of(address)} is none of the sites that this inquiry keeps to.")


def _refuse_made_up(inquiry: Inquiry, address: str) -> None:
    """Refuse addresses that were not found in sources: a made-up one could leak what the model has read."""
    asked = inquiry.question
    if address in addresses_in_text(asked) or any(address in addresses_in_text(text) for text in _read(inquiry)):
        return
    if len(urlsplit(address).query) > LONGEST_QUERY:
        raise ToolRefused("An address with so long a query is not read, unless it was found.")
    raise ToolRefused(INVENTED_ADDRESS_TEXT)


def _read(inquiry: Inquiry) -> Iterator[str]:
    """Yield the texts that this run has read: documents, results of searches, and pages with their links."""
    yield from inquiry.run.documents.values_list("text", flat=True)
    calls = ToolCall.objects.filter(run=inquiry.pk, outside=True, status=ToolCall.Status.DONE)
    for tool, output in calls.values_list("tool", "output"):
        if tool == "web.read":
            page = WebPageText.of(output)
            yield "\n".join(address for address, _ in page.links)
            yield page.text
        else:
            yield output


def recently_refused() -> list[tuple[str, str, int]]:
    """Return host, reason and count of pages that were refused within a day, most frequent first."""
    since = timezone.now() - timedelta(days=1)
    calls = ToolCall.objects.filter(tool="web.read", status=ToolCall.Status.FAILED, made__gte=since)
    found = Counter[tuple[str, str]]()
    for arguments, error in calls.values_list("arguments", "error")[:MOST_REFUSED]:
        if arguments:  # empty if redacted
            found[_host(json.loads(arguments).get("address", "")), error] += 1
    return [(host, why, number) for (host, why), number in found.most_common(50)]


def _host(address: str) -> str:
    """Return the host of an address from a model, which may be invalid."""
    try:
        return host_of(address)
    except ValueError:
        return "no address"


async def check_search() -> DoctorFinding | None:
    """Test the search; None if none is set up."""
    by = settings.SEARCH
    if not by.get("provider"):
        return None
    place = f"{by['provider']} at {host_of(by['address'])}"
    try:
        found = await searching.search(searching.SearchAnswer(**by), TRIED)
    except AddressRefused as why:
        return DoctorFinding("search", False, f"{place}. {why} Check MAGI_SEARCH.")
    return DoctorFinding("search", True, f"{place} answers, with {counted(len(found), 'hit')} for “{TRIED}”.")


TOOLS = (
    Tool(
        "web.search",
        "Searches the web. What it shows is where to read on, and no source: read a page before you quote it.",
        WebSearchArguments,
        Effect.READS,
        perform=search,
        outside=True,
        timeout=20.0,
    ),
    Tool(
        "web.read",
        "Reads a page of the web, by an address that was found, and keeps it as a source. Read on by sources.read.",
        WebPageArguments,
        Effect.READS,
        perform=read,
        outside=True,
        timeout=45.0,
        kept=KEPT,
    ),
)
