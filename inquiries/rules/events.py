"""What happens in an inquiry: from these alone it is known where it stands."""

from dataclasses import dataclass
from enum import StrEnum


class InquiryStage(StrEnum):
    INPUT = "input"
    PLANNER = "planner"
    CRITIC_PLANNER = "critic_planner"
    RESEARCHER = "researcher"
    CRITIC_RESEARCHER = "critic_researcher"
    EXPERT = "expert"
    CRITIC_EXPERT = "critic_expert"
    FINALIZER = "finalizer"


WORKERS = (InquiryStage.PLANNER, InquiryStage.RESEARCHER, InquiryStage.EXPERT)
CRITIC_OF = {
    InquiryStage.PLANNER: InquiryStage.CRITIC_PLANNER,
    InquiryStage.RESEARCHER: InquiryStage.CRITIC_RESEARCHER,
    InquiryStage.EXPERT: InquiryStage.CRITIC_EXPERT,
}
WORK_OF = {critic: worker for worker, critic in CRITIC_OF.items()}


class ErrorCategory(StrEnum):
    """Of errors. Those of tools are results that a model reads; only a step without any result is one of these."""

    NETWORK = "network"
    VALIDATION = "validation"
    TOOL = "tool"
    STATE = "state"
    PERMANENT = "permanent"
    FILTERED = "content_filter"


RECOVERABLE = frozenset({ErrorCategory.NETWORK, ErrorCategory.VALIDATION, ErrorCategory.TOOL, ErrorCategory.FILTERED})


@dataclass(frozen=True)
class PlanSubmitted:
    research: tuple[str, ...]
    expert: tuple[str, ...]


@dataclass(frozen=True)
class ResearchSubmitted:
    result: str


@dataclass(frozen=True)
class AnswerSubmitted:
    answer: str
    reasoning: str
    answerable: bool = True


@dataclass(frozen=True)
class WorkReviewed:
    """`by`: a person's or a council's name; empty of a model."""

    approve: bool
    feedback: str = ""
    by: str = ""


@dataclass(frozen=True)
class WorkFailed:
    """A worker or a critic came to nothing. Its category says whether it is tried again."""

    component: InquiryStage
    category: ErrorCategory
    message: str = ""

    @property
    def recoverable(self) -> bool:
        return self.category in RECOVERABLE


@dataclass(frozen=True)
class AttemptsExhausted:
    """More tries will not help."""

    why: str


@dataclass(frozen=True)
class InquiryStopped:
    """A person wants what is there. `begun`: the step has made moves, so that it is asked once for what it has."""

    by: str
    begun: bool = False


@dataclass(frozen=True)
class ReplanRequested:
    """A person wants another plan, and says why."""

    by: str
    words: str = ""


@dataclass(frozen=True)
class RetryRequested:
    """A person lets a failed one go on."""

    by: str


@dataclass(frozen=True)
class AnswerFinalized:
    answer: str
    trace: str


InquiryEvent = (
    PlanSubmitted
    | ResearchSubmitted
    | AnswerSubmitted
    | WorkReviewed
    | WorkFailed
    | AttemptsExhausted
    | InquiryStopped
    | ReplanRequested
    | RetryRequested
    | AnswerFinalized
)  # one of these is what came of an order, or what a person said
