"""The history: which judgements, in which order, and what a row shows of each.

Why so: docs/decisions.md, Finding.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models import Q

from engine.llm.providers import is_rehearsal
from engine.models import Run
from engine.search import Term, label, terms_of
from runs.rights import SEE, Reach, Right, User
from runs.words import asked_by, minutes

from . import rules
from .display import PLATE, State
from .models import Agent, Judgement, JudgementQuerySet
from .rules import Decision

PAGE = 25
MOST_COUNTED = 1_000  # what is counted; beyond, nobody reads the number
MOST_NEWER = 100
CURSORS = ("before", "after")  # where a page begins
LABELS = ("council", "rehearsal", "flag")  # what a judgement is asked for by a label of the same name
OUT_OF_ORDER = timedelta(minutes=10)  # within it, judgements may have arrived in another order than they were made in


class NoSuchPlace(ValueError):
    """A page is asked for that begins at a judgement that is not there."""


@dataclass(frozen=True)
class Page:
    judgements: list[Judgement]
    newer: bool
    older: bool

    @cached_property
    def rows(self) -> list["Row"]:
        return rows_of(self.judgements)

    @property
    def first(self) -> str:
        return str(self.judgements[0].pk) if self.judgements else ""

    @property
    def last(self) -> str:
        return str(self.judgements[-1].pk) if self.judgements else ""


class History:
    """The judgements that somebody asks for, of those that a right reaches to, newest first.

    Where words are sought, they come in the order in which they arrived, which is the order of the index: no common
    word has to be sorted. A page begins at a judgement, never at a number, so that new ones move nothing.
    """

    def __init__(self, user: User, sought: Mapping[str, Any], right: Right = SEE) -> None:
        self._user, self._sought, self._right = user, sought, right

    # ---- which --------------------------------------------------------------------------------------------

    @cached_property
    def _terms(self) -> list[list[Term]]:
        """What the index is asked for: words, and what stands in it beside them, so that the rare is found at once."""
        terms = terms_of(self._sought.get("q", ""))
        terms += [[label(name, self._sought[name])] for name in LABELS if name in self._sought]
        if "owners" in self._sought:
            terms.append([label("by", owner) for owner in self._sought["owners"]])
        if self._sought.get("outcome") in set(rules.Verdict):
            terms.append([label("verdict", self._sought["outcome"])])
        if terms and self._right.reach(self._user) < Reach.ALL:
            terms.append([label("by", self._user.pk)])
        return terms

    @property
    def _without_verdict(self) -> bool:
        """Only what waits, goes on or has stopped is asked for. That is little, and has an index of its own."""
        return bool(self._sought.get("outcome")) and self._sought["outcome"] not in set(rules.Verdict)

    @property
    def _by_arrival(self) -> bool:
        return bool(self._terms) and not self._without_verdict

    @cached_property
    def _judgements(self) -> JudgementQuerySet:
        found = Judgement.objects.within(self._right, self._user)
        if self._sought.get("q") and not terms_of(self._sought["q"]):
            return found.none()  # signs without a word stand in no index
        if not all(self._terms):
            return found.none()  # one of nobody's
        if self._terms:
            found = found.found_by(self._terms, few=not self._by_arrival)
        if self._without_verdict:
            found = found.standing(self._sought["outcome"])
        if since := self._sought.get("since"):
            found = self._from(found, _midnight(since))
        if until := self._sought.get("until"):
            found = self._to(found, datetime.combine(until, time.max, UTC))
        return found

    def _from(self, found: JudgementQuerySet, moment: datetime) -> JudgementQuerySet:
        near = Judgement.objects.filter(run__created__gte=_moved(moment, -OUT_OF_ORDER)).order_by("run__created")
        return self._within(found.filter(run__created__gte=moment), near, ">=")

    def _to(self, found: JudgementQuerySet, moment: datetime) -> JudgementQuerySet:
        near = Judgement.objects.filter(run__created__lte=_moved(moment, OUT_OF_ORDER)).order_by("-run__created")
        return self._within(found.filter(run__created__lte=moment), near, "<=")

    def _within(self, found: JudgementQuerySet, near: JudgementQuerySet, sign: str) -> JudgementQuerySet:
        """Where words are sought, the index need not look through what arrived on other days."""
        number = near.values_list("run__search__id", flat=True).first() if self._by_arrival else None
        return found if number is None else found.arrived(sign, number)

    def newest_first(self) -> JudgementQuerySet:
        """All of them."""
        return self._ordered(newest_first=True)

    def _ordered(self, *, newest_first: bool) -> JudgementQuerySet:
        if self._by_arrival:
            return self._judgements.in_order_of_arrival(newest_first=newest_first)
        sign = "-" if newest_first else ""
        return self._judgements.order_by(f"{sign}run__created", f"{sign}pk")

    def _beyond(self, place: UUID, *, older: bool) -> JudgementQuerySet:
        """What comes after this judgement, or before it, the nearest first."""
        start = Judgement.objects.within(self._right, self._user).filter(pk=place)
        values = start.values_list("run__created", "run__search__id").first()
        if values is None:
            raise NoSuchPlace
        created, number = values
        ordered, way = self._ordered(newest_first=older), "lt" if older else "gt"
        if self._by_arrival:
            return ordered.arrived("<" if older else ">", number)
        tied = Q(**{f"run__created__{way}": created}) | Q(**{"run__created": created, f"pk__{way}": place})
        return ordered.filter(tied, **{f"run__created__{way}e": created})  # the range that the index reads

    # ---- how many, and which page -------------------------------------------------------------------------

    def count(self, most: int = MOST_COUNTED) -> int:
        """How many there are; one more than `most` stands for all that are more."""
        return self._judgements.values("pk")[: most + 1].count()

    def page_asked(self, asked: Mapping[str, str], size: int = PAGE) -> tuple[Page, bool]:
        """The page that begins where it is asked to; the newest one, and True, where there is no such place."""
        try:
            before, after = (UUID(asked[name]) if asked.get(name) else None for name in CURSORS)
            return self.page(before, after, size), False
        except ValueError:
            return self.page(size=size), True

    def page(self, before: UUID | None = None, after: UUID | None = None, size: int = PAGE) -> Page:
        if after:
            nearest = _rows(self._beyond(after, older=False), size + 1)
            if len(nearest) > size:
                return Page(nearest[size - 1 :: -1], newer=True, older=True)
        place = before if not after else None
        found = self._beyond(place, older=True) if place else self._ordered(newest_first=True)
        read = _rows(found, size + 1)
        return Page(read[:size], newer=bool(place), older=len(read) > size)

    def newer_than(self, place: UUID | None) -> int:
        """How many there are before this one, or at all; one more than `MOST_NEWER` stands for all that are more."""
        found = self._beyond(place, older=False) if place else self._judgements
        return found.values("pk")[: MOST_NEWER + 1].count()

    def batches(self, size: int) -> Iterator[list[UUID]]:
        """All of them, newest first, each batch read when it is asked for."""
        pks = self.after(None, size)
        while pks:
            yield pks
            pks = self.after(pks[-1], size)

    def after(self, place: UUID | None, number: int) -> list[UUID]:
        """As many that come after this one, or the newest. NoSuchPlace where this one is not there."""
        found = self._beyond(place, older=True) if place else self._ordered(newest_first=True)
        return list(found.values_list("pk", flat=True)[:number])


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, UTC)


def _moved(moment: datetime, by: timedelta) -> datetime:
    try:
        return moment + by
    except OverflowError:
        return moment  # the first or the last day there is


def _rows(judgements: JudgementQuerySet, number: int) -> list[Judgement]:
    return list(judgements.select_related("run__owner", "council_version").defer("content")[:number])


# ---- what a row shows -------------------------------------------------------------------------------------

SAYS: dict[State, str] = {
    "approve": "approves",
    "reject": "rejects",
    "judging": "is judging",
    "pending": "waits for the next round",
    "idle": "waits",
    "failed": "failed",
    "stopped": "stopped",
}


@dataclass(frozen=True)
class Vote:
    name: str
    state: State


@dataclass(frozen=True)
class Row:
    id: str
    title: str
    state: State
    word: str
    votes: tuple[Vote, ...]
    council: str
    asked_by: str
    created: datetime
    started: datetime | None
    ended: datetime | None
    over: bool
    revision: int
    rehearsal: bool

    @property
    def short_id(self) -> str:
        return self.id[:8]

    @property
    def took(self) -> str:
        return minutes(self.started, self.ended)

    @property
    def approving(self) -> str:
        """Only a judgement with a verdict has been voted on."""
        if self.state not in ("approve", "reject"):
            return "–"
        return f"{sum(vote.state == 'approve' for vote in self.votes)} of 3"

    @property
    def votes_in_words(self) -> str:
        return ", ".join(f"{vote.name} {SAYS[vote.state]}" for vote in self.votes)


def rows_of(judgements: Sequence[Judgement]) -> list[Row]:
    """The rows of judgements read with their runs, in one more query."""
    seated = _seated([judgement.pk for judgement in judgements])
    return [_row(judgement, seated[judgement.pk]) for judgement in judgements]


def moved_on(user: User, known: Mapping[UUID, int]) -> list[Row]:
    """Those of these judgements that have moved beyond the revision that is known."""
    judgements = Judgement.objects.visible_to(user).filter(pk__in=list(known))
    return rows_of([one for one in _rows(judgements, PAGE) if one.run.revision != known[one.pk]])


@dataclass
class _Seated:
    seat: str
    name: str
    rehearsal: bool
    history: dict[int, Decision]


def _seated(pks: Sequence[UUID]) -> dict[UUID, list[_Seated]]:
    found: dict[UUID, list[_Seated]] = defaultdict(list)
    columns = ("judgement", "seat", "name", "model", "decisions__round", "decisions__decision")
    agents = Agent.objects.filter(judgement__in=pks).order_by("judgement", "seat").values_list(*columns)
    for judgement, seat, name, model, number, decision in agents:
        if not found[judgement] or found[judgement][-1].seat != seat:
            found[judgement].append(_Seated(seat, name, is_rehearsal(model), {}))
        if number:
            found[judgement][-1].history[number] = Decision(decision)
    return found


def _row(judgement: Judgement, seated: Sequence[_Seated]) -> Row:
    run = judgement.run
    state, word = PLATE[judgement.status]
    done = min((len(agent.history) for agent in seated), default=0)
    return Row(
        id=str(judgement.pk),
        title=judgement.run.shown_title,
        state=state,
        word=word,
        votes=tuple(Vote(agent.name, _vote(run, agent, done)) for agent in seated),
        council=judgement.council_version.name if judgement.council_version else "",
        asked_by=asked_by(run) or "command line",
        created=run.created,
        started=run.started,
        ended=run.ended,
        over=run.over,
        revision=run.revision,
        rehearsal=any(agent.rehearsal for agent in seated),
    )


def _vote(run: Run, agent: _Seated, done: int) -> State:
    """What an agent's place in the triangle shows; `done`: how many rounds all three have decided."""
    if len(agent.history) == len(rules.ROUNDS):
        return "approve" if rules.agent_verdict(agent.history) == rules.Verdict.APPROVED else "reject"
    if run.over:
        return "failed" if (run.error or {}).get("agent") == agent.seat else "stopped"
    if run.status == Run.Status.QUEUED:
        return "idle"
    return "pending" if len(agent.history) > done else "judging"
