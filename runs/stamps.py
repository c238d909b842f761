"""Facts about an outcome that stand beside it wherever people look: somebody overrode it, or reinstated what others had
overridden, or no model was asked."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from django.utils.dateformat import format as date_format

from engine.models import Run, last_override

from .words import came_to, deed

Mark = Literal["void", "dash", ""]


@dataclass(frozen=True)
class Stamp:
    """`mark`: what it stands beside holds no more (void), never did (dash), or holds. `title` begins the page's
    title."""

    mark: Mark
    state: str
    word: str
    rest: str
    title: str
    by_a_person: bool = False


def stamp_of(
    run: Run, word: str, rehearsal: str, state_of: Callable[[str], str], means: str = "It decides nothing."
) -> Stamp | None:
    """What is to be known of the `word` on the plate of a run. `rehearsal`: who asked no model, if anybody, and what
    that `means`; `state_of`: sign and colour of an outcome."""
    if last := last_override(run.reviews.all()):
        said = f"{deed(run)}: {came_to(last.outcome)}"
        rest = f"by {last.by}, {date_format(last.made, 'j M Y')}."
        mark: Mark = "void" if not run.reinstated else "dash" if rehearsal else ""
        return Stamp(mark, state_of(str(last.outcome)), said, rest, said, by_a_person=True)
    if rehearsal:
        return Stamp("dash", "", "Rehearsal", means, f"Rehearsal, {word.lower()}")
    return None
