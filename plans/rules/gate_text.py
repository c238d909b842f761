"""The text of what is decided: a gate shows it, a council judges it, and what is done is compared with it, all by these
same characters."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from .enums import StepEffect

ACTION = "\nAction:\n"
SAID_OF = {
    StepEffect.READS: "reads",
    StepEffect.WRITES: "changes something here",
    StepEffect.REACHES_OUT: "reaches out",
}


@dataclass(frozen=True)
class GateToolLine:
    """A tool as a step has it; `definition`: SHA-256 of its description and schema, so that another one is another
    text."""

    name: str
    effect: StepEffect
    definition: str


@dataclass(frozen=True)
class GateText:
    """A step, as it is decided about. `needs`: numbers of steps; None: all before it."""

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
            *(f"Tool: {tool.name}, {SAID_OF[tool.effect]}, {tool.definition}" for tool in self.tools),
            f"After: {_after(self.needs)}",
        ]
        return "\n".join(lines) + ACTION + quoted(self.action)

    @property
    def matching_key(self) -> str:
        """Equal for the same step of two revisions, whatever number and needs it has in them."""
        tools = [[tool.name, tool.effect, tool.definition] for tool in self.tools]
        return digest(json.dumps([self.owner, self.team, tools, self.action]))


def _after(needs: Sequence[int] | None) -> str:
    if needs is None:
        return "everything before it"
    return ", ".join(map(str, needs)) or "nothing"


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def text_of_plan(task: str, subjects: Iterable[GateText]) -> str:
    """All that the gate of a plan is about."""
    return "\n\n".join([f"Task:\n{quoted(task)}", *(subject.text for subject in subjects)])


def quoted(text: str) -> str:
    """What a person or a model wrote, so that no line of it can pass for one of ours, and nothing of it is lost."""
    return "".join(f"    {line}" for line in text.splitlines(keepends=True))


def parse_action(text: str) -> str:
    """What is done, quoted, by the text of a step: all of it, as nothing of ours comes after it."""
    return text.partition(ACTION)[2]


NAMED = {"Owner": "owner", "Team": "team", "Tool": "tools or their descriptions", "After": "order", "Action": "action"}


def parts_of(text: str) -> dict[str, list[str]]:
    """What a step's text says, by the words at which its lines begin. Nothing of others can be such a line."""
    head, _, action = text.partition(ACTION)
    found: dict[str, list[str]] = {"Action": [action]}
    for line in head.split("\n"):
        word, _, said = line.partition(": ")
        found.setdefault(word, []).append(said)
    return found


def differences(before: str, now: str) -> list[str]:
    """What of a step is another one by these two texts, in words; its number is none."""
    old, new = parts_of(before), parts_of(now)
    return [named for word, named in NAMED.items() if old.get(word) != new.get(word)]


def _in_one_line(name: str) -> str:
    return " ".join(name.split())
