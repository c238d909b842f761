"""What a debate shows of itself when it is over, or so far. Pure: from what its rules and prompts look at, no more.

Every number leads back to the messages that it counts, and none is one score of anybody.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..table import Table
from .arguments import Argument, Arguments, Dissent, Sides, Source, State, minority
from .sway import Alone, Influence, Moved, Share, Stage, alone, conformity, influence, moved, stages
from .voices import FEWEST as FEWEST_DEBATES
from .voices import Habits, Voices, by_model, from_experience, habits, left_first, stayed

__all__ = [
    "FEWEST_DEBATES",
    "Alone",
    "Analysis",
    "Argument",
    "Dissent",
    "Habits",
    "Influence",
    "Moved",
    "Share",
    "Sides",
    "Source",
    "Stage",
    "State",
    "Voices",
    "analysed",
    "by_model",
    "from_experience",
    "habits",
    "left_first",
    "stayed",
]


@dataclass(frozen=True)
class Analysis:
    alone: Alone | None
    stages: Sequence[Stage]
    changes: Sequence[Moved]
    conformity: Share
    influence: Sequence[Influence]
    arguments: Sequence[Sides]
    minority: Sequence[Dissent]


def analysed(table: Table, outcome: str = "", leaving: Mapping[int, str] | None = None) -> Analysis:
    """`outcome`: the option that was decided, empty where none was. `leaving`: what those said who left out of turn."""
    changes = moved(table)
    return Analysis(
        alone=alone(table.course),
        stages=stages(table.course),
        changes=changes,
        conformity=conformity(changes),
        influence=influence(table.course),
        arguments=list(Arguments(table).of_each_option()),
        minority=minority(table, outcome, leaving or {}),
    )
