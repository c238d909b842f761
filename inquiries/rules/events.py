"""Events of an inquiry; its state follows from these alone."""

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
    """Categories of errors. An error of a tool call is a result that the model reads; `TOOL` is for a council that gave
    no result."""

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
    """`by`: name of a person or council; empty for a model."""

    approve: bool
    feedback: str = ""
    by: str = ""


@dataclass(frozen=True)
class WorkFailed:
    """A role failed. The category says whether it is retried."""

    component: InquiryStage
    category: ErrorCategory
    message: str = ""

    @property
    def recoverable(self) -> bool:
        return self.category in RECOVERABLE


@dataclass(frozen=True)
class AttemptsExhausted:
    """A limit is reached, or the same work was submitted again."""

    why: str


@dataclass(frozen=True)
class InquiryStopped:
    """A person ends the research early. `begun`: the current step has made moves, so it may submit what it has."""

    by: str
    begun: bool = False


@dataclass(frozen=True)
class ReplanRequested:
    """A person orders another plan; the planner reads `words`."""

    by: str
    words: str = ""


@dataclass(frozen=True)
class RetryRequested:
    """A person retries a failed inquiry."""

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
)
