"""Forks: a run that goes on from a step, or a message, of another one. What would be left behind is shown first.

Why so: docs/decisions.md, Forks.
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
    """Why nothing goes on from there: a sentence that says what to do."""


class NoForkPoint(ForkRefused):
    """The run has no step or message of that number."""


@dataclass(frozen=True)
class Section:
    """What of one kind would be left behind, or comes along; without lines nothing does, and `none` says so."""

    title: str
    lines: Sequence[str] = ()
    none: str = "None."


@dataclass(frozen=True)
class ForkEffects:
    """`of`: how many places there are; `place`: as in "step 3 of Ada"; `notes`: what is not exactly as it was, in
    sentences; `more`: what the procedure's own template shows besides."""

    number: int
    of: int
    place: str
    undone: Sequence[Section]
    stays: Sequence[Section] = ()
    notes: Sequence[str] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, Any]:
        """As the API says it."""
        named: dict[str, list[dict[str, Any]]] = {"undone": [], "stays": []}
        for name, sections in (("undone", self.undone), ("stays", self.stays)):
            named[name] = [{"title": one.title, "lines": list(one.lines)} for one in sections if one.lines]
        return {"number": self.number, "place": self.place, **named, "notes": list(self.notes)}


class Forks(Protocol):
    """How runs of one kind are forked. `unit`: what they are forked after, step or message; `body`: what programs send,
    with the number of that in a field of this name."""

    unit: str
    body: type[NewFork]
    template: str
    styles: tuple[str, ...]  # sheets that it needs
    along: str  # what comes along, in a sentence

    def preview(self, row: Any, number: int) -> ForkEffects:
        """ForkRefused."""

    def submit(self, row: Any, number: int, *, words: str, spend: int | None, **asked: Any) -> Any:
        """The row of the new run. `asked`: as `submissions.submit` takes it, and raises. ForkRefused."""


class ForkForm(forms.Form):
    words = PlainTextField(max_length=WORDS_LENGTH, lines=True, label="Your words")
    spend = SpendField()


def forks_of(face: ProcedureSpec[Any, Any]) -> Forks:
    if face.forks is None:
        raise ForkRefused(f"{face.noun_with_article} cannot be forked.")
    return face.forks


def refuse(run: Run) -> None:
    """ForkRefused where a run of any kind cannot be forked now."""
    if run.redacted:
        raise ForkRefused("Its texts were erased, and its files with them: nothing can go on from there.")
    if not run.is_ended and run.status != Run.Status.WAITING:
        raise ForkRefused(
            "It is running: what came after a step can be told once it rests. Pause it or stop it, then fork it."
        )
    if reason := spec_of_run(run).hidden_run_ids([run]).get(run.pk):
        raise ForkRefused(reason)


def preview(row: Any, number: int) -> ForkEffects:
    """What would be left behind. ForkRefused."""
    forks = forks_of(spec_of_run(row.run))
    refuse(row.run)
    return forks.preview(row, number)


def fork(row: Any, number: int, words: str = "", spend: Any = None, **asked: Any) -> Any:
    """Queue another run that goes on from there; its row. `words`: of whoever forks it, said first. ForkRefused,
    WrongForm, BudgetUsedUp, LimitReached."""
    forks = forks_of(spec_of_run(row.run))
    refuse(row.run)
    form = ForkForm({"words": words, "spend": "" if spend is None else spend})
    if not form.is_valid():
        raise WrongForm(first_errors(form))
    values = form.cleaned_data
    most = row.run.spend if values["spend"] is None else values["spend"]
    return forks.submit(row, number, words=values["words"].strip(), spend=most, **asked)


class WrongForm(ValueError):
    """What is wrong with what was typed, by fields."""

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        super().__init__(" ".join(said for _, said in problems))
        self.problems = problems


def forked(run: Run) -> Fork | None:
    """From where it goes on, if it was forked."""
    return getattr(run, "fork", None)


def origin_facts(run: Run) -> dict[str, Any] | None:
    """As the API says it."""
    return origin.facts if (origin := forked(run)) else None


def number_of(text: str) -> int:
    """NoForkPoint where it is none."""
    if not (number := parse_number(text)):
        raise NoForkPoint(f"“{text[:20]}” is no number of a step or message. Count from 1.")
    return number
