"""A memory as a file: Markdown with front matter. What is not known there stays as it stood, byte for byte.

Of YAML is read what such files need: a key at the beginning of a line, and behind or below it a text or a list of
texts. Everything else is refused with its line, for a list that is read otherwise than it was meant hides a memory, or
shows it.

Why so: docs/decisions.md, Memory.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

LISTS = ("active_for", "visible_to", "except_for")
KEYS = ("name", "description", *LISTS)
NAME_LENGTH, DESCRIPTION_LENGTH, TEXT_LENGTH, LIST_LENGTH, FILE_LENGTH = 60, 300, 20_000, 50, 100
FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(?:.*?\n)?---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
KEY = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(.*))?\Z")
ITEM = re.compile(r"[ \t]*-(?:[ \t]+(.*))?\Z")
FILE = re.compile(r"\w[\w. -]*\.md")


class Wrong(ValueError):
    """No memory. The text is a sentence that says where and why."""


@dataclass(frozen=True)
class MemoryFile:
    """`front`: the lines between, and with, the two of dashes, as they stood; empty where it was made anew."""

    name: str
    description: str
    text: str
    active_for: tuple[str, ...] = ()
    visible_to: tuple[str, ...] = ()
    except_for: tuple[str, ...] = ()
    front: str = ""


def read(source: str) -> MemoryFile:
    """Wrong."""
    front = FRONT.match(source)
    if front is None:
        raise Wrong("It does not begin with front matter: a line of three dashes, keys, and another such line.")
    found = _values(front[0])
    for name in ("name", "description"):
        if not isinstance(found.setdefault(name, ""), str):
            raise Wrong(f"“{name}” is one text, not a list.")
    lists = {name: _names(name, found.get(name, [])) for name in LISTS}
    made = MemoryFile(str(found["name"]), str(found["description"]), source[front.end() :], **lists, front=front[0])
    if wrong := complaint(made):
        raise Wrong(wrong)
    return made


def written(memory: MemoryFile) -> str:
    """As it stood where its front matter still says the same; else anew, with the lines of keys that are not ours."""
    if memory.front and _says(memory.front) == _known(memory):
        return memory.front + memory.text
    lines = [f"name: {_scalar(memory.name)}", f"description: {_scalar(memory.description)}"]
    for name in LISTS:
        lines += (
            [f"{name}:", *(f"  - {_scalar(one)}" for one in getattr(memory, name))] if getattr(memory, name) else []
        )
    return "\n".join(["---", *lines, *_others(memory.front), "---", memory.text])


def complaint(memory: MemoryFile) -> str:
    """Why it can be no memory; empty where it can."""
    if not 0 < len(memory.name.strip()) <= NAME_LENGTH:
        return f"A memory has a name of 1 to {NAME_LENGTH} characters."
    if len(memory.description) > DESCRIPTION_LENGTH:
        return f"The description has more than {DESCRIPTION_LENGTH} characters."
    if len(memory.text) > TEXT_LENGTH:
        return f"The text has {len(memory.text):,} characters, and {TEXT_LENGTH:,} are taken."
    if any(len(getattr(memory, name)) > LIST_LENGTH for name in LISTS):
        return f"A list has more than {LIST_LENGTH} names."
    return ""


def file_name(name: str) -> str:
    """For a memory that came in no file."""
    return (re.sub(r"[^\w-]+", "_", name.strip()).strip("_") or "memory") + ".md"


def file_complaint(file: str) -> str:
    if len(file) > FILE_LENGTH or not FILE.fullmatch(file):
        return f"{file[:FILE_LENGTH]!r} is no name of a memory's file: letters, digits and - _ ., and .md at its end."
    return ""


def with_names(names: tuple[str, ...], change: str) -> tuple[str, ...]:
    """After a change as in “+tester,-reader”; without signs these are all that there are then. Wrong."""
    words = [one.strip() for one in change.split(",") if one.strip()]
    if not any(one[0] in "+-" for one in words):
        return tuple(words)
    found = list(names)
    for one in words:
        sign, name = one[0], one[1:].strip()
        if sign not in "+-" or not name:
            raise Wrong(f"“{one}”: write +NAME or -NAME, or names alone.")
        found = [other for other in found if other.casefold() != name.casefold()] + ([name] if sign == "+" else [])
    return tuple(found)


# ---- the lines between the dashes ------------------------------------------------------------------------------


def _known(memory: MemoryFile) -> tuple[object, ...]:
    return tuple(getattr(memory, name) for name in KEYS)


def _says(front: str) -> tuple[object, ...] | None:
    try:
        found = _values(front)
        return (found.get("name"), found.get("description", ""), *(_names(name, found.get(name, [])) for name in LISTS))
    except Wrong:
        return None


def _lines(front: str) -> list[str]:
    return front.removeprefix("\ufeff").splitlines()[1:-1]


def _values(front: str) -> dict[str, str | list[str]]:
    found: dict[str, str | list[str]] = {}
    key = ""
    for number, line in enumerate(_lines(front), 2):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if begins := KEY.match(line):
            key, said = begins[1], begins[2] or ""
            if key in found:
                raise Wrong(f"Line {number}: “{key}” stands there twice.")
            found[key] = _value(said.strip(), number) if key in KEYS else ""
        elif not key:
            raise Wrong(f"Line {number} is no key and no part of one: {line.strip()[:60]!r}.")
        elif key in KEYS:
            _add(found, key, line, number)
    return found


def _add(found: dict[str, str | list[str]], key: str, line: str, number: int) -> None:
    """An item below its key."""
    item, there = ITEM.match(line), found[key]
    if item is None or (isinstance(there, str) and there):
        raise Wrong(f"Line {number} does not go on with “{key}” in a way that is read here: {line.strip()[:60]!r}.")
    found[key] = [*(there or ()), _text((item[1] or "").strip(), number)]


def _value(said: str, number: int) -> str | list[str]:
    said = "" if said.startswith("#") else said
    if said[:1] in ("|", ">", "{", "&", "*", "!"):
        raise Wrong(f"Line {number}: write one text in one line, or a list.")
    if not said.startswith("["):
        return _text(said, number)
    inner, closed, rest = said[1:].partition("]")
    if not closed or (rest.strip() and not rest.strip().startswith("#")):
        raise Wrong(f"Line {number}: the list has no end in its line.")
    return [_text(one.strip(), number) for one in inner.split(",") if one.strip()]


def _text(said: str, number: int) -> str:
    try:
        if said.startswith('"'):
            text, end = json.JSONDecoder().raw_decode(said)
            rest = said[end:]
        elif said.startswith("'"):
            quoted = re.match(r"'((?:[^']|'')*)'", said)
            text, rest = quoted[1].replace("''", "'") if quoted else None, said[quoted.end() :] if quoted else ""
        else:
            text, rest = re.split(r"(?:^|[ \t]+)#", said, maxsplit=1)[0].strip(), ""
    except ValueError:
        text, rest = None, ""
    if not isinstance(text, str) or (rest.strip() and not rest.lstrip().startswith("#")):
        raise Wrong(f"Line {number}: the text in quotes has no end, or goes on behind it.")
    return "" if text in ("null", "~") else text


def _names(key: str, said: str | list[str]) -> tuple[str, ...]:
    """One name may stand without a list."""
    names = [said] if isinstance(said, str) and said else said or []
    if not all(isinstance(one, str) and 0 < len(one) <= NAME_LENGTH for one in names):
        raise Wrong(f"“{key}” is a list of names of at most {NAME_LENGTH} characters.")
    return tuple(names)


def _others(front: str) -> Iterator[str]:
    ours = False
    for line in _lines(front):
        if begins := KEY.match(line):
            ours = begins[1] in KEYS
        if not ours or line.startswith("#"):
            yield line


def _scalar(text: str) -> str:
    plain = re.fullmatch(r"[^\W\d_](?:[\w ./()-]*[\w.)])?", text) and text not in ("null", "true", "false", "yes", "no")
    return text if plain else json.dumps(text, ensure_ascii=False)
