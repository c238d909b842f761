"""The parts of the display: an agent's block, its decisions, a round; and the words on plates and lamps."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from . import rules

State = Literal["idle", "judging", "retrying", "pending", "approve", "reject", "failed", "stopped", "wait", "none"]

PLATE: dict[str, tuple[State, str]] = {
    "idle": ("idle", "Idle"),
    "judging": ("judging", "Judging"),
    "approved": ("approve", "Approved"),
    "rejected": ("reject", "Rejected"),
    "error": ("failed", "Error"),
    "cancelled": ("stopped", "Cancelled"),
}
WORDS: dict[State, str] = {
    "approve": "Approve",
    "reject": "Reject",
    "judging": "Judging",
    "failed": "Failed",
    "stopped": "Cut off",
    "wait": "Not started",
    "none": "Not run",
}


@dataclass(frozen=True)
class Cell:
    """One agent in one round: a lamp, a row of the panel, a cell of the transcript."""

    agent: str
    number: int
    round: int
    weight: str
    state: State
    word: str
    reason: str = ""
    seconds: str = ""
    fallback: str = ""  # the model that stood in for the agent's own
    details: str = ""
    mark: str = ""  # what is remarkable about this decision
    repeats: str = ""  # that its reason is another's, word for word; stands in the mark, too
    since: datetime | None = None
    until: datetime | None = None

    @property
    def running(self) -> bool:
        return self.state == "judging"

    @property
    def decided(self) -> bool:
        return self.state in ("approve", "reject")

    @property
    def shown(self) -> bool:
        return self.state not in ("wait", "none")


@dataclass(frozen=True)
class Chip:
    """A note on one line, its sentence on demand. `anchor`: where in the record more of it stands."""

    word: str
    sentence: str
    sign: str = ""
    anchor: str = ""
    dashed: bool = False


@dataclass(frozen=True)
class Tally:
    score: str
    yes: int
    no: int
    text: str
    formula: str
    certain: bool

    @property
    def no_from(self) -> int:
        """Where the part against begins, of a hundred: it grows from the right."""
        return 100 - self.no


@dataclass(frozen=True)
class Seat:
    """One agent's block: number 1 to 3, place top, left or right."""

    number: int
    place: str
    name: str
    model: str
    fallback: str
    rehearsal: bool
    criteria: str
    state: State
    word: str
    small: str
    cells: tuple[Cell, ...]
    tally: Tally
    marks: tuple[str, ...]
    until: datetime | None = None

    @property
    def called(self) -> str:
        """As models are told of it, and speak of it in their reasons."""
        return f"Agent {rules.SEATS[self.number - 1]}"

    @property
    def newest_first(self) -> list[Cell]:
        return [cell for cell in reversed(self.cells) if cell.shown]


@dataclass(frozen=True)
class Round:
    number: int
    weight: str
    current: bool
    cells: tuple[Cell, ...]
