"""Which runs are rehearsals: what came of one counts in no run that is none."""

from typing import TYPE_CHECKING

from engine.llm.providers import REHEARSAL, is_rehearsal

from .model_calls import ModelCall

if TYPE_CHECKING:
    from .runs import Run


def was_rehearsed(run: "Run") -> bool:
    """Whether any answer in it was made without a model, whatever its agents were to ask."""
    return any(map(is_rehearsal, _models(run, status=ModelCall.Status.ANSWERED)))


def is_only_rehearsal(run: "Run") -> bool:
    """Whether it asks nothing but rehearsals, nor does any run that it was made by: an agent of a real one acts on
    what comes of it."""
    rehearsed = run.lane == REHEARSAL and all(map(is_rehearsal, _models(run)))
    return rehearsed and (run.parent is None or is_only_rehearsal(run.parent))


def _models(run: "Run", **which: str) -> list[str]:
    return list(ModelCall.objects.filter(run=run, **which).order_by().values_list("model", flat=True).distinct())
