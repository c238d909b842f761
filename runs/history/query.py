"""The history query: which runs, in which order. `rows.py` has what a row shows.

Why so: runs/DESIGN.md, Finding.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache, cached_property
from itertools import pairwise
from typing import Any
from uuid import UUID

from django.db.models import Count, Model, Q, QuerySet, Subquery

from engine.models import Gate, Run
from engine.text.search_terms import Term, label_term, query_terms

from ..models import count_arrivals, counts_by_arrival, matching_runs, order_by_arrival
from ..procedure.filters import NOBODY, OLDEST_FIRST, ONESELF, period_days
from ..procedure.spec import ProcedureSpec, specs
from ..rights import SEE, PermissionReach, RunRight, User
from .rows import RunRow, build_rows, procedure_rows
from .user_lookup import users_named

AnyFace = ProcedureSpec[Any, Any]
Rows = QuerySet[Any]
"""Runs, or rows of one procedure with their runs."""

PAGE_SIZE = 25
MAX_COUNTED = 1_000  # limit of counting; beyond it the exact number does not matter
MAX_SORTED = 1_000  # newest runs that are sorted by anything but creation time: no index covers that for every filter
MAX_NEWER = 100
CURSORS = ("before", "after")  # parameters of the run at which a page starts
CURSOR_FLAG = "flag"
UNSORTED = timedelta(minutes=10)  # within this time, runs may have arrived in another order than they were created


class InvalidCursor(ValueError):
    """The requested page starts at a run that does not exist."""


@dataclass(frozen=True)
class HistoryPage:
    found: list[Any]
    newer: bool
    older: bool

    @cached_property
    def rows(self) -> list["RunRow"]:
        return procedure_rows(self.found)

    @property
    def first(self) -> str:
        return str(self.found[0].pk) if self.found else ""

    @property
    def last(self) -> str:
        return str(self.found[-1].pk) if self.found else ""


@cache
def _table_of(face: AnyFace) -> type[Model]:
    """Cached, because building the query of `rows` takes a millisecond."""
    table: type[Model] = face.rows().model
    return table


@dataclass(frozen=True)
class ArrivalTimes:
    """Times between which arrivals are counted, oldest first."""

    moments: Sequence[datetime]

    @cached_property
    def arrivals(self) -> list[int | None]:
        """Return the search id of the first run since each time; None if there is none yet."""
        since = (Run.objects.filter(created__gte=one).order_by("created") for one in self.moments)
        firsts = [Subquery(runs.values("search__id")[:1]) for runs in since]
        return list(Run.objects.order_by("-created").values_list(*firsts).first() or [None] * len(firsts))


class RunHistory:
    """The runs that match a query and that a right covers, newest first.

    With `face`, rows of that procedure; otherwise runs of all procedures or of `kinds`. With search words, runs come in
    order of arrival, which is the order of the index, so that common words need no sorting. A page starts at a run and
    not at an offset, so that new runs do not shift it.
    """

    def __init__(
        self,
        user: User,
        sought: Mapping[str, Any],
        right: RunRight = SEE,
        face: AnyFace | None = None,
        kinds: Collection[str] = (),
        about: int | None = None,
    ) -> None:
        """`about` is the number of matches, if known; it only decides how they are read."""
        self._user, self._sought, self._right, self._about = user, sought, right, about
        self._face, self._kinds = face, [face.kind] if face else kinds or specs().keys()
        self._sort = sought.get("sort", "")
        self._run = "run__" if face else ""

    @property
    def _all(self) -> Rows:
        """Return all runs that the right covers."""
        # runs of a procedure that is no longer registered cannot be shown
        rows: Any = (
            _table_of(self._face)._default_manager.all()
            if self._face
            else Run.objects.filter(procedure__in=list(self._kinds))
        )
        return self._right.within(rows, self._user, f"{self._run}owner_id")

    def _with(self, found: Rows, **of_the_run: Any) -> Rows:
        return found.filter(**{f"{self._run}{name}": value for name, value in of_the_run.items()})

    # ---- filters ------------------------------------------------------------------------------------------

    @cached_property
    def _terms(self) -> list[list[Term]]:
        """Return the index terms: words and labels, so that a rare label limits the search."""
        terms = [self._or_a_name(words) for words in query_terms(self._sought.get("q", ""))]
        labels = (CURSOR_FLAG, *dict.fromkeys(name for face in self._faces for name in face.filters))
        terms += [[label_term(name, self._sought[name])] for name in labels if name in self._sought]
        if "owners" in self._sought:
            terms.append([label_term("by", owner) for owner in self._sought["owners"]])
        if "by" in self._sought:
            terms.append([label_term("by", self._asker(self._sought["by"]))])
        terms += self._outcomes
        # for a rare procedure little is read, however common the words are
        if terms and set(self._kinds) < specs().keys():
            terms.append([label_term("kind", kind) for kind in self._kinds])
        if terms and self._right.reach(self._user) < PermissionReach.ALL:
            asked = (label_term("id", str(run)[:8]) for run in self._right.asked(self._user))
            terms.append([label_term("by", self._user.pk), *asked])
        return terms

    @property
    def _outcomes(self) -> list[list[Term]]:
        """Return the labels for the outcome of all procedures that have it.

        API clients use `came_to`, which may be an outcome of no procedure and then matches nothing.
        """
        outcome = self._sought.get("came_to") or self._sought.get("outcome", "")
        known = [face.outcome_name for face in self._faces if outcome and face.possible_outcomes(outcome)]
        labels = [label_term(name, outcome) for name in dict.fromkeys(known)]
        return [labels] if labels or "came_to" in self._sought else []

    @property
    def _faces(self) -> list[AnyFace]:
        return [self._face] if self._face else [specs()[kind] for kind in self._kinds]

    def _or_a_name(self, words: list[Term]) -> list[Term]:
        """Add the users with that name as requesters; the index has their ids, not their current names."""
        people = users_named(words[0]) if self._right.reach(self._user) == PermissionReach.ALL else []
        return [*words, *(label_term("by", pk) for pk in people)]

    def _asker(self, by: str) -> object:
        return {ONESELF: self._user.pk, NOBODY: None}.get(by, by)

    @property
    def _statuses(self) -> Sequence[str]:
        """Return the statuses to filter by. Runs in them are few and have their own index."""
        return (self._face or ProcedureSpec).standings.get(self._sought.get("outcome", ""), ())

    @property
    def _by_arrival(self) -> bool:
        return bool(self._terms) and not self._statuses

    @cached_property
    def _found(self) -> Rows:
        found = self._all if self._with_children else self._with(self._all, parent=None)
        if self._sought.get("q") and not query_terms(self._sought["q"]):
            return found.none()  # punctuation without a word is not in the index
        if not all(self._terms):
            return found.none()  # a term that nothing can match
        if self._terms:
            found = matching_runs(found, self._terms, few=not self._by_arrival)
        if self._statuses:
            found = self._with(found, status__in=self._statuses)
        found = self._narrowed(found)
        since, until = self._days
        if since:
            found = self._from(found, _midnight(since))
        if until:
            found = self._to(found, datetime.combine(until, time.max, UTC))
        return found

    @property
    def _with_children(self) -> bool:
        """Return whether child runs are included.

        Lists show only what people started. Child runs are found by words and from their parent, and reviews and
        exports include them.
        """
        return (
            self._right != SEE or not self._sought.keys().isdisjoint(("among", "waits")) or bool(self._sought.get("q"))
        )

    def _narrowed(self, found: Rows) -> Rows:
        if "status" in self._sought:
            found = self._with(found, status=self._sought["status"])
        if "among" in self._sought:
            found = found.filter(pk__in=self._sought["among"])
        if "waits" in self._sought:
            found = found.filter(pk__in=self._waiting)
        return found

    @cached_property
    def _waiting(self) -> list[UUID]:
        """Return the runs that wait for this user. A separate query: they are few and are found by their keys."""
        gates = Gate.objects.for_user(self._user).order_by("-pk")[:MAX_COUNTED]
        return list(dict.fromkeys(gates.values_list("run", flat=True)))

    @property
    def _days(self) -> tuple[date | None, date | None]:
        if period := self._sought.get("days"):
            first, last = period_days(period, today := datetime.now(UTC).date())
            return first, last if last < today else None
        return self._sought.get("since"), self._sought.get("until")

    def _from(self, found: Rows, moment: datetime) -> Rows:
        before = Run.objects.filter(created__lt=_moved(moment, -UNSORTED)).order_by("-created")
        return self._within(self._with(found, created__gte=moment), before, ">")

    def _to(self, found: Rows, moment: datetime) -> Rows:
        after = Run.objects.filter(created__gt=_moved(moment, UNSORTED)).order_by("created")
        return self._within(self._with(found, created__lte=moment), after, "<")

    def _within(self, found: Rows, outside: QuerySet[Run], sign: str) -> Rows:
        """Limit an index search to arrivals near the period, up to the nearest run outside it.

        The limit must not be a run inside the period, because others may have arrived on its other side.
        """
        number = outside.values_list("search__id", flat=True).first() if self._by_arrival else None
        return found if number is None else count_arrivals(found, sign, number)

    def newest_first(self) -> Rows:
        """Return all matches, newest first."""
        return self._ordered(newest_first=True)

    def _ordered(self, *, newest_first: bool) -> Rows:
        if self._by_arrival:
            number = self._number if self._about is None else self._about
            return order_by_arrival(self._found, newest_first=newest_first, few=number <= MAX_COUNTED)
        sign = "-" if newest_first else ""
        return self._found.order_by(f"{sign}{self._run}created", f"{sign}pk")

    def _beyond(self, place: UUID, *, older: bool) -> Rows:
        """Return the runs after or before this one, nearest first. Raises InvalidCursor."""
        values = self._all.filter(pk=place).values_list(f"{self._run}created", f"{self._run}search__id").first()
        if values is None:
            raise InvalidCursor
        created, number = values
        ordered, way = self._ordered(newest_first=older), "lt" if older else "gt"
        if self._by_arrival:
            return count_arrivals(ordered, "<" if older else ">", number)
        when = f"{self._run}created"
        tied = Q(**{f"{when}__{way}": created}) | Q(**{when: created, f"pk__{way}": place})
        return ordered.filter(tied, **{f"{when}__{way}e": created})  # the range that the index reads

    # ---- counts and pages ---------------------------------------------------------------------------------

    def count(self, most: int = MAX_COUNTED) -> int:
        """Return the number of matches; `most` + 1 means more than `most`."""
        return self._number if most == MAX_COUNTED else self._counted(most)

    @cached_property
    def _number(self) -> int:
        return self._counted(MAX_COUNTED)

    def _counted(self, most: int) -> int:
        return self._found.values("pk")[: most + 1].count()

    def counts_between(self, times: "ArrivalTimes") -> list[int]:
        """Return the number of runs between consecutive times, in one query.

        With search terms, the index counts between arrivals; a run that arrived out of order around one of the times
        may be counted in the neighbouring interval.
        """
        if self._by_arrival:
            return counts_by_arrival(self._terms, times.arrivals)
        spans = {
            f"span_{place}": Count("pk", filter=Q(**{f"{self._run}created__gte": since, f"{self._run}created__lt": to}))
            for place, (since, to) in enumerate(pairwise(times.moments))
        }
        return list(self._with(self._found, created__gte=times.moments[0]).aggregate(**spans).values())

    def page_asked(self, asked: Mapping[str, str], size: int = PAGE_SIZE) -> tuple[HistoryPage, bool]:
        """Return the requested page; if its start does not exist, the newest page and True."""
        try:
            before, after = (UUID(asked[name]) if asked.get(name) else None for name in CURSORS)
            return self.page(before, after, size), False
        except ValueError:
            return self.page(size=size), True

    def page(self, before: UUID | None = None, after: UUID | None = None, size: int = PAGE_SIZE) -> HistoryPage:
        """Return the page after the run `before`, or the one directly in front of the run `after`."""
        if self._sort not in ("", OLDEST_FIRST):
            return self._sorted_page(before, after, size)
        down = self._sort != OLDEST_FIRST
        if after:
            nearest = self._read(self._beyond(after, older=not down), size + 1)
            if len(nearest) > size:
                return HistoryPage(nearest[size - 1 :: -1], newer=True, older=True)
        place = before if not after else None
        found = self._beyond(place, older=down) if place else self._ordered(newest_first=down)
        read = self._read(found, size + 1)
        return HistoryPage(read[:size], newer=bool(place), older=len(read) > size)

    def _sorted_page(self, before: UUID | None, after: UUID | None, size: int) -> HistoryPage:
        pks = self._sorted
        try:
            start = pks.index(before) + 1 if before else max(pks.index(after) - size, 0) if after else 0
        except ValueError:
            raise InvalidCursor from None
        wanted = pks[start : start + size]
        found = {one.pk: one for one in self._read(self._all.filter(pk__in=wanted), size)}
        page = [found[pk] for pk in wanted if pk in found]
        return HistoryPage(page, newer=start > 0, older=len(pks) > start + size)

    @property
    def _sorted(self) -> list[UUID]:
        """Return the newest matches, sorted by requester or duration; runs without a duration yet come last."""
        names = ("owner__first_name", "owner__last_name", "owner__username", "asked_by", "started", "ended")
        columns = ["pk", *(f"{self._run}{name}" for name in names)]
        newest = list(self._ordered(newest_first=True).values_list(*columns)[:MAX_SORTED])
        if self._sort.endswith("by"):
            return _in_order([(row[0], _name(*row[1:5])) for row in newest], self._sort)
        known = [(row[0], row[6] - row[5]) for row in newest if row[5] and row[6]]
        return _in_order(known, self._sort) + [row[0] for row in newest if not (row[5] and row[6])]

    def newest(self) -> str:
        """Return the id of the newest match; empty if there is none."""
        pk = self._ordered(newest_first=True).values_list("pk", flat=True).first()
        return str(pk or "")

    def newer_than(self, place: UUID | None) -> int:
        """Return the number of matches newer than `place`, or of all; MAX_NEWER + 1 means more than MAX_NEWER."""
        found = self._beyond(place, older=False) if place else self._found
        return found.values("pk")[: MAX_NEWER + 1].count()

    def of(self, pks: Sequence[UUID]) -> list[Any]:
        """Return those of these runs that the right covers, regardless of the query."""
        return self._read(self._all.filter(pk__in=pks), PAGE_SIZE)

    def _read(self, found: Rows, number: int) -> list[Any]:
        return list(build_rows(found, self._face)[:number])

    def batches(self, size: int) -> Iterator[list[UUID]]:
        """Yield all matches, newest first, in batches that are read on demand."""
        pks = self.after(None, size)
        while pks:
            yield pks
            pks = self.after(pks[-1], size)

    def after(self, place: UUID | None, number: int) -> list[UUID]:
        """Return the next runs after `place`, or the newest. Raises InvalidCursor if `place` does not exist."""
        found = self._beyond(place, older=True) if place else self._ordered(newest_first=True)
        return list(found.values_list("pk", flat=True)[:number])


def _in_order(rows: list[tuple[UUID, Any]], sort: str) -> list[UUID]:
    return [pk for pk, _ in sorted(rows, key=lambda row: row[1], reverse=sort.startswith("-"))]


def _name(first: str | None, last: str | None, username: str | None, then: str) -> str:
    """Return the sort key of a requester; the command line comes last."""
    full = f"{first or ''} {last or ''}".strip()
    return (full or username or then).casefold() or "\U0010ffff"


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, UTC)


def _moved(moment: datetime, by: timedelta) -> datetime:
    try:
        return moment + by
    except OverflowError:
        return moment  # the minimum or maximum date


def updates_since(user: User, known: Mapping[UUID, int], face: AnyFace | None = None) -> list[RunRow]:
    """Return rows of those runs whose revision differs from the known one."""
    found = RunHistory(user, {}, face=face).of(list(known))
    return procedure_rows([one for one in found if (one.run if face else one).revision != known[one.pk]])
