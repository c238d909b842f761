"""MCP resources: runs, their records, and parts that procedures add."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from runs.api import internal_client
from runs.api.errors import ApiError
from runs.procedure.spec import specs

SCHEME = "magi://"
MAX_RESPONSE_CHARACTERS = 2_000_000  # characters of one response
JSON = "application/json"


@dataclass(frozen=True)
class ResourceTemplate:
    name: str
    uri: str
    what: str


def resource_templates() -> Iterator[ResourceTemplate]:
    yield ResourceTemplate("run", f"{SCHEME}runs/{{id}}", "A run of any kind: how it stands and all that came of it.")
    yield ResourceTemplate(
        "record", f"{SCHEME}runs/{{id}}/record", "Its whole record, with every prompt and answer, to verify."
    )
    for face in specs().values():
        for held in face.held:
            yield ResourceTemplate(held.part, f"{SCHEME}{face.nouns}/{{id}}/{held.part}/{{number}}", held.what)


async def newest_resources(request: HttpRequest) -> list[tuple[str, str]]:
    """Return addresses and titles of the newest runs that the caller may see."""
    page = await internal_client.call_api(request, "GET", "runs")
    return [(f"{SCHEME}runs/{run['id']}", f"{run['title']} ({run['kind']})") for run in page["results"]]


async def read_resource(request: HttpRequest, uri: str) -> str:
    """Return the resource as JSON. Raises ApiError, also if there is none at this address."""
    call, at = _named(uri)
    text = json.dumps(await internal_client.call_api(request, "GET", call, at=at), ensure_ascii=False)
    if len(text) > MAX_RESPONSE_CHARACTERS:
        raise ApiError(
            413, f"It has {len(text):,} characters; {MAX_RESPONSE_CHARACTERS:,} are given here. Get it through the API."
        )
    return text


def _named(uri: str) -> tuple[str, Mapping[str, Any]]:
    found = re.fullmatch(rf"{SCHEME}(\w+)/([\w-]+)(?:/(\w+)(?:/(\d{{1,9}}))?)?", uri)
    if found:
        nouns, pk, part, number = found.groups()
        if nouns == "runs" and not number and part in (None, "record"):
            return f"run-{part}" if part else "run", {"id": pk}
        for face in specs().values():
            for held in face.held:
                if (face.nouns, held.part) == (nouns, part) and number:
                    return held.call, {"id": pk, "number": int(number)}
    raise ApiError(404, f"There is nothing at {uri[:200]}.")
