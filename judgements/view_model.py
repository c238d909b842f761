"""View objects of the live page: an agent's block, its decisions and a round; and the words of statuses."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from . import rules

AgentState = Literal["idle", "judging", "retrying", "pending", "approve", "reject", "failed", "stopped", "wait", "none"]

STATUS_TEXT: dict[str, tuple[AgentState, str]] = {
    "idle": ("idle", "Idle"),
    "judging": ("judging", "Judging"),
    "approved": ("approve", "Approved"),
    "rejected": ("reject", "Rejected"),
    "error": ("failed", "Error"),
    "cancelled": ("stopped", "Cancelled"),
}
STATE_TEXT: dict[AgentState, str] = {
    "approve": "Approve",
    "reject": "Reject",
    "judging": "Judging",
    "failed": "Failed",
    "stopped": "Cut off",
    "wait": "Not started",
    "none": "Not run",
}


@dataclass(frozen=True)
class RoundCell:
    """One agent in one round: a lamp, a row of the panel, a cell of the transcript."""

    agent: str
    number: int
    round: int
    weight: str
    state: AgentState
    word: str
    reason: str = ""
    seconds: str = ""
    fallback: str = ""  # the model that stood in for the agent's own
    details: str = ""
    mark: str = ""  # a remark about this decision
    repeats: str = ""  # that its reason repeats another word for word; also part of `mark`
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
class TitleBadge:
    """A one-word note; its sentence is shown on demand. `anchor`: the part of the record with details."""

    word: str
    sentence: str
    sign: str = ""
    anchor: str = ""
    dashed: bool = False


@dataclass(frozen=True)
class VoteTally:
    score: str
    yes: int
    no: int
    text: str
    formula: str
    certain: bool

    @property
    def no_from(self) -> int:
        """Where the bar of rejections begins, in percent from the left: it grows from the right."""
        return 100 - self.no


@dataclass(frozen=True)
class AgentView:
    """One agent's block. `number`: 1 to 3; `place`: top, left or right."""

    number: int
    place: str
    name: str
    model: str
    fallback: str
    rehearsal: bool
    criteria: str
    state: AgentState
    word: str
    small: str
    cells: tuple[RoundCell, ...]
    tally: VoteTally
    marks: tuple[str, ...]
    until: datetime | None = None

    @property
    def called(self) -> str:
        """Name of this agent in prompts and reasons, such as "Agent A"."""
        return f"Agent {rules.SEATS[self.number - 1]}"

    @property
    def newest_first(self) -> list[RoundCell]:
        return [cell for cell in reversed(self.cells) if cell.shown]


@dataclass(frozen=True)
class RoundView:
    number: int
    weight: str
    current: bool
    cells: tuple[RoundCell, ...]
