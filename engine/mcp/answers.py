"""What a server says, as we take it: its tools, and the text of a result."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from engine.models.mcp import Hints, Listed, Listing

NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")  # the protocol's own letters
LONGEST_DESCRIPTION = 8_000  # characters
LONGEST_SCHEMA = 40_000


def listing(found: Iterable[Any]) -> Listing:
    """The tools that can be offered, and of the others why they cannot."""
    tools, left_out = dict[str, Listed](), list[str]()
    for tool in found:
        if problem := _problem(tool, tools):
            left_out.append(problem)
        else:
            tools[tool.name] = Listed(tool.name, tool.description or "", tool.input_schema, _hints(tool))
    return Listing(tuple(tools.values()), tuple(left_out))


def _problem(tool: Any, others: dict[str, Listed]) -> str:
    if not NAME.fullmatch(tool.name):
        return f"{tool.name[:40]!a} is no name"
    if tool.name in others:
        return f"{tool.name} is there twice"
    if len(tool.description or "") > LONGEST_DESCRIPTION:
        return f"{tool.name} has a description of more than {LONGEST_DESCRIPTION:,} characters"
    if len(json.dumps(tool.input_schema)) > LONGEST_SCHEMA:
        return f"{tool.name} has a schema of more than {LONGEST_SCHEMA:,} characters"
    return "" if _is_schema(tool.input_schema) else f"{tool.name} has no schema of an object"


def _is_schema(schema: Any) -> bool:
    from jsonschema import Draft202012Validator, SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError):
        return False
    return schema.get("type") == "object"


def _hints(tool: Any) -> Hints:
    said = tool.annotations
    if said is None:
        return Hints()
    return Hints(bool(said.read_only_hint), said.open_world_hint is not False, bool(said.idempotent_hint))


def text_of(result: Any) -> str:
    """Its text; of all else what it was."""
    parts = "\n".join(_parts(result.content))
    if not parts and result.structured_content is not None:
        return json.dumps(result.structured_content, ensure_ascii=False)
    return parts


def _parts(content: Iterable[Any]) -> Iterator[str]:
    for one in content:
        resource = getattr(one, "resource", None)
        if one.type == "text":
            yield one.text
        elif one.type == "resource_link":
            yield f"[a link to {one.uri}]"
        elif (text := getattr(resource, "text", None)) is not None:
            yield text
        else:
            data = getattr(one, "data", "") or getattr(resource, "blob", "")
            kind = getattr(one, "mime_type", None) or getattr(resource, "mime_type", None) or one.type
            yield f"[{kind}, {len(data) * 3 // 4:,} bytes, left out]"
