"""Parts of prompts and answers that several procedures share: fenced material, complaints, and one JSON object.

Why so: engine/DESIGN.md, What models are told and asked.
"""

import json
import re
import secrets
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from django.utils.crypto import salted_hmac
from pydantic import ValidationError

from engine.text.invisible_chars import visible_json, visible_text

from .spoken import growing as growing
from .spoken import no_key_twice as no_key_twice
from .spoken import one_object as one_object

LONGEST_ANSWERED = 2000  # characters of an answer that is complained of


def random_boundary() -> str:
    """Return a boundary for one request that belongs to no run."""
    return secrets.token_hex(4)


def run_boundary(run: object) -> str:
    """Return the boundary for all requests of one run, so that they begin alike and a server can reuse its prompt
    cache.

    It is derived from the secret key: authors of the material cannot know it before the run's first request. It is
    short because it is in a prompt seven times and no tokenizer knows it: 32 characters cost a sixth of a short
    one.
    """
    return salted_hmac("engine.llm.boundary", str(run), algorithm="sha256").hexdigest()[:8]


def fence(material: Any, boundary: str) -> str:
    """Return one line of JSON between two lines with the boundary: nothing inside can forge the closing line."""
    return marked("MATERIAL", material, boundary)


def marked(label: str, said: Any, boundary: str) -> str:
    """As `fence` with another label, for texts that a model wrote."""
    return f"BEGIN {label} {boundary}\n{visible_json(said)}\nEND {label} {boundary}"


def marked_text(label: str, text: str, boundary: str) -> str:
    """Fence a text that people wrote or accepted, with its own lines. Its authors do not know the boundary."""
    return f"BEGIN {label} {boundary}\n{visible_text(text)}\nEND {label} {boundary}"


def read_fence(text: str) -> Any:
    """Return the material of a fence; a complaint may follow it. Raises ValueError for any other text."""
    named = re.escape(text.partition("\n")[0].removeprefix("BEGIN MATERIAL "))
    block = re.match(rf"BEGIN MATERIAL {named}\n(.*)\nEND MATERIAL {named}(?:\n\n|\Z)", text)
    if not block:
        raise ValueError("no fenced material")
    return json.loads(block[1])


def unpacked(said: str) -> Any:
    """Return a JSON object in a text as an object, and any other text unchanged.

    Models imitate their earlier answers: if their arguments are shown as text, nested quotes go wrong.
    """
    try:
        value = json.loads(said)
    except (ValueError, RecursionError):
        return said
    return value if isinstance(value, dict) else said


def complained(request: Sequence[dict[str, str]], answer: str, complaint: str) -> list[dict[str, str]]:
    """Return the request with the unusable answer, if there is one, and the complaint about it."""
    answered = [{"role": "assistant", "content": as_answered(answer)}] if answer.strip() else []
    return [*request, *answered, {"role": "user", "content": complaint}]


def as_answered(answer: str) -> str:
    """Return an answer as it is shown before a complaint about it."""
    return answer if len(answer) <= LONGEST_ANSWERED else f"{answer[:LONGEST_ANSWERED]} …"


def no_preview(text: str) -> str:
    return ""


# ---- what is wrong with an answer, and what to do ---------------------------------------------------------

_HAS_TO_BE = {
    "string_type": "a text",
    "list_type": "a list",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}


def misfit(error: ValidationError) -> str:
    """Return the first validation error and how to correct it, for a complaint."""
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])[:80]
    if first["type"] == "missing":
        return f"“{place}” is missing: add it"
    if first["type"] == "extra_forbidden":
        return f"there is no “{place}”: leave it out"
    if kind := _HAS_TO_BE.get(first["type"]):
        return f"“{place}” has to be {kind}"
    return f"at “{place}”: {first['msg']}" if place else first["msg"]


def unknown_name(name: str, known: Sequence[str], noun: str) -> str:
    """Return a message for a model that wrote an unknown name: the closest known name, or all of them."""
    shown = ", ".join(known) or "none"
    close = get_close_matches(name.casefold(), {one.casefold(): one for one in known}, 1, 0.7)
    meant = next((one for one in known if close and one.casefold() == close[0]), "")
    if meant:
        return f"There is no {noun} “{name[:60]}”. It is called {meant}."
    return f"There is no {noun} “{name[:60]}”. The {noun}s are: {shown}."
