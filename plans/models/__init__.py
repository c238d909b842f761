from . import writes
from .plans import OUTCOMES, Plan, Revision, models_of, title_of
from .presets import Team, TeamAgent, TeamChange, TeamChanged, TeamVersion
from .projects import Matter
from .sent import Sent, Told
from .steps import Message, Move, Step, StepState

__all__ = [
    "OUTCOMES",
    "Matter",
    "Message",
    "Move",
    "Plan",
    "Revision",
    "Sent",
    "Step",
    "StepState",
    "Team",
    "TeamAgent",
    "TeamChange",
    "TeamChanged",
    "TeamVersion",
    "Told",
    "models_of",
    "title_of",
    "writes",
]
