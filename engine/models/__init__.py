"""Every table of the engine. Those of the evidence stand with what they are for, in `engine/ledger/`."""

from engine.ledger.checkpoints import Checkpoint
from engine.ledger.entries import AuditEntry
from engine.ledger.merkle_log import DigestSalt, LogLeaf

from .authors import AuthorContribution, GateAuthor, RunAuthor
from .budgets import Budget, BudgetExceeded
from .claims import ACTIVE_STATUSES, ClaimedRun, lease
from .documents import Document, DocumentLimits, NewDocument, TooManyDocuments
from .emails import Letter
from .forks import Fork
from .gate_rules import GateRule
from .gates import Gate, GateAlreadyUsed, GateDecision
from .mcp_tools import McpLeftOut, McpTool
from .model_calls import ModelCall, TokenUsage
from .rate_limits import RateBucket, RateLimitReached, per_minute
from .reminders import EmailOptOut, Notice, Reminder
from .reviews import REVIEW_LENGTH, Review, last_override, last_override_entry, override_authors
from .run_events import RunEvent, RunEventType
from .runs import (
    SYSTEM_ACTOR,
    TITLE_LENGTH,
    Run,
    Suspension,
    WriterMarker,
    account_key,
    after_deadlock,
    recent_submissions,
    record_name,
    requester_name,
)
from .tool_calls import Effect, ToolCall
from .waits import ModelWait

__all__ = [
    "ACTIVE_STATUSES",
    "REVIEW_LENGTH",
    "SYSTEM_ACTOR",
    "TITLE_LENGTH",
    "AuditEntry",
    "AuthorContribution",
    "Budget",
    "BudgetExceeded",
    "Checkpoint",
    "ClaimedRun",
    "DigestSalt",
    "Document",
    "DocumentLimits",
    "Effect",
    "EmailOptOut",
    "Fork",
    "Gate",
    "GateAlreadyUsed",
    "GateAuthor",
    "GateDecision",
    "GateRule",
    "Letter",
    "LogLeaf",
    "McpLeftOut",
    "McpTool",
    "ModelCall",
    "ModelWait",
    "NewDocument",
    "Notice",
    "RateBucket",
    "RateLimitReached",
    "Reminder",
    "Review",
    "Run",
    "RunAuthor",
    "RunEvent",
    "RunEventType",
    "Suspension",
    "TokenUsage",
    "TooManyDocuments",
    "ToolCall",
    "WriterMarker",
    "account_key",
    "after_deadlock",
    "last_override",
    "last_override_entry",
    "lease",
    "override_authors",
    "per_minute",
    "recent_submissions",
    "record_name",
    "requester_name",
]
