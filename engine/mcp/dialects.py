"""Conversion of older JSON schema drafts (4, 6, 7, 2019-09) to 2020-12, by which arguments are validated. Models see
the schema as the server wrote it.
"""

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
    """Why a schema cannot describe arguments, in a few words."""


def of_object(schema: Any) -> dict[str, Any]:
    """Return the schema, with type `object` if it names no type. Raises NoSchema if it is for another type, or if a
    reference leads out of it.
    """
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
    """Return the schema as draft 2020-12. Raises RecursionError if it is nested too deeply."""
    if not isinstance(schema, dict):
        return schema
    found = {key: _modern_part(key, value) for key, value in schema.items() if key not in ("$schema", "id")}
    for strict, loose in LIMITS.items():
        # in draft 4 a boolean that makes the other limit exclusive
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
    """Whether a reference by path exists in the schema. References by anchor or id are resolved only during
    validation.
    """
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
