from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from django.utils.dateformat import format as date_format

from engine.models import Run, last_override

from ..formatting import action_text, came_to


@dataclass(frozen=True)
class ListSummary:
    """What a list shows of a run in addition to the common columns.

    `saved` is the preset it was started with. `signs` are the icons of outcomes that are the run's own words. `notes`
    are short remarks about the outcome.
    """

    saved: str = ""
    rehearsal: bool = False
    signs: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReviewFlag:
    """A flag that puts runs into the review queue, with its name and its meaning. `sign` is a state or an icon name."""

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
    """A note next to the outcome. `title` starts the page title.

    `mark` is "void" if the outcome was overridden, "dash" if it never counted, and empty otherwise.
    """

    mark: NoteKind
    state: str
    word: str
    rest: str
    title: str
    by_a_person: bool = False


def outcome_note(
    run: Run, word: str, rehearsal: str, state_of: Callable[[str], str], means: str = "It decides nothing."
) -> OutcomeNote | None:
    """Return the note on the outcome `word` of a run; None if there is nothing to note.

    `rehearsal` names the agents that used no model, `means` states the consequence, and `state_of` maps an outcome to
    its icon and colour.
    """
    if last := last_override(run.reviews.all()):
        said = f"{action_text(run)}: {came_to(last.outcome)}"
        rest = f"by {last.by}, {date_format(last.made, 'j M Y')}."
        mark: NoteKind = "void" if not run.reinstated else "dash" if rehearsal else ""
        return OutcomeNote(mark, state_of(str(last.outcome)), said, rest, said, by_a_person=True)
    if rehearsal:
        return OutcomeNote("dash", "", "Rehearsal", means, f"Rehearsal, {word.lower()}")
    return None
