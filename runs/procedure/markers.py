from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from django.utils.dateformat import format as date_format

from engine.models import Run, last_override

from ..formatting import action_text, came_to


@dataclass(frozen=True)
class ListSummary:
    """What a list shows of a run beside what any has: by which saved set it was made, whether it was rehearsed; more
    of a kind's own. `signs` of outcomes that are the run's own words; `notes`: a few words each about the outcome."""

    saved: str = ""
    rehearsal: bool = False
    signs: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReviewFlag:
    """Something that makes runs worth a look before others: what reviewers call it and what it means, as it stands
    behind the name. `sign` is a state or the name of a small picture."""

    flag: str
    name: str
    note: str
    sign: str

    @property
    def sentence(self) -> str:
        return f"{self.note[0].upper()}{self.note[1:]}."


NoteKind = Literal["void", "dash", ""]


@dataclass(frozen=True)
class OutcomeNote:
    """`mark`: what it stands beside holds no more (void), never did (dash), or holds. `title` begins the page's
    title."""

    mark: NoteKind
    state: str
    word: str
    rest: str
    title: str
    by_a_person: bool = False


def outcome_note(
    run: Run, word: str, rehearsal: str, state_of: Callable[[str], str], means: str = "It decides nothing."
) -> OutcomeNote | None:
    """What is to be known of the `word` on the plate of a run. `rehearsal`: who asked no model, if anybody, and what
    that `means`; `state_of`: sign and colour of an outcome."""
    if last := last_override(run.reviews.all()):
        said = f"{action_text(run)}: {came_to(last.outcome)}"
        rest = f"by {last.by}, {date_format(last.made, 'j M Y')}."
        mark: NoteKind = "void" if not run.reinstated else "dash" if rehearsal else ""
        return OutcomeNote(mark, state_of(str(last.outcome)), said, rest, said, by_a_person=True)
    if rehearsal:
        return OutcomeNote("dash", "", "Rehearsal", means, f"Rehearsal, {word.lower()}")
    return None
