"""Analysis of a debate that is over or still running. Pure: it uses the state and the prompt context only.

Every number leads back to the messages that it counts, and none is a score of a member.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..prompt_context import PromptContext
from .arguments import (
    Argument,
    ArgumentMap,
    ArgumentSource,
    ArgumentState,
    DissentingOpinion,
    OptionArguments,
    dissenting_opinions,
)
from .diversity import MIN_DEBATES as FEWEST_DEBATES
from .diversity import (
    AgreementHabits,
    IndependentVoices,
    first_to_withdraw,
    habits,
    positions_kept,
    voices_by_model,
    voices_from_history,
)
from .influence import (
    ConformityShare,
    FirstPositions,
    MemberInfluence,
    PositionChange,
    PositionStage,
    conformity,
    first_positions,
    influence,
    position_changes,
    stages,
)

__all__ = [
    "FEWEST_DEBATES",
    "AgreementHabits",
    "Argument",
    "ArgumentSource",
    "ArgumentState",
    "ConformityShare",
    "DebateAnalysis",
    "DissentingOpinion",
    "FirstPositions",
    "IndependentVoices",
    "MemberInfluence",
    "OptionArguments",
    "PositionChange",
    "PositionStage",
    "analyse",
    "first_to_withdraw",
    "habits",
    "positions_kept",
    "voices_by_model",
    "voices_from_history",
]


@dataclass(frozen=True)
class DebateAnalysis:
    alone: FirstPositions | None
    stages: Sequence[PositionStage]
    changes: Sequence[PositionChange]
    conformity: ConformityShare
    influence: Sequence[MemberInfluence]
    arguments: Sequence[OptionArguments]
    minority: Sequence[DissentingOpinion]


def analyse(table: PromptContext, outcome: str = "", leaving: Mapping[int, str] | None = None) -> DebateAnalysis:
    """Analyse a debate. `outcome`: the option that was decided, empty if none was. `leaving`: the reasons of
    members that withdrew out of turn, by seat."""
    changes = position_changes(table)
    return DebateAnalysis(
        alone=first_positions(table.course),
        stages=stages(table.course),
        changes=changes,
        conformity=conformity(changes),
        influence=influence(table.course),
        arguments=list(ArgumentMap(table).of_each_option()),
        minority=dissenting_opinions(table, outcome, leaving or {}),
    )
