"""How whoever owns a workspace wants work to be done there: texts of known names, and one that a crew has of its own.

They rank below what people say and the core rules, and above all other files. They are taken as they are when a mission
begins, so that no agent gives itself customs.

Why so: docs/decisions.md, Missions.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

NAMES = (  # in this order, for what comes first is kept where there is too much
    *("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules", ".windsurfrules", ".github/copilot-instructions.md"),
    *("CONVENTIONS.md", "CONTRIBUTING.md"),
)
CREW = "crew"  # in place of a name, of the text that a crew has
LONGEST, TOGETHER, LEAST = 6_000, 12_000, 200  # characters


@dataclass(frozen=True)
class Custom:
    """`text`: as far as it is told; `length`: of all of it."""

    name: str
    text: str
    length: int

    @property
    def cut(self) -> bool:
        return len(self.text) < self.length


def chosen(files: Mapping[str, str], of_crew: str = "") -> list[Custom]:
    """What is told of these, as far as there is room: that of the crew first, and none twice."""
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
    """Of a mission that goes on from another one: those of its workspace, whatever a crew has made of them since."""
    own = chosen({}, of_crew)
    return [*own, *(one for one in before if one.name != CREW)]


def written(customs: Iterable[Custom]) -> str:
    """As a row has them; empty where there are none."""
    found = [asdict(one) for one in customs]
    return json.dumps(found, ensure_ascii=False) if found else ""


def read(text: str) -> list[Custom]:
    return [Custom(**one) for one in json.loads(text)] if text else []


def told(customs: Iterable[Custom]) -> list[tuple[str, str]]:
    """Names and texts as agents read them."""
    return [(_name(one), f"{one.text}{_rest(one)}") for one in customs]


def _name(one: Custom) -> str:
    return "of this crew" if one.name == CREW else one.name


def _rest(one: Custom) -> str:
    return f"\n[{one.length - len(one.text):,} characters more]" if one.cut else ""


def shown(customs: Iterable[Custom]) -> str:
    """Their names in one line, for people."""
    return ", ".join(f"{'the crew’s own' if one.name == CREW else one.name}{' (cut)' * one.cut}" for one in customs)
