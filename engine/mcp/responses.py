"""Parsing of a server's responses: its list of tools, and the text of a result."""

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from engine.models.mcp_tools import ListedTool, ToolHints, ToolListing

from .dialects import NoSchema, modern, of_object

NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")  # the protocol's own letters
LONGEST_DESCRIPTION = 8_000  # characters
LONGEST_SCHEMA = 40_000
MOST_TOOLS = 200  # of a server
MAX_TOTAL_SCHEMA_CHARACTERS = 400_000  # characters of those together


def parse_tool_list(found: Iterable[Any]) -> ToolListing:
    """Return the tools that can be offered, and for each of the others the reason why not."""
    tools, left_out, left = dict[str, ListedTool](), list[str](), MAX_TOTAL_SCHEMA_CHARACTERS
    offered = list(found)
    for said in offered[:MOST_TOOLS]:
        try:
            tool = _tool(said)
        except NoSchema as why:
            left_out.append(f"{_called(said)} {why}")
            continue
        schema = json.dumps(tool.input_schema)
        left -= len(schema)
        if problem := _problem(tool, schema if left >= 0 else "", tools):
            left_out.append(problem)
        else:
            tools[tool.name] = ListedTool(tool.name, tool.description or "", tool.input_schema, _hints(tool))
    if len(offered) > MOST_TOOLS:
        left_out.append(f"there are more than {MOST_TOOLS}, and the others are not looked at")
    return ToolListing(tuple(tools.values()), tuple(left_out))


def _tool(said: Any) -> Any:
    """Parse one tool of the list by itself, so that an invalid one does not affect the others. Raises NoSchema."""
    from mcp_types import Tool

    if not isinstance(said, dict):
        raise NoSchema("is no object")
    schema = of_object(said.get("inputSchema"))
    known = {key: value for key, value in said.items() if key in ("name", "description", "annotations")}
    try:
        return Tool.model_validate({**known, "inputSchema": schema}, by_name=False)
    except ValueError as error:
        raise NoSchema("is described as no tool is") from error


def _called(said: Any) -> str:
    name = said.get("name") if isinstance(said, dict) else None
    return name if isinstance(name, str) and NAME.fullmatch(name) else ascii(name)[:40]


def _problem(tool: Any, schema: str, others: dict[str, ListedTool]) -> str:
    if not NAME.fullmatch(tool.name):
        return f"{tool.name[:40]!a} is no name"
    if tool.name in others:
        return f"{tool.name} is there twice"
    if len(tool.description or "") > LONGEST_DESCRIPTION:
        return f"{tool.name} has a description of more than {LONGEST_DESCRIPTION:,} characters"
    if not schema:
        return f"{tool.name} is beyond {MAX_TOTAL_SCHEMA_CHARACTERS:,} characters of schemas"
    if len(schema) > LONGEST_SCHEMA:
        return f"{tool.name} has a schema of more than {LONGEST_SCHEMA:,} characters"
    return "" if _is_schema(schema) else f"{tool.name} has no schema of an object"


@lru_cache(maxsize=512)
def _is_schema(text: str) -> bool:
    from jsonschema import Draft202012Validator, SchemaError

    try:
        schema = modern(json.loads(text))
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError):
        return False
    return schema.get("type") == "object"


def _hints(tool: Any) -> ToolHints:
    said = tool.annotations
    if said is None:
        return ToolHints()
    return ToolHints(bool(said.read_only_hint), said.open_world_hint is not False, bool(said.idempotent_hint))


def result_text(result: Any) -> str:
    """Return the texts of a result; other content is replaced by its kind and size. Structured content is used if
    there is nothing else.
    """
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
