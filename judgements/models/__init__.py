from .councils import CRITERIA_LENGTH, NAME_LENGTH, Council, CouncilVersion, Member, Seated
from .judgements import CONTENT_LENGTH, TITLE_LENGTH, Agent, Judgement, JudgementQuerySet, RoundDecision, title_of

__all__ = [
    "CONTENT_LENGTH",
    "CRITERIA_LENGTH",
    "NAME_LENGTH",
    "TITLE_LENGTH",
    "Agent",
    "Council",
    "CouncilVersion",
    "Judgement",
    "JudgementQuerySet",
    "Member",
    "RoundDecision",
    "Seated",
    "title_of",
]
