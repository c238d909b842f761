"""The admin for reviewers: the list of runs, and each as a document."""

from .emails import EmailAdmin
from .gates import GateAdmin
from .mcp_tools import McpToolAdmin
from .runs import ProcedureRunAdmin, RunAdmin

__all__ = ["EmailAdmin", "GateAdmin", "McpToolAdmin", "ProcedureRunAdmin", "RunAdmin"]
