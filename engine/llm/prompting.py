"""What prompts and answers of several procedures have in common: material that is fenced in, and one JSON object.

Why so: docs/decisions.md, What models are told and asked.
"""

import json
import re
import secrets
from collections.abc import Iterable
from typing import Any

from engine.hidden import visible_json


def boundary() -> str:
    """For one request, so that nobody can know it who wrote the material."""
    return secrets.token_hex(16)


def fenced(material: Any, boundary: str) -> str:
    """One line of JSON between two lines with the boundary: nothing inside can make the closing line."""
    return f"BEGIN MATERIAL {boundary}\n{visible_json(material)}\nEND MATERIAL {boundary}"


def read_fenced(text: str) -> Any:
    """The way back; a complaint may stand behind it. ValueError if that is no such text."""
    named = re.escape(text.partition("\n")[0].removeprefix("BEGIN MATERIAL "))
    block = re.match(rf"BEGIN MATERIAL {named}\n(.*)\nEND MATERIAL {named}(?:\n\n|\Z)", text)
    if not block:
        raise ValueError("no fenced material")
    return json.loads(block[1])


def one_object(text: str) -> dict[str, Any]:
    """The JSON object that an answer has to be: nothing around it, no key twice. ValueError with a sentence."""
    try:
        found = json.loads(text, object_pairs_hook=no_key_twice)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError("The answer is not one JSON object.") from error
    if not isinstance(found, dict):
        raise ValueError("The answer is not one JSON object.")
    return found


def no_key_twice(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """For `json.loads`: of two values under one key it would take the last. ValueError with a sentence."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"The answer has the key “{key[:40]}” twice.")
        found[key] = value
    return found
