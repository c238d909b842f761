"""What happens in an inquiry: from these alone it is known where it stands."""

from dataclasses import dataclass
from enum import StrEnum


class Station(StrEnum):
    INPUT = "input"
    PLANNER = "planner"
    CRITIC_PLANNER = "critic_planner"
    RESEARCHER = "researcher"
    CRITIC_RESEARCHER = "critic_researcher"
    EXPERT = "expert"
    CRITIC_EXPERT = "critic_expert"
    FINALIZER = "finalizer"


WORKERS = (Station.PLANNER, Station.RESEARCHER, Station.EXPERT)
CRITIC_OF = {
    Station.PLANNER: Station.CRITIC_PLANNER,
    Station.RESEARCHER: Station.CRITIC_RESEARCHER,
    Station.EXPERT: Station.CRITIC_EXPERT,
}
WORK_OF = {critic: worker for worker, critic in CRITIC_OF.items()}


class Category(StrEnum):
    """Of errors. Those of tools are results that a model reads; only a step without any result is one of these."""

    NETWORK = "network"
    VALIDATION = "validation"
    TOOL = "tool"
    STATE = "state"
    PERMANENT = "permanent"
    FILTERED = "content_filter"


RECOVERABLE = frozenset({Category.NETWORK, Category.VALIDATION, Category.TOOL, Category.FILTERED})


@dataclass(frozen=True)
class Planned:
    research: tuple[str, ...]
    expert: tuple[str, ...]


@dataclass(frozen=True)
class Found:
    result: str


@dataclass(frozen=True)
class Answered:
    answer: str
    reasoning: str
    answerable: bool = True


@dataclass(frozen=True)
class Reviewed:
    """`by`: a person's or a council's name; empty of a model."""

    approve: bool
    feedback: str = ""
    by: str = ""


@dataclass(frozen=True)
class Failed:
    """A worker or a critic came to nothing. Its category says whether it is tried again."""

    component: Station
    category: Category
    message: str = ""

    @property
    def recoverable(self) -> bool:
        return self.category in RECOVERABLE


@dataclass(frozen=True)
class Exhausted:
    """More tries will not help."""

    why: str


@dataclass(frozen=True)
class Stopped:
    """A person wants what is there. `begun`: the step has made moves, so that it is asked once for what it has."""

    by: str
    begun: bool = False


@dataclass(frozen=True)
class Replanned:
    """A person wants another plan, and says why."""

    by: str
    words: str = ""


@dataclass(frozen=True)
class Retried:
    """A person lets a failed one go on."""

    by: str


@dataclass(frozen=True)
class Finalized:
    answer: str
    trace: str


Fact = (
    Planned | Found | Answered | Reviewed | Failed | Exhausted | Stopped | Replanned | Retried | Finalized
)  # one of these is what came of an order, or what a person said
