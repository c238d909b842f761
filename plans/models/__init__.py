from . import keeping
from .matters import Matter
from .plans import OUTCOMES, Message, Move, Plan, Revision, Step, StepState, models_of, title_of
from .sent import Sent, Told
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
