"""Schemas of the drafts that servers write (4, 6, 7, 2019-09), as 2020-12 has them: that is what arguments are held
against. What a model is shown stays as its server wrote it."""

from collections.abc import Iterator, Mapping
from typing import Any

LIMITS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
NAMED = ("properties", "definitions", "$defs", "dependentSchemas", "patternProperties")  # schemas by names
SEVERAL = ("allOf", "anyOf", "oneOf", "prefixItems")
ONE = (
    "additionalProperties",
    "items",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedProperties",
)
ONE_OLD = ("additionalItems", "unevaluatedItems", "contentSchema")


class NoSchema(ValueError):
    """Why it can be no schema of arguments, in a few words."""


def of_object(schema: Any) -> dict[str, Any]:
    """The same, saying that it is of an object where it says nothing else. NoSchema."""
    if schema is True or schema is None:
        return {"type": "object"}
    if not isinstance(schema, dict):
        raise NoSchema("has no schema of an object")
    kind = schema.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise NoSchema("has no schema of an object")
    for address in _references(schema):
        if not _leads_within(schema, address):
            raise NoSchema(f"has a schema that names another, which is not in it: {address[:80]!a}")
    return schema if kind == "object" and "type" in schema else {**schema, "type": "object"}


def modern(schema: Any) -> Any:
    """RecursionError where it is too deep."""
    if not isinstance(schema, dict):
        return schema
    found = {key: _modern_part(key, value) for key, value in schema.items() if key not in ("$schema", "id")}
    for strict, loose in LIMITS.items():
        # of draft 4: whether the limit beside it is strict
        if isinstance(found.get(strict), bool) and found.pop(strict) and loose in found:
            found[strict] = found.pop(loose)
    if isinstance(found.get("items"), list):
        found["prefixItems"] = found.pop("items")
        if "additionalItems" in found:
            found["items"] = found.pop("additionalItems")
    found.pop("additionalItems", None)
    needed = found.pop("dependencies", {})
    for name, needs in needed.items() if isinstance(needed, dict) else ():
        into = "dependentRequired" if isinstance(needs, list) else "dependentSchemas"
        found[into] = {**found.get(into, {}), name: needs}
    return found


def _modern_part(key: str, value: Any) -> Any:
    if key in (*NAMED, "dependencies") and isinstance(value, dict):
        return {name: modern(one) for name, one in value.items()}
    if key in (*SEVERAL, "items") and isinstance(value, list):
        return [modern(one) for one in value]
    return modern(value) if key in (*ONE, *ONE_OLD) else value


def _references(part: Any) -> Iterator[str]:
    todo = [part]
    while todo:
        part = todo.pop()
        if isinstance(part, Mapping):
            if isinstance(address := part.get("$ref"), str):
                yield address
            todo += [one for key, one in part.items() if key not in ("const", "enum", "default", "examples")]
        elif isinstance(part, list):
            todo += part


def _leads_within(schema: Any, address: str) -> bool:
    """By its path. What is named by an anchor or by an id is looked for where it is followed."""
    if not address.startswith("#"):
        return False
    if address != "#" and not address.startswith("#/"):
        return True
    for step in address.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, list) and key.isdecimal() and int(key) < len(schema):
            schema = schema[int(key)]
        elif isinstance(schema, dict) and key in schema:
            schema = schema[key]
        else:
            return False
    return True
