"""The library: saved items with their uses and outcomes.

Why so: runs/DESIGN.md, Finding.
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

NEWEST = 200  # newest runs of each item that are counted
MOST = 100  # items of a section that are shown
RATED_PERIOD = timedelta(days=90)
MIN_RUNS_FOR_RATE = 10  # runs that are enough for a rate
WIDTH = 140  # pixels of a bar


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
        """Return whether the item matches: every search word is a prefix of one of its words."""
        if self.mine and not item.is_mine:
            return False
        if not self.q.strip():
            return True
        words = index_words("\n".join([item.name, *item.texts])) if self._beginnings else []
        return bool(words) and all(any(word.startswith(one) for word in words) for one in self._beginnings)


# ---- outcomes ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OutcomeShare:
    """A part of a bar: its start and its width in pixels."""

    state: str
    x: float
    width: float


@dataclass(frozen=True)
class OutcomeSummary:
    """Outcomes of the runs of the last 90 days that are over, without rehearsals.

    `last` is when the newest run that is no rehearsal was created. `failed` counts this month's errors including
    rehearsals, as the linked history does.
    """

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
        """Return the positive share from the left, the negative one from the right; no outcome is in between."""
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
        """Return whether there are enough runs for a rate, and the outcomes of the procedure are known in advance."""
        return self.came.is_rate and bool(self.face.outcomes)

    @property
    def outcome(self) -> str:
        """Return the outcomes in words; empty if it was never used."""
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
        return "no outcome yet" if self.came.last >= timezone.now() - RATED_PERIOD else "nothing in 90 days"

    @property
    def warning(self) -> str:
        number = self.came.failed
        if not number:
            return ""
        where = f"among the newest {NEWEST:,}" if self.number > NEWEST else f"in {date_format(timezone.now(), 'F')}"
        return f"{number:,} error{'' if number == 1 else 's'} {where}"

    @property
    def failures(self) -> str:
        """Return the address of the history with the runs that the warning counts."""
        error = next(word for word, statuses in self.face.standings.items() if Run.Status.FAILED in statuses)
        asked = {self.shelf.label: self.item.key, "outcome": error, "since": _month().date()}
        return f"{reverse(self.face.page_name('history'))}?{urlencode(asked)}"


def _month() -> datetime:
    return timezone.now().replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def _words(face: AnyFace, state: str) -> list[str]:
    return [shown.lower() for outcome, (sign, shown) in _outcomes(face) if sign == state]


def _outcomes(face: AnyFace) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield each outcome of the procedure with its icon and word."""
    for outcome in face.outcomes:
        yield outcome, face.filter_labels(Run(procedure=face.kind, status=Run.Status.FINISHED, outcome=outcome))


# ---- sections ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LibraryGroup:
    """A section with the items that match.

    `found` counts matches that are not archived, even if not all are shown; `kept` counts all items.
    """

    face: AnyFace
    shelf: LibrarySection
    rows: Sequence[LibraryRow]
    archived: Sequence[LibraryRow]
    found: int
    kept: int
    may_make: bool


def library_groups(user: Any, asked: LibraryQuery, only: str = "") -> list[LibraryGroup]:
    """Return all sections with their matching items, or only the one with the name `only`."""
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
    """Count the newest runs of each item in one query.

    It is plain SQL: Django would compose it of one query for each item, which takes longer than answering it.
    """
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
    """Return the columns of `OutcomeSummary` in order: an aggregate, its condition, and its parameters."""
    of_sign = defaultdict(list)
    for outcome, (sign, _) in _outcomes(face):
        of_sign[sign].append(outcome)
    lately = "NOT rehearsal AND created >= %s AND status"
    since = connection.ops.adapt_datetimefield_value(timezone.now() - RATED_PERIOD)
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
    """Convert a time from the database; SQLite returns text without a time zone, which is always UTC."""
    return datetime.fromisoformat(told).replace(tzinfo=UTC) if isinstance(told, str) else told
