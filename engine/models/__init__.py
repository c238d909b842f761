"""Every table of the engine. Those of the evidence stand with what they are for, in `engine/evidence/`."""

from engine.evidence.checkpoints import Checkpoint
from engine.evidence.entries import Entry
from engine.evidence.log import Leaf, Salt

from .budgets import Budget, BudgetUsedUp
from .calls import ModelCall, Usage
from .claims import LEASE, Claimed
from .markers import WriterMarker
from .pace import LimitReached, Pace, per_minute
from .reviews import REVIEW_LENGTH, Review, last_override, last_told, overriders
from .runs import NOBODY, TITLE_LENGTH, Run, account_of, after_deadlock, record_name

__all__ = [
    "LEASE",
    "NOBODY",
    "REVIEW_LENGTH",
    "TITLE_LENGTH",
    "Budget",
    "BudgetUsedUp",
    "Checkpoint",
    "Claimed",
    "Entry",
    "Leaf",
    "LimitReached",
    "ModelCall",
    "Pace",
    "Review",
    "Run",
    "Salt",
    "Usage",
    "WriterMarker",
    "account_of",
    "after_deadlock",
    "last_override",
    "last_told",
    "overriders",
    "per_minute",
    "record_name",
]
