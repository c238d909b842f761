"""Structured output: the facts of a run in the form of the caller's schema.

A schema that asks for anything else is refused before a run is started.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from runs.procedure.exposure import ChatField

TEXT, OBJECT, SCHEMA = "text", "json_object", "json_schema"
FIELD_KEYWORDS = {"type", "enum", "const", "title", "description", "default", "examples", "anyOf", "$ref", "items"}
ROOT_KEYWORDS = {"type", "properties", "required", "additionalProperties", "title", "description", "$defs", "$schema"}
MAX_DEPTH = 8


class SchemaNotSupported(ValueError):
    """The schema cannot be satisfied; the message says why."""


def fields_for_schema(asked: Mapping[str, Any] | None, facts: Mapping[str, ChatField]) -> list[str] | None:
    """Return the names of a `response_format` in its order; None for plain text. Raises SchemaNotSupported."""
    kind = (asked or {}).get("type", TEXT)
    if kind == TEXT:
        return None
    if kind == OBJECT:
        return list(facts)
    schema = _dict((asked or {}).get(SCHEMA)).get("schema")
    if kind != SCHEMA or not isinstance(schema, dict):
        raise SchemaNotSupported(f"It is {TEXT}, {OBJECT}, or {SCHEMA} with a schema.")
    complaints = list(_complaints(schema, facts))
    if complaints:
        raise SchemaNotSupported(" ".join(complaints))
    return list(schema["properties"])


def _complaints(schema: dict[str, Any], facts: Mapping[str, ChatField]) -> Iterator[str]:
    names = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(names, dict) or not names:
        yield "The schema is not of an object with properties."
        return
    if unknown := set(schema) - ROOT_KEYWORDS:
        yield f"“{min(unknown)}” is not read in a schema here."
    if set(_list(schema.get("required"))) - set(names):
        yield "It requires what is not among its properties."
    for name, wanted in names.items():
        if name not in facts:
            yield f"Nothing is known by the name “{name}”: there are {', '.join(facts)}."
        elif not _fits(facts[name], _dict(wanted), _dict(schema.get("$defs"))):
            yield f"“{name}” would not fit: {_told(facts[name])}."


def _fits(fact: ChatField, wanted: dict[str, Any], defined: dict[str, Any], depth: int = 0) -> bool:
    """Return whether every possible value of the field matches the schema."""
    if depth > MAX_DEPTH or set(wanted) - FIELD_KEYWORDS:
        return False
    if "$ref" in wanted:
        return _fits(fact, _dict(defined.get(str(wanted["$ref"]).removeprefix("#/$defs/"))), defined, depth + 1)
    if "anyOf" in wanted:
        return any(_fits(fact, _dict(one), defined, depth + 1) for one in _list(wanted["anyOf"]))
    wants = wanted.get("type", fact.type)
    types = wants if isinstance(wants, list) else [wants]
    words = [wanted["const"]] if "const" in wanted else wanted.get("enum")
    if fact.type not in types or (words is not None and not _among(fact, _list(words))):
        return False
    items = _dict(wanted.get("items"))
    return fact.type != "array" or _fits(ChatField(), items, defined, depth + 1)


def _among(fact: ChatField, words: list[Any]) -> bool:
    return bool(fact.words) and set(fact.words) <= {word for word in words if isinstance(word, str)}


def _told(fact: ChatField) -> str:
    return f"it is one of {', '.join(fact.words)}" if fact.words else f"it is any {fact.type}"


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
