"""Texts of gates. People and councils decide about exactly this text, and work is compared with it before it starts."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from .enums import StepEffect

ACTION = "\nAction:\n"
EFFECT_TEXT = {
    StepEffect.READS: "reads",
    StepEffect.WRITES: "changes something here",
    StepEffect.REACHES_OUT: "reaches out",
}


@dataclass(frozen=True)
class GateToolLine:
    """A tool in a gate's text; `definition`: SHA-256 of description and schema, so that a changed tool changes the
    text."""

    name: str
    effect: StepEffect
    definition: str


@dataclass(frozen=True)
class GateText:
    """Content of a step's gate. `needs`: numbers of steps; None: all before it."""

    number: int
    owner: str
    team: str
    tools: Sequence[GateToolLine]
    needs: Sequence[int] | None
    action: str

    @property
    def text(self) -> str:
        lines = [
            f"Step: {self.number}",
            f"Owner: {_in_one_line(self.owner)}",
            f"Team: {_in_one_line(self.team)}",
            *(f"Tool: {tool.name}, {EFFECT_TEXT[tool.effect]}, {tool.definition}" for tool in self.tools),
            f"After: {_after(self.needs)}",
        ]
        return "\n".join(lines) + ACTION + quoted(self.action)

    @property
    def matching_key(self) -> str:
        """Digest that is equal for the same step in two revisions, even if its number or needs differ."""
        tools = [[tool.name, tool.effect, tool.definition] for tool in self.tools]
        return digest(json.dumps([self.owner, self.team, tools, self.action]))


def _after(needs: Sequence[int] | None) -> str:
    if needs is None:
        return "everything before it"
    return ", ".join(map(str, needs)) or "nothing"


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def text_of_plan(task: str, subjects: Iterable[GateText]) -> str:
    """Return the text of a plan's gate."""
    return "\n\n".join([f"Task:\n{quoted(task)}", *(subject.text for subject in subjects)])


def quoted(text: str) -> str:
    """Indent each line of a text by people or models, so that none can pass as a line of ours."""
    return "".join(f"    {line}" for line in text.splitlines(keepends=True))


def parse_action(text: str) -> str:
    """Return the quoted action in a step's text: all after its heading, since the action is last."""
    return text.partition(ACTION)[2]


NAMED = {"Owner": "owner", "Team": "team", "Tool": "tools or their descriptions", "After": "order", "Action": "action"}


def parts_of(text: str) -> dict[str, list[str]]:
    """Return the values of a step's text by the first word of their lines. Quoted texts are indented, so they cannot
    add such lines."""
    head, _, action = text.partition(ACTION)
    found: dict[str, list[str]] = {"Action": [action]}
    for line in head.split("\n"):
        word, _, value = line.partition(": ")
        found.setdefault(word, []).append(value)
    return found


def differences(before: str, now: str) -> list[str]:
    """Return the names of the parts in which two step texts differ; the step's number does not count."""
    old, new = parts_of(before), parts_of(now)
    return [named for word, named in NAMED.items() if old.get(word) != new.get(word)]


def _in_one_line(name: str) -> str:
    return " ".join(name.split())
