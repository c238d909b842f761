"""The library: what is kept to be used again, how often it was used, and what came of that.

Why so: docs/decisions.md, Finding.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Max, Q, QuerySet, Value
from django.urls import reverse
from django.utils import timezone
from django.utils.dateformat import format as date_format

from engine.models import Run
from engine.search import Term, label, words_of

from .face import Face, faces
from .models import newest_found
from .rights import SEE, Reach, User
from .shelves import Item, Shelf
from .words import day

AnyFace = Face[Any, Any]

NEWEST = 200  # runs of each thing that are looked at
MOST = 100  # things of a shelf that are shown
RATED = timedelta(days=90)
FEWEST = 10  # runs that make a rate
OVER = (Run.Status.FINISHED, Run.Status.FAILED, Run.Status.CANCELLED)
WIDTH = 140  # of a bar, in pixels


@dataclass(frozen=True)
class Asked:
    q: str = ""
    mine: bool = False

    def __bool__(self) -> bool:
        return bool(self.q.strip()) or self.mine

    @cached_property
    def _beginnings(self) -> list[str]:
        return words_of(self.q)

    def finds(self, item: Item) -> bool:
        """Each word that is sought begins one of its own."""
        if self.mine and not item.is_mine:
            return False
        if not self.q.strip():
            return True
        words = words_of("\n".join([item.name, *item.texts])) if self._beginnings else []
        return bool(words) and all(any(word.startswith(one) for word in words) for one in self._beginnings)


# ---- what came of it --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """Of a bar: where it begins and how long it is."""

    state: str
    x: float
    width: float


@dataclass(frozen=True)
class Came:
    """What came of the runs of the last days that are over, without rehearsals: how many ended well, how many
    otherwise, in how many a person decided instead, and how many failed this month."""

    over: int = 0
    well: int = 0
    otherwise: int = 0
    overridden: int = 0
    failed: int = 0

    @property
    def is_rate(self) -> bool:
        return self.over >= FEWEST

    @property
    def bar(self) -> list[Part]:
        """What ended well from the left, what did not from the right; in between what has no outcome."""
        well, otherwise = (round(WIDTH * number / self.over, 1) for number in (self.well, self.otherwise))
        return [Part("approve", 0, well), Part("reject", round(WIDTH - otherwise, 1), otherwise)]


@dataclass(frozen=True)
class Row:
    item: Item
    face: AnyFace
    shelf: Shelf
    number: int = 0
    last: datetime | None = None
    came: Came = Came()

    @property
    def times(self) -> str:
        return f"{NEWEST:,}+" if self.number > NEWEST else f"{self.number:,}"

    @property
    def when(self) -> str:
        return day(self.last, timezone.now()) if self.last else ""

    @property
    def outcome(self) -> str:
        """What came of it, in words; empty where it was never used."""
        came = self.came
        if not came.over:
            return "no outcome yet" if self._used_lately else "nothing in 90 days" if self.last else ""
        if not came.is_rate:
            return f"{came.over} run{'' if came.over == 1 else 's'}"
        said = f"{round(100 * came.well / came.over)} % {' or '.join(_words(self.face, 'approve'))}"
        return f"{said}, {came.overridden} overridden" if came.overridden else said

    @property
    def _used_lately(self) -> bool:
        return self.last is not None and self.last >= timezone.now() - RATED

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
        yield outcome, face.shown(Run(procedure=face.kind, status=Run.Status.FINISHED, outcome=outcome))


# ---- the shelves ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Group:
    """A shelf with what is found on it. `found`: how many that are not archived, where not all are shown, too; `kept`:
    how many there are, whatever is sought."""

    face: AnyFace
    shelf: Shelf
    rows: Sequence[Row]
    archived: Sequence[Row]
    found: int
    kept: int
    may_make: bool


def groups(user: Any, asked: Asked, only: str = "") -> list[Group]:
    """All shelves with what each has that is asked for, or the `only` one of that name."""
    return [_group(user, face, shelf, asked) for face, shelf in shelves() if only in ("", shelf.name)]


def shelves() -> list[tuple[AnyFace, Shelf]]:
    return [(face, shelf) for face in faces().values() for shelf in face.shelves]


def _group(user: Any, face: AnyFace, shelf: Shelf, asked: Asked) -> Group:
    items = shelf.items(user)
    found = [item for item in items if asked.finds(item)]
    offered, archived = ([item for item in found if item.archived == gone] for gone in (False, True))
    rows = _rows(user, face, shelf, [*offered[:MOST], *archived[:MOST]])
    return Group(
        face,
        shelf,
        rows=[row for row in rows if not row.item.archived],
        archived=[row for row in rows if row.item.archived],
        found=len(offered),
        kept=sum(not item.archived for item in items),
        may_make=user.has_perm(shelf.permission),
    )


def _rows(user: User, face: AnyFace, shelf: Shelf, items: Sequence[Item]) -> list[Row]:
    rows = {item.key: Row(item, face, shelf) for item in items}
    counts = {"number": Count("pk"), "last": Max("created")}
    for key, found in _of_newest(user, shelf, list(rows), [], counts):
        rows[key] = replace(rows[key], **found)
    used = [key for key, row in rows.items() if row.number]
    without_rehearsals = [label("rehearsal", False)] if "rehearsal" in face.filters else []
    for key, found in _of_newest(user, shelf, used, without_rehearsals, _what_came(face)):
        rows[key] = replace(rows[key], came=Came(**found))
    return list(rows.values())


def _what_came(face: AnyFace) -> dict[str, Count]:
    lately, of_sign = Q(created__gte=timezone.now() - RATED), defaultdict(list)
    for outcome, (sign, _) in _outcomes(face):
        of_sign[sign].append(outcome)
    ended = Q(status=Run.Status.FINISHED) & lately
    return {
        "over": Count("pk", filter=Q(status__in=OVER) & lately),
        "well": Count("pk", filter=ended & Q(outcome__in=of_sign["approve"])),
        "otherwise": Count("pk", filter=ended & Q(outcome__in=of_sign["reject"])),
        "overridden": Count("pk", filter=ended & Q(override__isnull=False)),
        "failed": Count("pk", filter=Q(status=Run.Status.FAILED, created__gte=_month())),
    }


def _of_newest(
    user: User, shelf: Shelf, keys: Iterable[int], labels: Sequence[Term], counts: dict[str, Any]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """For each key these counts over the newest runs that have it and these labels: one query for all."""
    if SEE.reach(user) < Reach.ALL:
        labels = [*labels, label("by", user.pk)]
    each: list[QuerySet[Any, Any]] = []
    for key in keys:
        newest = newest_found([label(shelf.label, key), *labels], NEWEST + 1)
        seen = SEE.within(Run.objects.filter(pk__in=newest), user)
        each.append(seen.annotate(key=Value(key)).values("key").annotate(**counts))
    for found in each[0].union(*each[1:], all=True) if each else ():
        yield found.pop("key"), found
