"""What the live page shows, worked out from the rows: every word, sign and number, before any HTML."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

State = Literal[
    "idle", "judging", "retrying", "pending", "approve", "reject", "failed", "stopped", "wait", "none"
]


@dataclass(frozen=True)
class Entry:
    """One agent in one round: a lamp, a row of the panel, a cell of the transcript."""

    agent: str
    number: int
    round: int
    weight: str
    state: State
    word: str
    reason: str = ""
    seconds: str = ""
    since: datetime | None = None

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
class Tally:
    score: str
    yes: int
    no: int
    text: str
    formula: str


@dataclass(frozen=True)
class Seat:
    """One agent's block: number 1 to 3, place top, left or right."""

    number: int
    place: str
    name: str
    model: str
    rehearsal: bool
    criteria: str
    state: State
    word: str
    small: str
    entries: tuple[Entry, ...]
    tally: Tally

    @property
    def newest_first(self) -> list[Entry]:
        return [entry for entry in reversed(self.entries) if entry.shown]


@dataclass(frozen=True)
class Round:
    number: int
    weight: str
    current: bool
    cells: tuple[Entry, ...]


@dataclass(frozen=True)
class Board:
    id: str
    title: str
    content: str
    council: str
    asked_by: str
    created: datetime
    started: datetime | None
    ended: datetime | None
    rehearsal: bool
    state: State
    word: str
    lead: str
    rest: str
    rule_lead: str
    rule_rest: str
    announcement: str
    seats: tuple[Seat, ...]
    rounds: tuple[Round, ...]

    @property
    def over(self) -> bool:
        return self.ended is not None

    @property
    def rounds_newest_first(self) -> list[Round]:
        return list(reversed(self.rounds))
