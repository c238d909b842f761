"""Memories as files: Markdown with front matter. Unknown keys are preserved byte for byte.

Front matter is YAML, read by PyYAML's safe loader. The values of our keys are texts or lists of texts: words such as
`no` and `1` do not become booleans or numbers, since a list that is misread hides a memory or shows it to others.
Duplicate keys are refused.

Why so: missions/DESIGN.md, Memory.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

LISTS = ("active_for", "visible_to", "except_for")
KEYS = ("name", "description", *LISTS)
NAME_LENGTH, DESCRIPTION_LENGTH, TEXT_LENGTH, LIST_LENGTH, FILE_LENGTH = 60, 300, 20_000, 50, 100
FRONT_LENGTH = 20_000
FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(?:.*?\n)?---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
NULL, TEXT = "tag:yaml.org,2002:null", "tag:yaml.org,2002:str"
FILE = re.compile(r"\w[\w. -]*\.md")


class InvalidMemoryFile(ValueError):
    """The file or its values are invalid. The text is a sentence with the place and the reason."""


@dataclass(frozen=True)
class MemoryFile:
    """`front` is the front matter as it was read, with its lines of dashes; empty for a memory that was not a file."""

    name: str
    description: str
    text: str
    active_for: tuple[str, ...] = ()
    visible_to: tuple[str, ...] = ()
    except_for: tuple[str, ...] = ()
    front: str = ""


def parse_memory_file(source: str) -> MemoryFile:
    """Raises InvalidMemoryFile."""
    front = FRONT.match(source)
    if front is None:
        raise InvalidMemoryFile(
            "It does not begin with front matter: a line of three dashes, keys, and another such line."
        )
    if len(front[0]) > FRONT_LENGTH:
        raise InvalidMemoryFile(f"The front matter has {len(front[0]):,} characters, and {FRONT_LENGTH:,} are taken.")
    found = _values(front[0])
    for name in ("name", "description"):
        if not isinstance(found.setdefault(name, ""), str):
            raise InvalidMemoryFile(f"“{name}” is one text, not a list.")
    lists = {name: _names(name, found.get(name, [])) for name in LISTS}
    made = MemoryFile(str(found["name"]), str(found["description"]), source[front.end() :], **lists, front=front[0])
    if wrong := memory_problem(made):
        raise InvalidMemoryFile(wrong)
    return made


def memory_file_text(memory: MemoryFile) -> str:
    """The file's text. The front matter stays as it was read if it still has the same values; otherwise it is written
    again, with the lines of unknown keys."""
    if memory.front and _front_values(memory.front) == _own_values(memory):
        return memory.front + memory.text
    lists = {name: list(getattr(memory, name)) for name in LISTS if getattr(memory, name)}
    ours = {"name": memory.name, "description": memory.description, **lists}
    lines = [*dumped(ours).splitlines(), *_others(memory.front)]
    return "\n".join(["---", *lines, "---", memory.text])


def memory_problem(memory: MemoryFile) -> str:
    """Why the memory is invalid; empty if it is valid."""
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
    """The file name of a memory that did not come from a file."""
    return (re.sub(r"[^\w-]+", "_", name.strip()).strip("_") or "memory") + ".md"


def file_problem(file: str) -> str:
    if len(file) > FILE_LENGTH or not FILE.fullmatch(file):
        return f"{file[:FILE_LENGTH]!r} is no name of a memory's file: letters, digits and - _ ., and .md at its end."
    return ""


def rename_agents(names: tuple[str, ...], change: str) -> tuple[str, ...]:
    """Apply a change such as “+tester,-reader” to a list of names; names without signs replace the whole list.

    Raises InvalidMemoryFile.
    """
    words = [one.strip() for one in change.split(",") if one.strip()]
    if not any(one[0] in "+-" for one in words):
        return tuple(words)
    found = list(names)
    for one in words:
        sign, name = one[0], one[1:].strip()
        if sign not in "+-" or not name:
            raise InvalidMemoryFile(f"“{one}”: write +NAME or -NAME, or names alone.")
        found = [other for other in found if other.casefold() != name.casefold()] + ([name] if sign == "+" else [])
    return tuple(found)


# ---- front matter ----------------------------------------------------------------------------------------------


def _own_values(memory: MemoryFile) -> tuple[object, ...]:
    return tuple(getattr(memory, name) for name in KEYS)


def _front_values(front: str) -> tuple[object, ...] | None:
    try:
        found = _values(front)
        return (found.get("name"), found.get("description", ""), *(_names(name, found.get(name, [])) for name in LISTS))
    except InvalidMemoryFile:
        return None


class _TextLoader(yaml.SafeLoader):
    """Reads all scalars as text, except null, and refuses duplicate keys."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        names = [str(key.value) for key, _ in node.value]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise yaml.constructor.ConstructorError(None, None, f"“{twice}” stands there twice", node.start_mark)
        return super().construct_mapping(node, deep)


