"""Building blocks for the JSON schemas of answers, including the arguments of tools.

Lists are bounded only by small numbers, and texts have no length: some servers compile a schema into a grammar and
break on large numbers.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
TRUTH: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "integer"}
NULL: Schema = {"type": "null"}

LONGEST_LIST = 20  # a longer bound is left to the reader
DEEPEST = 6  # within the arguments of one tool
LARGEST_TOOL, LARGEST_TOOLS = 2_000, 30_000  # characters of the arguments of one tool, and of all at hand

_WORD = re.compile(r"[\w.:/+@-]{1,60}")


def object_of(properties: Mapping[str, Schema]) -> Schema:
    """Return the schema of an object with exactly these keys, in this order."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def list_of(items: Schema, most: int | None = None, least: int = 0) -> Schema:
    bounds = {"minItems": least} if least else {}
    return {"type": "array", "items": items, **bounds, **({} if most is None else {"maxItems": most})}


def one_of(words: Iterable[str]) -> Schema:
    return {"type": "string", "enum": [str(word) for word in words]}


def number_of(numbers: Iterable[int]) -> Schema:
    return {"type": "integer", "enum": list(numbers)}


def either(shapes: Sequence[Schema]) -> Schema:
    return shapes[0] if len(shapes) == 1 else {"anyOf": list(shapes)}


# ---- tools ------------------------------------------------------------------------------------------------


def arguments_by_tool(schemas: Mapping[str, Mapping[str, Any]]) -> dict[str, Schema]:
    """Return the schema of each tool's arguments, by tool name.

    If it is too large, recursive or unusual, the arguments are JSON in a text, which the readers also accept.
    Schemas may be untrusted: only short names and types of them are used.
    """
    found, left = dict[str, Schema](), LARGEST_TOOLS
    for name, schema in schemas.items():
        try:
            known = _part(schema, schema.get("$defs") or schema.get("definitions") or {}, DEEPEST)
        except (_Unknown, TypeError, AttributeError, KeyError):  # of strangers, whatever it may be
            known = TEXT
        size = len(json.dumps(known))
        found[name] = known if size <= min(LARGEST_TOOL, left) else TEXT
        left -= min(size, LARGEST_TOOL)
    return found


class _Unknown(Exception):
    pass


def _part(schema: Mapping[str, Any], known: Mapping[str, Any], depth: int) -> Schema:
    if not depth:
        raise _Unknown
    if "$ref" in schema:
        return _part(known[schema["$ref"].rpartition("/")[2]], known, depth - 1)
    if either_of := schema.get("anyOf") or schema.get("oneOf"):
        return either([_part(one, known, depth - 1) for one in either_of])
    if "const" in schema or "enum" in schema:
        return _enum([schema["const"]] if "const" in schema else schema["enum"])
    kind = schema.get("type")
    if kind == "object":
        return _object(schema, known, depth)
    if kind == "array" and "items" in schema:
        most = schema.get("maxItems")
        few = isinstance(most, int) and 0 < most <= LONGEST_LIST
        return list_of(_part(schema["items"], known, depth - 1), most if few else None)
    if kind in ("string", "integer", "number", "boolean", "null"):
        return {"type": kind}
    raise _Unknown


def _enum(values: Sequence[Any]) -> Schema:
    """Return an enum of short texts, which all servers support."""
    if not values or not all(isinstance(one, str) and _WORD.fullmatch(one) for one in values):
        raise _Unknown
    return one_of(values)


def _object(schema: Mapping[str, Any], known: Mapping[str, Any], depth: int) -> Schema:
    fields = schema.get("properties", {})
    if not all(_WORD.fullmatch(name) for name in fields):
        raise _Unknown
    if not fields and schema.get("additionalProperties") not in (None, False):
        raise _Unknown
    found = object_of({name: _part(one, known, depth - 1) for name, one in fields.items()})
    return found | {"required": [name for name in fields if name in schema.get("required", ())]}
