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
from .keys import KEY_LENGTH, IdempotencyKey, KeyUsed
from .receipts import AUDIENCE_LENGTH, LONGEST_LIFETIME, USUAL_LIFETIME, Receipt, ReceiptRefused
from .redaction import NOT_OVER, Redaction, due, redact, redactions_of, wipe
from .reviews import REVIEW_LENGTH, Review
from .search import Flag, SearchText

__all__ = [
    "AUDIENCE_LENGTH",
    "CONTENT_LENGTH",
    "CRITERIA_LENGTH",
    "KEY_LENGTH",
    "LONGEST_LIFETIME",
    "NAME_LENGTH",
    "NOT_OVER",
    "REVIEW_LENGTH",
    "TITLE_LENGTH",
    "USUAL_LIFETIME",
    "Agent",
    "AgentValues",
    "Council",
    "CouncilVersion",
    "Flag",
    "IdempotencyKey",
    "Judgement",
    "JudgementQuerySet",
    "KeyUsed",
    "Member",
    "Receipt",
    "ReceiptRefused",
    "Redaction",
    "Review",
    "RevisedMeanwhile",
    "RoundDecision",
    "SearchText",
    "Seated",
    "due",
    "redact",
    "redactions_of",
    "title_of",
    "wipe",
]
