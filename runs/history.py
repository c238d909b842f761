"""The history: which runs, in which order, and what a row shows of each.

Why so: docs/decisions.md, Finding.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models import Case, Q, QuerySet, When

from engine.models import Run, overridden_by
from engine.search import Term, label, terms_of

from .face import Face, Glance, face_of, faces
from .models import arrived, found_by, in_order_of_arrival
from .rights import SEE, Reach, Right, User
from .words import asked_by, minutes

AnyFace = Face[Any, Any]
Rows = QuerySet[Any]
"""Runs, or rows of one procedure, each with its run."""

PAGE = 25
MOST_COUNTED = 1_000  # what is counted; beyond, nobody reads the number
MOST_NEWER = 100
CURSORS = ("before", "after")  # where a page begins
FLAG = "flag"
OUT_OF_ORDER = timedelta(minutes=10)  # within it, runs may have arrived in another order than they were made in


class NoSuchPlace(ValueError):
    """A page is asked for that begins at a run that is not there."""


@dataclass(frozen=True)
class Page:
    found: list[Any]
    newer: bool
    older: bool

    @cached_property
    def rows(self) -> list["Row"]:
        return rows_of(self.found)

    @property
    def first(self) -> str:
        return str(self.found[0].pk) if self.found else ""

    @property
    def last(self) -> str:
        return str(self.found[-1].pk) if self.found else ""


class History:
    """The runs that somebody asks for, of those that a right reaches to, newest first; those of one procedure where its
    `face` is named, as its rows.

    Where words are sought, they come in the order in which they arrived, which is the order of the index: no common
    word has to be sorted. A page begins at a run, never at a number, so that new ones move nothing.
    """

    def __init__(self, user: User, sought: Mapping[str, Any], right: Right = SEE, face: AnyFace | None = None) -> None:
        self._user, self._sought, self._right = user, sought, right
        self._face = face
        self._run = "run__" if face else ""

    @property
    def _all(self) -> Rows:
        """All that the right reaches to."""
        # runs of a procedure that is registered no more can be shown by nobody
        rows: Any = (
            self._face.rows().model._default_manager.all() if self._face else Run.objects.filter(procedure__in=faces())
        )
        return self._right.within(rows, self._user, f"{self._run}owner_id")

    def _with(self, found: Rows, **of_the_run: Any) -> Rows:
        return found.filter(**{f"{self._run}{name}": value for name, value in of_the_run.items()})

    # ---- which --------------------------------------------------------------------------------------------

    @cached_property
    def _terms(self) -> list[list[Term]]:
        """What the index is asked for: words, and what stands in it beside them, so that the rare is found at once."""
        terms = terms_of(self._sought.get("q", ""))
        labels = (FLAG, *(self._face.filters if self._face else ()))
        terms += [[label(name, self._sought[name])] for name in labels if name in self._sought]
        if "owners" in self._sought:
            terms.append([label("by", owner) for owner in self._sought["owners"]])
        if self._face and self._sought.get("outcome") in self._face.outcomes:
            terms.append([label(self._face.outcome_name, self._sought["outcome"])])
        if terms and self._right.reach(self._user) < Reach.ALL:
            terms.append([label("by", self._user.pk)])
        return terms

    @property
    def _statuses(self) -> Sequence[str]:
        """Where only what waits, goes on or has stopped is asked for. That is little, and has an index of its own."""
        return (self._face or Face).standings.get(self._sought.get("outcome", ""), ())

    @property
    def _by_arrival(self) -> bool:
        return bool(self._terms) and not self._statuses

    @cached_property
    def _found(self) -> Rows:
        found = self._all
        if self._sought.get("q") and not terms_of(self._sought["q"]):
            return found.none()  # signs without a word stand in no index
        if not all(self._terms):
            return found.none()  # one of nobody's
        if self._terms:
            found = found_by(found, self._terms, few=not self._by_arrival)
        if self._statuses:
            found = self._with(found, status__in=self._statuses)
        if since := self._sought.get("since"):
            found = self._from(found, _midnight(since))
        if until := self._sought.get("until"):
            found = self._to(found, datetime.combine(until, time.max, UTC))
        return found

    def _from(self, found: Rows, moment: datetime) -> Rows:
        near = Run.objects.filter(created__gte=_moved(moment, -OUT_OF_ORDER)).order_by("created")
        return self._within(self._with(found, created__gte=moment), near, ">=")

    def _to(self, found: Rows, moment: datetime) -> Rows:
        near = Run.objects.filter(created__lte=_moved(moment, OUT_OF_ORDER)).order_by("-created")
        return self._within(self._with(found, created__lte=moment), near, "<=")

    def _within(self, found: Rows, near: QuerySet[Run], sign: str) -> Rows:
        """Where words are sought, the index need not look through what arrived on other days."""
        number = near.values_list("search__id", flat=True).first() if self._by_arrival else None
        return found if number is None else arrived(found, sign, number)

    def newest_first(self) -> Rows:
        """All of them."""
        return self._ordered(newest_first=True)

    def _ordered(self, *, newest_first: bool) -> Rows:
        if self._by_arrival:
            return in_order_of_arrival(self._found, newest_first=newest_first)
        sign = "-" if newest_first else ""
        return self._found.order_by(f"{sign}{self._run}created", f"{sign}pk")

    def _beyond(self, place: UUID, *, older: bool) -> Rows:
        """What comes after this run, or before it, the nearest first."""
        values = self._all.filter(pk=place).values_list(f"{self._run}created", f"{self._run}search__id").first()
        if values is None:
            raise NoSuchPlace
        created, number = values
        ordered, way = self._ordered(newest_first=older), "lt" if older else "gt"
        if self._by_arrival:
            return arrived(ordered, "<" if older else ">", number)
        when = f"{self._run}created"
        tied = Q(**{f"{when}__{way}": created}) | Q(**{when: created, f"pk__{way}": place})
        return ordered.filter(tied, **{f"{when}__{way}e": created})  # the range that the index reads

    # ---- how many, and which page -------------------------------------------------------------------------

    def count(self, most: int = MOST_COUNTED) -> int:
        """How many there are; one more than `most` stands for all that are more."""
        return self._found.values("pk")[: most + 1].count()

    def page_asked(self, asked: Mapping[str, str], size: int = PAGE) -> tuple[Page, bool]:
        """The page that begins where it is asked to; the newest one, and True, where there is no such place."""
        try:
            before, after = (UUID(asked[name]) if asked.get(name) else None for name in CURSORS)
            return self.page(before, after, size), False
        except ValueError:
            return self.page(size=size), True

    def page(self, before: UUID | None = None, after: UUID | None = None, size: int = PAGE) -> Page:
        if after:
            nearest = self._read(self._beyond(after, older=False), size + 1)
            if len(nearest) > size:
                return Page(nearest[size - 1 :: -1], newer=True, older=True)
        place = before if not after else None
        found = self._beyond(place, older=True) if place else self._ordered(newest_first=True)
        read = self._read(found, size + 1)
        return Page(read[:size], newer=bool(place), older=len(read) > size)

    def newer_than(self, place: UUID | None) -> int:
        """How many there are before this one, or at all; one more than `MOST_NEWER` stands for all that are more."""
        found = self._beyond(place, older=False) if place else self._found
        return found.values("pk")[: MOST_NEWER + 1].count()

    def of(self, pks: Sequence[UUID]) -> list[Any]:
        """Those of these that the right reaches to, whatever is sought."""
        return self._read(self._all.filter(pk__in=pks), PAGE)

    def _read(self, found: Rows, number: int) -> list[Any]:
        listed = self._face.listed(found) if self._face else found.select_related("owner")
        overridden = When(**{f"{self._run}override__isnull": False}, then=overridden_by("pk"))
        return list(listed.annotate(overridden_by=Case(overridden))[:number])

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


# ---- what a row shows -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    id: str
    face: AnyFace
    title: str
    state: str
    word: str
    glance: Glance
    asked_by: str
    created: datetime
    started: datetime | None
    ended: datetime | None
    over: bool
    revision: int
    override: str | None  # what a person decided instead, last, and who
    overridden_by: str

    @property
    def short_id(self) -> str:
        return self.id[:8]

    @property
    def address(self) -> str:
        return self.face.address("live", UUID(self.id))

    @property
    def took(self) -> str:
        return minutes(self.started, self.ended)


def rows_of(found: Sequence[Any]) -> list[Row]:
    """The rows of runs, or of rows of one procedure, in as many queries as their faces need for their glances."""
    runs = [one if isinstance(one, Run) else one.run for one in found]
    of_kind = defaultdict(list)
    for run, one in zip(runs, found, strict=True):
        of_kind[run.procedure].append(one)
    glances = {pk: glance for rows in of_kind.values() for pk, glance in _glances(rows).items()}
    return [_row(run, glances[run.pk], one.overridden_by) for run, one in zip(runs, found, strict=True)]


def _glances(found: Sequence[Any]) -> Mapping[UUID, Glance]:
    """What stands in the columns of one procedure alone; where kinds are mixed, there are none."""
    first = found[0]
    return dict.fromkeys(run.pk for run in found) if isinstance(first, Run) else face_of(first.run).glances(found)


def moved_on(user: User, known: Mapping[UUID, int], face: AnyFace | None = None) -> list[Row]:
    """Those of these runs that have moved beyond the revision that is known."""
    found = History(user, {}, face=face).of(list(known))
    return rows_of([one for one in found if (one.run if face else one).revision != known[one.pk]])


def _row(run: Run, glance: Glance, by: str | None) -> Row:
    face = face_of(run)
    state, word = face.shown(run)
    return Row(
        id=str(run.pk),
        face=face,
        title=run.shown_title,
        state=state,
        word=word,
        glance=glance,
        asked_by=asked_by(run) or "command line",
        created=run.created,
        started=run.started,
        ended=run.ended,
        over=run.over,
        revision=run.revision,
        override=run.override,
        overridden_by=by or "",
    )
