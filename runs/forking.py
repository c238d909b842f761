"""Forks: a run that continues from a step or message of another one, with a preview of what is left behind.

Why so: runs/DESIGN.md, Forks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from django import forms

from engine.models import Fork, Run

from .forms import PlainTextField, SpendField, first_errors, parse_number
from .procedure.schemas import NewFork
from .procedure.spec import ProcedureSpec, spec_of_run

WORDS_LENGTH = 8_000


class ForkRefused(Exception):
    """The run cannot be forked; the message says why and what to do."""


class NoForkPoint(ForkRefused):
    """The run has no step or message with that number."""


@dataclass(frozen=True)
class Section:
    """What a fork leaves behind or takes along, of one type; without lines, `none` is shown."""

    title: str
    lines: Sequence[str] = ()
    none: str = "None."


@dataclass(frozen=True)
class ForkEffects:
    """The preview of a fork.

    `of` is the number of possible places; `place` is as in "step 3 of Ada". `notes` are sentences about what is not
    exactly as it was. `more` is context for the procedure's own template.
    """

    number: int
    of: int
    place: str
    undone: Sequence[Section]
    stays: Sequence[Section] = ()
    notes: Sequence[str] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, Any]:
        """Return the preview for the API."""
        named: dict[str, list[dict[str, Any]]] = {"undone": [], "stays": []}
        for name, sections in (("undone", self.undone), ("stays", self.stays)):
            named[name] = [{"title": one.title, "lines": list(one.lines)} for one in sections if one.lines]
        return {"number": self.number, "place": self.place, **named, "notes": list(self.notes)}


class Forks(Protocol):
    """How runs of a procedure are forked.

    `unit` is what they are forked after: step or message. `body` is the request schema, which has the number in a field
    of that name.
    """

    unit: str
    body: type[NewFork]
    template: str
    styles: tuple[str, ...]  # stylesheets of the template
    along: str  # a sentence about what is taken along

    def preview(self, row: Any, number: int) -> ForkEffects:
        """Return what a fork would leave behind. Raises ForkRefused."""

    def submit(self, row: Any, number: int, *, words: str, spend: int | None, **asked: Any) -> Any:
        """Queue the new run and return its row. `asked` is passed to `submissions.submit_run`.

        Raises ForkRefused and the exceptions of `submit_run`.
        """


class ForkForm(forms.Form):
    words = PlainTextField(max_length=WORDS_LENGTH, lines=True, label="Your words")
    spend = SpendField()


def forks_of(face: ProcedureSpec[Any, Any]) -> Forks:
    if face.forks is None:
        raise ForkRefused(f"{face.noun_with_article} cannot be forked.")
    return face.forks


def refuse(run: Run) -> None:
    """Raise ForkRefused if a run of any procedure cannot be forked now."""
    if run.redacted:
        raise ForkRefused("Its texts were erased, and its files with them: nothing can go on from there.")
    if not run.is_ended and run.status != Run.Status.WAITING:
        raise ForkRefused(
            "It is running: what came after a step can be told once it rests. Pause it or stop it, then fork it."
        )
    if reason := spec_of_run(run).hidden_run_ids([run]).get(run.pk):
        raise ForkRefused(reason)


def preview(row: Any, number: int) -> ForkEffects:
    """Return what a fork would leave behind. Raises ForkRefused."""
    forks = forks_of(spec_of_run(row.run))
    refuse(row.run)
    return forks.preview(row, number)


def fork(row: Any, number: int, words: str = "", spend: Any = None, **asked: Any) -> Any:
    """Queue a run that continues from there, and return its row. `words` is the first message of the new run.

    Raises ForkRefused, WrongForm, BudgetExceeded or RateLimitReached.
    """
    forks = forks_of(spec_of_run(row.run))
    refuse(row.run)
    form = ForkForm({"words": words, "spend": "" if spend is None else spend})
    if not form.is_valid():
        raise WrongForm(first_errors(form))
    values = form.cleaned_data
    most = row.run.spend if values["spend"] is None else values["spend"]
    return forks.submit(row, number, words=values["words"].strip(), spend=most, **asked)


class WrongForm(ValueError):
    """Invalid input, with the errors by field."""

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        super().__init__(" ".join(said for _, said in problems))
        self.problems = problems


def forked(run: Run) -> Fork | None:
    """Return the origin of a run that was forked, or None."""
    return getattr(run, "fork", None)


def origin_facts(run: Run) -> dict[str, Any] | None:
    """Return the origin for the API."""
    return origin.facts if (origin := forked(run)) else None


def number_of(text: str) -> int:
    """Parse the number of a step or message. Raises NoForkPoint."""
    if not (number := parse_number(text)):
        raise NoForkPoint(f"“{text[:20]}” is no number of a step or message. Count from 1.")
    return number
