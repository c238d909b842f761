"""The tools of the MCP server and the API calls they make. None of them decides at a gate.

Why so: runs/DESIGN.md, Other doors.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from django.http import HttpRequest
from ninja import Schema

from runs.api import internal_client
from runs.api.errors import ApiError, field_errors
from runs.models import KEY_LENGTH
from runs.procedure import schemas
from runs.procedure.exposure import McpExposedTool
from runs.procedure.spec import ProcedureSpec, specs

LONGEST_WAIT: Final = 50  # seconds; most clients give up after 60
MAX_RESULT_CHARACTERS = 60_000  # characters of a result, all of which a model reads
SUMMARY_FIELDS = ("id", "kind", "url", "title", "status", "outcome", "error", "waits", "override", "rehearsal")

WAIT = {
    "type": "number",
    "minimum": 0,
    "maximum": LONGEST_WAIT,
    "default": LONGEST_WAIT,
    "description": "Seconds to wait for the end, or until somebody is asked to decide. Afterwards, look by its id.",
}
KEY = {
    "type": "string",
    "minLength": 1,
    "maxLength": KEY_LENGTH,
    "description": "Of your choice. The same request under the same key is begun once, however often it is sent.",
}
NAME = {"type": "string", "description": "Name or id of one: all of that. Without it, each is listed in short."}
ID = {"type": "string", "format": "uuid", "description": "Of the run."}


@dataclass(frozen=True)
class ExposedTool:
    """A tool for MCP clients. `reads` means that it changes nothing."""

    name: str
    what: str
    takes: Mapping[str, Any]
    reads: bool = False


@dataclass(frozen=True)
class ToolResultText:
    """The result of a call. `failed` is set for a run that ended without an outcome."""

    content: Any
    hint: str = ""
    failed: bool = False


# ---- definitions ------------------------------------------------------------------------------------------


def exposed_tools() -> tuple[ExposedTool, ...]:
    return _tools_of(tuple(specs()))


@cache  # listing takes 10 ms of the event loop; the tools depend only on the procedures
def _tools_of(kinds: tuple[str, ...]) -> tuple[ExposedTool, ...]:
    return tuple(_made_tools())


def _made_tools() -> Iterator[ExposedTool]:
    for _, offer in _offers():
        takes = _schema(offer.asked) if offer.asked else _object({"name": NAME} if offer.one else {})
        yield ExposedTool(offer.name, offer.what, takes, reads=offer.asked is None)
    yield ExposedTool("look", READ_RUN, _object({"id": ID, "wait": WAIT | {"default": 0}}, "id"), reads=True)
    yield ExposedTool("list_runs", LIST_RUNS, _object(_sought()), reads=True)
    yield ExposedTool("cancel", "Ends a run that is not over. Nothing comes of it.", _object({"id": ID}, "id"))


READ_RUN = (
    "How a run stands, and all that came of it. While it waits for a person, only a person can decide: what it waits "
    "for stands under gates, with the address of a page."
)
LIST_RUNS = (
    "Lists runs that you may see, newest first, each in short. `cursor` is the id of the last one of the page before."
)


def _offers() -> Iterator[tuple[ProcedureSpec[Any, Any], McpExposedTool]]:
    return ((face, offer) for face in specs().values() for offer in face.offers)


def _schema(asked: type[Schema]) -> dict[str, Any]:
    """Return the API's request schema plus `wait` and `key`.

    Conditions over several fields are left to the API, because many clients accept none at the top level.
    """
    schema: dict[str, Any] = asked.model_json_schema(ref_template="#/$defs/{model}")
    kept = {name: value for name, value in schema.items() if name in ("$defs", "required")}
    return {**_object({**schema["properties"], "wait": WAIT, "key": KEY}), **kept}


def _object(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    more = {"required": list(required)} if required else {}
    return {"type": "object", "properties": dict(properties), "additionalProperties": False, **more}


def _sought() -> dict[str, Any]:
    found: dict[str, Any] = schemas.AllRunsListQuery.model_json_schema()["properties"]
    found = {name: field for name, field in found.items() if name != "full"}  # a model reads everything it is given
    return found | {"kind": {"type": "string", "enum": ["", *specs()], "description": "Of which kind."}}


# ---- calls ------------------------------------------------------------------------------------------------


async def call_tool(request: HttpRequest, name: str, asked: Mapping[str, Any]) -> ToolResultText:
    """Call a tool. Raises ApiError as the API does, and for an unknown tool."""
    if name == "look":
        return await _looked(request, _only(asked, "id", "wait"), 0)
    if name == "list_runs":
        sought = {name: str(value) for name, value in _only(asked, *_sought()).items() if value not in ("", None)}
        return ToolResultText(_in_short(await internal_client.call_api(request, "GET", "runs", query=sought)))
    if name == "cancel":
        return _told(await internal_client.call_api(request, "POST", "run-cancel", at=_id(_only(asked, "id"))))
    face, offer = next(((face, one) for face, one in _offers() if one.name == name), (None, None))
    if not face or not offer:
        raise ApiError(
            404, f"There is no tool “{name}”. There are: {', '.join(tool.name for tool in exposed_tools())}."
        )
    if offer.asked is None:
        return ToolResultText(await _listed(request, offer, asked))
    return await _begun(request, offer, asked)


async def _listed(request: HttpRequest, offer: McpExposedTool, asked: Mapping[str, Any]) -> Any:
    name = _only(asked, *(["name"] if offer.one else [])).get("name", "")
    if not isinstance(name, str):
        raise field_errors([("name", "It is a text.")])
    if name:
        return await internal_client.call_api(request, "GET", offer.one, at={"name": name})
    return await internal_client.call_api(request, "GET", offer.call)


async def _begun(request: HttpRequest, offer: McpExposedTool, asked: Mapping[str, Any]) -> ToolResultText:
    wait, key = _wait(asked, LONGEST_WAIT), asked.get("key")
    if key is not None and not isinstance(key, str):
        raise field_errors([("key", "It is a text.")])
    content = {name: value for name, value in asked.items() if name not in ("wait", "key")}
    begun = await internal_client.call_api(request, "POST", offer.call, content, key=key or "")
    return await _looked(request, {"id": begun["id"], "wait": wait}, wait) if wait else _told(begun)


async def _looked(request: HttpRequest, asked: Mapping[str, Any], usual: float) -> ToolResultText:
    query = {"wait": str(_wait(asked, usual)), "until": "end,gate"}
    return _told(await internal_client.call_api(request, "GET", "run", at=_id(asked), query=query))


def _only(asked: Mapping[str, Any], *names: str) -> Mapping[str, str]:
    if unknown := sorted(set(asked) - set(names)):
        raise field_errors((name, "There is no such argument.") for name in unknown)
    return asked


def _id(asked: Mapping[str, Any]) -> dict[str, str]:
    return {"id": str(asked.get("id", ""))}


def _wait(asked: Mapping[str, Any], usual: float) -> float:
    wait = asked.get("wait", usual)
    if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait <= LONGEST_WAIT:
        raise field_errors([("wait", f"It is a number of seconds, 0 to {LONGEST_WAIT}.")])
    return wait


# ---- results ----------------------------------------------------------------------------------------------


def _told(run: Mapping[str, Any]) -> ToolResultText:
    if run["ended"] is None:
        pages = [gate["url"] for gate in run.get("gates", ()) if gate["state"] == "pending"]
        asks = f" It waits for somebody to decide, which only people can: {' '.join(pages)}" if pages else ""
        return ToolResultText(_cut(run), f"It is not over yet.{asks} Look by its id: {run['id']}")
    return ToolResultText(_cut(run), failed=run["outcome"] is None)


def _cut(run: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the whole run; if it is too long for a model, its status and result."""
    if len(json.dumps(run, ensure_ascii=False)) <= MAX_RESULT_CHARACTERS:
        return run
    kind = specs()[run["kind"]].as_model
    said = kind.said(run, run["outcome"])["reason"][: MAX_RESULT_CHARACTERS // 2] if kind and run["outcome"] else ""
    short = {name: run[name] for name in SUMMARY_FIELDS if name in run}
    return {**short, "reason": said, "cut": f"All of it: read the resource magi://runs/{run['id']}, or open the url."}


def _in_short(page: Mapping[str, Any]) -> dict[str, Any]:
    runs = [{name: run[name] for name in (*SUMMARY_FIELDS, "created") if name in run} for run in page["results"]]
    return {"results": runs, "next": runs[-1]["id"] if page["next"] else None}
