"""Every table of the engine. Those of the evidence stand with what they are for, in `engine/evidence/`."""

from engine.evidence.checkpoints import Checkpoint
from engine.evidence.entries import Entry
from engine.evidence.log import Leaf, Salt

from .authors import GateAuthor, Part, RunAuthor
from .budgets import Budget, BudgetUsedUp
from .calls import ModelCall, Usage
from .claims import GOING_ON, Claimed, lease
from .documents import Document, DocumentLimits, NewDocument, TooManyDocuments
from .forks import Fork
from .gate_rules import GateRule
from .gates import AlreadyUsed, Gate, GateDecision
from .happenings import Happening, What
from .mail import Letter
from .markers import WriterMarker
from .mcp import McpLeftOut, McpTool
from .pace import LimitReached, Pace, per_minute
from .reminders import NoMail, Notice, Reminder
from .reviews import REVIEW_LENGTH, Review, last_override, last_told, overriders
from .runs import NOBODY, TITLE_LENGTH, Park, Run, account_of, after_deadlock, asked_for, record_name, submissions_of
from .tools import Effect, ToolCall
from .waits import ModelWait

__all__ = [
    "GOING_ON",
    "NOBODY",
    "REVIEW_LENGTH",
    "TITLE_LENGTH",
    "AlreadyUsed",
    "Budget",
    "BudgetUsedUp",
    "Checkpoint",
    "Claimed",
    "Document",
    "DocumentLimits",
    "Effect",
    "Entry",
    "Fork",
    "Gate",
    "GateAuthor",
    "GateDecision",
    "GateRule",
    "Happening",
    "Leaf",
    "Letter",
    "LimitReached",
    "McpLeftOut",
    "McpTool",
    "ModelCall",
    "ModelWait",
    "NewDocument",
    "NoMail",
    "Notice",
    "Pace",
    "Park",
    "Part",
    "Reminder",
    "Review",
    "Run",
    "RunAuthor",
    "Salt",
    "TooManyDocuments",
    "ToolCall",
    "Usage",
    "What",
    "WriterMarker",
    "account_of",
    "after_deadlock",
    "asked_for",
    "last_override",
    "last_told",
    "lease",
    "overriders",
    "per_minute",
    "record_name",
    "submissions_of",
]