_TextLoader.yaml_implicit_resolvers = {
    sign: [one for one in found if one[0] == NULL] for sign, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class _IndentedDumper(yaml.SafeDumper):
    """Indents lists below their keys, as people write them."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def dumped(values: dict[str, Any]) -> str:
    """The values as YAML, in their order."""
    about: dict[str, Any] = {"sort_keys": False, "allow_unicode": True, "width": 10**6}
    return yaml.dump(values, Dumper=_IndentedDumper, **about)


def loaded(front: str) -> dict[str, Any]:
    """All values, nested ones too: texts, lists, mappings and None. Raises InvalidMemoryFile."""
    pairs_of(front)
    try:
        found: dict[str, Any] = yaml.load("\n".join(_lines(front)), Loader=_TextLoader)  # noqa: S506 - it is a safe loader
    except yaml.MarkedYAMLError as error:
        line = f"Line {error.problem_mark.line + 2}: " if error.problem_mark else ""
        raise InvalidMemoryFile(f"{line}{error.problem}.") from error
    return found or {}


def pairs_of(front: str) -> list[tuple[str, yaml.Node, int]]:
    """The top-level keys, their values and the lines of the keys, from 0. Raises InvalidMemoryFile."""
    inner = "\n".join(_lines(front))
    try:
        node = yaml.compose(inner, Loader=_TextLoader)
    except yaml.MarkedYAMLError as error:
        line = f"Line {error.problem_mark.line + 2}: " if error.problem_mark else ""
        raise InvalidMemoryFile(f"{line}{error.problem or error.context}.") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise InvalidMemoryFile(f"It is no YAML: {str(error)[:200]}") from error
    if node is None:
        return []
    if not isinstance(node, yaml.MappingNode):
        raise InvalidMemoryFile(f"Line {node.start_mark.line + 2} is no key and no part of one.")
    found = [(str(key.value), value, key.start_mark.line) for key, value in node.value]
    names = [name for name, _, _ in found]
    for name, _, line in found:
        if names.count(name) > 1:
            raise InvalidMemoryFile(f"Line {line + 2}: “{name}” stands there twice.")
    return found


def _lines(front: str) -> list[str]:
    return front.removeprefix("\ufeff").splitlines()[1:-1]


def _values(front: str) -> dict[str, str | list[str]]:
    return {name: _value(value) for name, value, _ in pairs_of(front) if name in KEYS}


def _value(node: yaml.Node) -> str | list[str]:
    if isinstance(node, yaml.SequenceNode):
        return [_text(one) for one in node.value]
    return _text(node)


def _text(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode) or node.tag not in (TEXT, NULL):
        raise InvalidMemoryFile(f"Line {node.start_mark.line + 2}: write one text, or a list of texts.")
    return "" if node.tag == NULL else node.value.strip()


def _names(key: str, said: str | list[str]) -> tuple[str, ...]:
    """The names of a list; a single name needs no list."""
    names = [said] if isinstance(said, str) and said else said or []
    if not all(isinstance(one, str) and 0 < len(one) <= NAME_LENGTH for one in names):
        raise InvalidMemoryFile(f"“{key}” is a list of names of at most {NAME_LENGTH} characters.")
    return tuple(names)


def _others(front: str) -> Iterator[str]:
    """The lines of unknown keys, and comments that have a line of their own."""
    try:
        begins = {line: name for name, _, line in pairs_of(front)}
    except InvalidMemoryFile:  # stored before front matter had to be YAML; our own values are in columns
        return
    ours = False
    for number, line in enumerate(_lines(front)):
        ours = begins[number] in KEYS if number in begins else ours
        if not ours or line.startswith("#"):
            yield line
