"""What prompts and answers of several procedures have in common: fenced material, complaints, and one JSON object.

Why so: docs/decisions.md, What models are told and asked.
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
    """For one request, where no run has one."""
    return secrets.token_hex(4)


def run_boundary(run: object) -> str:
    """For all requests of the run of this key, so that they begin alike and a server can use again what it has read.

    It follows from the secret key: whoever wrote the material cannot know it before a request of this run was made.
    It is short, for it stands in a prompt seven times and no tokenizer knows it: 32 signs cost a sixth of a short one.
    """
    return salted_hmac("engine.llm.boundary", str(run), algorithm="sha256").hexdigest()[:8]


def fence(material: Any, boundary: str) -> str:
    """One line of JSON between two lines with the boundary: nothing inside can make the closing line."""
    return marked("MATERIAL", material, boundary)


def marked(label: str, said: Any, boundary: str) -> str:
    """As `fence`, with another word on the lines: of what is no material, but a model has written it."""
    return f"BEGIN {label} {boundary}\n{visible_json(said)}\nEND {label} {boundary}"


def marked_text(label: str, text: str, boundary: str) -> str:
    """What people have written or accepted, in its own lines. Whoever wrote it does not know the boundary."""
    return f"BEGIN {label} {boundary}\n{visible_text(text)}\nEND {label} {boundary}"


def read_fence(text: str) -> Any:
    """The way back; a complaint may stand behind it. ValueError if that is no such text."""
    named = re.escape(text.partition("\n")[0].removeprefix("BEGIN MATERIAL "))
    block = re.match(rf"BEGIN MATERIAL {named}\n(.*)\nEND MATERIAL {named}(?:\n\n|\Z)", text)
    if not block:
        raise ValueError("no fenced material")
    return json.loads(block[1])


def unpacked(said: str) -> Any:
    """The JSON of an object as that object, and any other text as it is. Models answer as they see that they have
    answered, and where their own arguments stand there as a text, quotes within quotes go wrong."""
    try:
        value = json.loads(said)
    except (ValueError, RecursionError):
        return said
    return value if isinstance(value, dict) else said


def complained(request: Sequence[dict[str, str]], answer: str, complaint: str) -> list[dict[str, str]]:
    """The request again, with the answer to it that could not be used, as far as there is one, and why."""
    answered = [{"role": "assistant", "content": as_answered(answer)}] if answer.strip() else []
    return [*request, *answered, {"role": "user", "content": complaint}]


def as_answered(answer: str) -> str:
    """An answer as it stands in front of a complaint about it."""
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
    """The first thing that does not fit and what to do about it, for the sentence that a model is told."""
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
    """What to tell a model that has written a name that is none of these: the closest one, and which there are."""
    shown = ", ".join(known) or "none"
    close = get_close_matches(name.casefold(), {one.casefold(): one for one in known}, 1, 0.7)
    meant = next((one for one in known if close and one.casefold() == close[0]), "")
    if meant:
        return f"There is no {noun} “{name[:60]}”. It is called {meant}."
    return f"There is no {noun} “{name[:60]}”. The {noun}s are: {shown}."
