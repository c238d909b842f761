"""Conventions of a workspace (AGENTS.md and similar files) and of a crew, which agents follow.

They rank below messages of people and the core rules, and above all other files. They are read once, when a mission is
submitted, so that agents cannot write conventions for themselves.

Why so: missions/DESIGN.md, Missions.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

NAMES = (  # by priority: the last ones are left out where there is too much
    *("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules", ".windsurfrules", ".github/copilot-instructions.md"),
    *("CONVENTIONS.md", "CONTRIBUTING.md"),
)
CREW = "crew"  # in place of a file name: the conventions of the crew
LONGEST, TOGETHER, LEAST = 6_000, 12_000, 200  # characters: of one, of all, of one that is shortened


@dataclass(frozen=True)
class Custom:
    """`text` may be shortened; `length` is that of the whole text, in characters."""

    name: str
    text: str
    length: int

    @property
    def cut(self) -> bool:
        return len(self.text) < self.length


def chosen(files: Mapping[str, str], of_crew: str = "") -> list[Custom]:
    """The conventions that agents read, within the limits: those of the crew first, and none twice."""
    given = [(CREW, of_crew), *((name, files.get(name, "")) for name in NAMES)]
    found: list[Custom] = []
    room = TOGETHER
    for name, whole in ((name, text.strip()) for name, text in given):
        text = whole[: min(LONGEST, room)]
        if not text or whole in [one.text for one in found] or (len(text) < len(whole) and len(text) < LEAST):
            continue
        found.append(Custom(name, text, len(whole)))
        room -= len(text)
    return found


def for_next(before: Iterable[Custom], of_crew: str) -> list[Custom]:
    """The conventions of a mission that continues another one.

    Those of the workspace stay as they were at first, whatever agents have written to the files since.
    """
    own = chosen({}, of_crew)
    return [*own, *(one for one in before if one.name != CREW)]


def to_json(customs: Iterable[Custom]) -> str:
    """The value of the column `customs`; empty if there are none."""
    found = [asdict(one) for one in customs]
    return json.dumps(found, ensure_ascii=False) if found else ""


def from_json(text: str) -> list[Custom]:
    return [Custom(**one) for one in json.loads(text)] if text else []


def for_agents(customs: Iterable[Custom]) -> list[tuple[str, str]]:
    """Pairs of name and text, as agents read them."""
    return [(_name(one), f"{one.text}{_rest(one)}") for one in customs]


def _name(one: Custom) -> str:
    return "of this crew" if one.name == CREW else one.name


def _rest(one: Custom) -> str:
    return f"\n[{one.length - len(one.text):,} characters more]" if one.cut else ""


def names_line(customs: Iterable[Custom]) -> str:
    """The names in one line, for people."""
    return ", ".join(f"{'the crew’s own' if one.name == CREW else one.name}{' (cut)' * one.cut}" for one in customs)
