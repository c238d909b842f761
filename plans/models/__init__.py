from . import writes
from .plans import OUTCOMES, Plan, PlanRevision, models_of, title_of
from .presets import Team, TeamAgentRow, TeamChange, TeamChanged, TeamVersion
from .projects import Project
from .sent import SentEvent, SentGate
from .steps import PlanMessage, PlanStep, PlanStepMove, PlanStepState

__all__ = [
    "OUTCOMES",
    "Plan",
    "PlanMessage",
    "PlanRevision",
    "PlanStep",
    "PlanStepMove",
    "PlanStepState",
    "Project",
    "SentEvent",
    "SentGate",
    "Team",
    "TeamAgentRow",
    "TeamChange",
    "TeamChanged",
    "TeamVersion",
    "models_of",
    "title_of",
    "writes",
]
