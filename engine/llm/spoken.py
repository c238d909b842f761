"""Extraction of the answer's JSON object from a model's text, without thinking and packaging.

Templates and servers leave thinking in the text: between tags, or up to a closing tag whose opening tag was in the
prompt. Some models put the object into a code fence or a sentence. If it is not certain which object is the answer,
there is none. Changes here must also be made to `spoken` of tools/verify.py.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic_core import from_json

NAMES = "think|thinking|thoughts?|reasoning|analysis|reflection|scratchpad|seed:think"
TAG = re.compile(
    rf"(?P<open><(?:{NAMES})>|\[THINK\]|◁think▷|<\|(?:START_THINKING|begin_of_thought)\|>"
    r"|<\|channel\|>(?:analysis|commentary)\b[^<{]{0,40}<\|message\|>)"
    rf"|(?P<close></(?:{NAMES})>|\[/THINK\]|◁/think▷|<\|(?:END_THINKING|end_of_thought)\|>"
    r"|<\|channel\|>final\b[^<{]{0,40}(?:<\|constrain\|>[^<{]{0,40})?<\|message\|>)",
    re.IGNORECASE,
)
BEGINS = re.compile(r'\{\s*"')
OTHER_OBJECTS = re.compile(r"[{}\[\]]")
SIGN = re.compile(r"\[/?[A-Z_]{2,20}\]")  # of a template, as [/INST] and [EOS]
MOST_LOOKED_AT = 50  # beginnings of what may be objects, in a thought
LONGEST_WORDS = 200  # characters before an object that is shown while it grows: more may be thinking without a tag
NONE = "The answer is not one JSON object."
DECODER = json.JSONDecoder(strict=False)  # a line may break within a text: what is meant is certain


def one_object(text: str) -> dict[str, Any]:
    """Return the JSON object of an answer: no duplicate keys, and only thinking and words around it. Raises ValueError
    with a message.
    """
    try:
        found = json.loads(text, object_pairs_hook=no_key_twice, strict=False)
    except KeyTwice:
        raise
    except (ValueError, RecursionError):
        found = json.loads(object_in(text), object_pairs_hook=no_key_twice, strict=False)
    if not isinstance(found, dict):
        raise ValueError(NONE)
    return found


class KeyTwice(ValueError):
    pass


def no_key_twice(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Hook for `json.loads`, which would take the last of two values with the same key. Raises KeyTwice with a
    message.
    """
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise KeyTwice(f"The answer has the key “{key[:40]}” twice.")
        found[key] = value
    return found


def object_in(text: str) -> str:
    """Return the text of the one JSON object in an answer. Raises ValueError with a message if there is not exactly
    one.
    """
    said = _after_thinking(text)
    begin = said.find("{")
    if begin < 0:
        raise ValueError(f"{NONE[:-1]}: it stands in its thinking." if said != text and BEGINS.search(text) else NONE)
    end = _end(said, begin)
    if end is None:
        raise ValueError(NONE)
    if any(OTHER_OBJECTS.search(SIGN.sub("", around)) for around in (said[:begin], said[end:])):
        raise ValueError(f"{NONE[:-1]}: another, or a part of one, stands beside it.")
    return said[begin:end]


def is_whole(text: str) -> bool:
    """Whether an answer ends with its object, as far as the text shows."""
    try:
        found = text if _end(text, 0) == len(text) else object_in(text)
    except ValueError:
        return False
    return text.rstrip().removesuffix("```").rstrip().endswith(found.rstrip())


def so_far(text: str) -> str:
    """Return what may be shown of an answer that is still arriving: its object so far, without thinking."""
    begin = 0
    if not text.startswith("{"):
        for tag in TAG.finditer(text):
            begin = len(text) if tag["open"] else tag.end()
        words, begin = begin, text.find("{", begin)
        if begin < 0 or begin - words > LONGEST_WORDS:
            return ""
    end = _end(text, begin)
    return text[begin:] if end is None else text[begin:end]


def growing(text: str, fields: Sequence[str]) -> str:
    """Return the texts of these fields in an answer that is still arriving, as far as they have come."""
    try:
        said = from_json(text, allow_partial="trailing-strings")
    except ValueError:
        return ""
    parts = [said.get(name) for name in fields] if isinstance(said, dict) else []
    return "\n\n".join(part.strip() for part in parts if isinstance(part, str) and part.strip())


def _after_thinking(text: str) -> str:
    """Return the text after the last closing tag. Raises ValueError if an object comes before it or thinking does not
    end.
    """
    ended, thinks = 0, False
    for tag in TAG.finditer(text):
        if not thinks and _has_object(text[ended : tag.start()]):
            raise ValueError(f"{NONE[:-1]}: one stands before the end of its thinking.")
        thinks = bool(tag["open"])
        ended = ended if thinks else tag.end()
    if thinks:
        raise ValueError(f"{NONE[:-1]}: its thinking has no end.")
    return text[ended:]


def _has_object(text: str) -> bool:
    beginnings = [found.start() for found in BEGINS.finditer(text)]
    return len(beginnings) > MOST_LOOKED_AT or any(_end(text, begin) is not None for begin in beginnings)


def _end(text: str, begin: int) -> int | None:
    """Return where the object that begins at `begin` ends; None if it is not complete."""
    try:
        found, end = DECODER.raw_decode(text, begin)
    except (ValueError, RecursionError):
        return None
    return end if isinstance(found, dict) else None
