"""Every table of the engine. Those of the evidence stand with what they are for, in `engine/evidence/`."""

from engine.evidence.checkpoints import Checkpoint
from engine.evidence.entries import Entry
from engine.evidence.log import Leaf, Salt

from .budgets import Budget, BudgetUsedUp
from .calls import ModelCall, Usage
from .claims import LEASE, Claimed
from .markers import WriterMarker
from .pace import LimitReached, Pace, per_minute
from .runs import NOBODY, Run, account_of, after_deadlock, record_name

__all__ = [
    "LEASE",
    "NOBODY",
    "Budget",
    "BudgetUsedUp",
    "Checkpoint",
    "Claimed",
    "Entry",
    "Leaf",
    "LimitReached",
    "ModelCall",
    "Pace",
    "Run",
    "Salt",
    "Usage",
    "WriterMarker",
    "account_of",
    "after_deadlock",
    "per_minute",
    "record_name",
]
