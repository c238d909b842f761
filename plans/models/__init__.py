from . import keeping
from .matters import Matter
from .plans import OUTCOMES, Plan, Revision, models_of, title_of
from .sent import Sent, Told
from .steps import Message, Move, Step, StepState
from .teams import Team, TeamAgent, TeamChange, TeamChanged, TeamVersion

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
    "keeping",
    "models_of",
    "title_of",
]
