from .councils import (
    CRITERIA_LENGTH,
    NAME_LENGTH,
    AgentValues,
    Council,
    CouncilVersion,
    Member,
    RevisedMeanwhile,
    Seated,
)
from .judgements import CONTENT_LENGTH, TITLE_LENGTH, Agent, Judgement, JudgementQuerySet, RoundDecision, title_of
from .reviews import REVIEW_LENGTH, Review
from .search import SearchText

__all__ = [
    "CONTENT_LENGTH",
    "CRITERIA_LENGTH",
    "NAME_LENGTH",
    "REVIEW_LENGTH",
    "TITLE_LENGTH",
    "Agent",
    "AgentValues",
    "Council",
    "CouncilVersion",
    "Judgement",
    "JudgementQuerySet",
    "Member",
    "Review",
    "RevisedMeanwhile",
    "RoundDecision",
    "SearchText",
    "Seated",
    "title_of",
]
