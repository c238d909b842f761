"""The reviewers' desk in the admin: the list of runs, and each as a document. It knows procedures by their faces."""

from .gates import GateAdmin
from .mail import LetterAdmin
from .runs import KindAdmin, RunAdmin
from .tools import McpToolAdmin

__all__ = ["GateAdmin", "KindAdmin", "LetterAdmin", "McpToolAdmin", "RunAdmin"]
