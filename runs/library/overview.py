"""The library: what is kept to be used again, how often it was used, and what came of that.

Why so: docs/decisions.md, Finding.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.db import connection
from django.urls import reverse
from django.utils import timezone
from django.utils.dateformat import format as date_format

from engine.models import Run
from engine.text.search_terms import index_words

from ..formatting import format_day
from ..models import newest_uses
from ..procedure.library_section import LibraryItem, LibrarySection
from ..procedure.spec import ProcedureSpec, specs
from ..rights import SEE, PermissionReach, User

AnyFace = ProcedureSpec[Any, Any]

NEWEST = 200  # runs of each thing that are looked at
MOST = 100  # things of a shelf that are shown
RATED_RUNS = timedelta(days=90)
MIN_RUNS_FOR_RATE = 10  # runs that make a rate
WIDTH = 140  # of a bar, in pixels


@dataclass(frozen=True)
class LibraryQuery:
    q: str = ""
    mine: bool = False

    def __bool__(self) -> bool:
        return bool(self.q.strip()) or self.mine

    @cached_property
    def _beginnings(self) -> list[str]:
        return index_words(self.q)

    def finds(self, item: LibraryItem) -> bool:
        """Each word that is sought begins one of its own."""
        if self.mine and not item.is_mine:
            return False
        if not self.q.strip():
            return True
        words = index_words("\n".join([item.name, *item.texts])) if self._beginnings else []
        return bool(words) and all(any(word.startswith(one) for word in words) for one in self._beginnings)


# ---- what came of it --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OutcomeShare:
    """Of a bar: where it begins and how long it is."""

    state: str
    x: float
    width: float


@dataclass(frozen=True)
class OutcomeSummary:
    """What came of the runs of the last days that are over, without rehearsals: how many ended well, how many
    otherwise, and in how many a person decided instead; `last` is when one was asked that is no rehearsal. How many
    failed this month counts rehearsals, too, as the history does that it leads to."""

    last: datetime | None = None
    over: int = 0
    well: int = 0
    otherwise: int = 0
    overridden: int = 0
    failed: int = 0

    @property
    def is_rate(self) -> bool:
        return self.over >= MIN_RUNS_FOR_RATE

    @property
    def bar(self) -> list[OutcomeShare]:
        """What ended well from the left, what did not from the right; in between what has no outcome."""
        well, otherwise = (round(WIDTH * number / self.over, 1) for number in (self.well, self.otherwise))
        return [OutcomeShare("approve", 0, well), OutcomeShare("reject", round(WIDTH - otherwise, 1), otherwise)]


@dataclass(frozen=True)
class LibraryRow:
    item: LibraryItem
    face: AnyFace
    shelf: LibrarySection
    number: int = 0
    last: datetime | None = None
    came: OutcomeSummary = OutcomeSummary()

    @property
    def times(self) -> str:
        return f"{NEWEST:,}+" if self.number > NEWEST else f"{self.number:,}"

    @property
    def when(self) -> str:
        return format_day(self.last, timezone.now()) if self.last else ""

    @property
    def is_rate(self) -> bool:
        """Whether there are enough, of a kind whose outcomes are known before."""
        return self.came.is_rate and bool(self.face.outcomes)

    @property
    def outcome(self) -> str:
        """What came of it, in words; empty where it was never used."""
        came = self.came
        if not came.over:
            return self._without_outcome
        if not self.is_rate:
            return f"{came.over} run{'' if came.over == 1 else 's'}"
        said = f"{round(100 * came.well / came.over)} % {' or '.join(_words(self.face, 'approve'))}"
        return f"{said}, {came.overridden} overridden" if came.overridden else said

    @property
    def _without_outcome(self) -> str:
        if self.came.last is None:
            return f"only rehearsed{' lately' if self.number > NEWEST else ''}" if self.last else ""
        return "no outcome yet" if self.came.last >= timezone.now() - RATED_RUNS else "nothing in 90 days"

    @property
    def warning(self) -> str:
        number = self.came.failed
        if not number:
            return ""
        where = f"among the newest {NEWEST:,}" if self.number > NEWEST else f"in {date_format(timezone.now(), 'F')}"
        return f"{number:,} error{'' if number == 1 else 's'} {where}"

    @property
    def failures(self) -> str:
        """The history with what the warning counts."""
        error = next(word for word, statuses in self.face.standings.items() if Run.Status.FAILED in statuses)
        asked = {self.shelf.label: self.item.key, "outcome": error, "since": _month().date()}
        return f"{reverse(self.face.page_name('history'))}?{urlencode(asked)}"


def _month() -> datetime:
    return timezone.now().replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def _words(face: AnyFace, state: str) -> list[str]:
    return [shown.lower() for outcome, (sign, shown) in _outcomes(face) if sign == state]


def _outcomes(face: AnyFace) -> Iterator[tuple[str, tuple[str, str]]]:
    """Each that there is, with its sign and its word."""
    for outcome in face.outcomes:
        yield outcome, face.filter_labels(Run(procedure=face.kind, status=Run.Status.FINISHED, outcome=outcome))


# ---- the shelves ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LibraryGroup:
    """A shelf with what is found on it. `found`: how many that are not archived, where not all are shown, too; `kept`:
    how many there are, whatever is sought."""

    face: AnyFace
    shelf: LibrarySection
    rows: Sequence[LibraryRow]
    archived: Sequence[LibraryRow]
    found: int
    kept: int
    may_make: bool


def library_groups(user: Any, asked: LibraryQuery, only: str = "") -> list[LibraryGroup]:
    """All shelves with what each has that is asked for, or the `only` one of that name."""
    return [_group(user, face, shelf, asked) for face, shelf in library_sections() if only in ("", shelf.name)]


def library_sections() -> list[tuple[AnyFace, LibrarySection]]:
    return [(face, shelf) for face in specs().values() for shelf in face.shelves]


def _group(user: Any, face: AnyFace, shelf: LibrarySection, asked: LibraryQuery) -> LibraryGroup:
    items = shelf.items(user)
    found = [item for item in items if asked.finds(item)]
    offered, archived = ([item for item in found if item.archived == gone] for gone in (False, True))
    rows = _rows(user, face, shelf, [*offered[:MOST], *archived[:MOST]])
    return LibraryGroup(
        face,
        shelf,
        rows=[row for row in rows if not row.item.archived],
        archived=[row for row in rows if row.item.archived],
        found=len(offered),
        kept=sum(not item.archived for item in items),
        may_make=user.has_perm(shelf.permission),
    )


def _rows(user: User, face: AnyFace, shelf: LibrarySection, items: Sequence[LibraryItem]) -> list[LibraryRow]:
    rows = {item.key: LibraryRow(item, face, shelf) for item in items}
    for key, number, last, *came in _counted(user, face, shelf, list(rows)):
        rows[key] = replace(
            rows[key], number=number, last=_moment(last), came=OutcomeSummary(_moment(came[0]), *came[1:])
        )
    return list(rows.values())


def _counted(user: User, face: AnyFace, shelf: LibrarySection, keys: Sequence[int]) -> list[tuple[Any, ...]]:
    """The figures of each of these over its newest runs, in one query that is written here: Django would compose it of
    a query for each, which takes longer than to answer it."""
    if not keys:
        return []
    owner = None if SEE.reach(user) == PermissionReach.ALL else user.pk
    newest, params = newest_uses(shelf.label, keys, NEWEST + 1, owner)
    figures = _figures(face)
    columns = ", ".join(f"{what} FILTER (WHERE {where})" for what, where, _ in figures)
    of_figures = [param for _, _, some in figures for param in some]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT key, count(*), max(created), {columns} FROM ({newest}) AS newest "  # noqa: S608 - fixed names
            "JOIN engine_run ON engine_run.id = newest.run_id GROUP BY key",
            [*of_figures, *params],
        )
        return list(cursor.fetchall())


def _figures(face: AnyFace) -> list[tuple[str, str, list[Any]]]:
    """What stands in `OutcomeSummary`, in its order: an aggregate, of which runs, and its parameters."""
    of_sign = defaultdict(list)
    for outcome, (sign, _) in _outcomes(face):
        of_sign[sign].append(outcome)
    lately = "NOT rehearsal AND created >= %s AND status"
    since = connection.ops.adapt_datetimefield_value(timezone.now() - RATED_RUNS)
    month = connection.ops.adapt_datetimefield_value(_month())
    ended = f"{lately} = 'finished' AND"
    well, otherwise = (_one_of(of_sign[sign]) for sign in ("approve", "reject"))
    return [
        ("max(created)", "NOT rehearsal", []),
        ("count(*)", f"{lately} IN ('finished', 'failed', 'cancelled')", [since]),
        ("count(*)", f"{ended} {well}", [since, *of_sign["approve"]]),
        ("count(*)", f"{ended} {otherwise}", [since, *of_sign["reject"]]),
        ("count(*)", f"{ended} override <> outcome", [since]),
        ("count(*)", "status = 'failed' AND created >= %s", [month]),
    ]


def _one_of(outcomes: Sequence[str]) -> str:
    return f"outcome IN ({', '.join(['%s'] * len(outcomes))})" if outcomes else "FALSE"


def _moment(told: datetime | str | None) -> datetime | None:
    """SQLite tells a time as a text, without the zone that all of ours have."""
    return datetime.fromisoformat(told).replace(tzinfo=UTC) if isinstance(told, str) else told
