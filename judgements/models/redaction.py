"""Erasing the texts of judgements, on somebody's demand or because their time is over. What was decided stays.

Why so: docs/decisions.md, Rehearsal, redaction, retention.
"""

import json
import logging
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.db.models import Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from engine.evidence import sealing
from engine.evidence.entries import REDACTED, Entry
from engine.evidence.told import names_of
from engine.models import Run, after_deadlock
from engine.search import label

from .. import retention
from .councils import CouncilChange
from .judgements import Judgement, RoundDecision
from .reviews import Review
from .search import Flag, SearchText, forget_erased

NOT_OVER = "A judgement that is not over cannot be redacted. Cancel it, or wait for its end."

log = logging.getLogger(__name__)

SMALL = 100 * 2**20  # bytes of a file that is written anew in about a second
WITH_TEXTS = (
    *("engine_run", "engine_modelcall", "engine_salt"),
    *("judgements_judgement", "judgements_rounddecision", "judgements_review", "judgements_searchtext"),
)


@after_deadlock
@transaction.atomic
def redact(pk: UUID, by: str, reason: str, *, names: bool = False, once: bool = False) -> bool:
    """Erase the texts of a judgement. ValueError for one that is not over.

    `by` and `reason` stay in the record. `names`: those of who asked and who cancelled are erased too; the judgement
    belongs to nobody then. `once`: leave alone what is redacted already, and return False.
    """
    # The run first, then the log, as in a retry: two that lock in another order would wait for each other. Not its key:
    # a note holds the log, and then refers to the run.
    run = Run.objects.select_for_update(no_key=True).get(pk=pk)
    if not run.over:
        raise ValueError(NOT_OVER)
    if once and not Judgement.objects.filter(pk=pk, redacted=None).exists():
        return False
    sealing.redact(pk, by, reason, names={} if names else names_of(run))
    Run.objects.erase(pk, names=names)
    Judgement.objects.filter(pk=pk).update(
        title="", content="", request="", redacted=Coalesce("redacted", timezone.now())
    )
    RoundDecision.objects.filter(agent__judgement=pk).update(reason="")
    Review.objects.filter(judgement=pk).update(text="")
    SearchText.objects.forget(pk, [label("flag", Flag.REDACTED)], names=names)
    return True


@dataclass(frozen=True)
class Redaction:
    """That texts were erased, as the record says it. `by` is empty for the command line."""

    at: datetime
    by: str
    reason: str


def redactions_of(pk: UUID) -> list[Redaction]:
    """The oldest first."""
    lines = Entry.objects.filter(run=pk, kind=REDACTED).order_by("seq").values_list("line", flat=True)
    return [
        Redaction(datetime.fromisoformat(said["at"]), said["facts"]["by"], said["facts"]["reason"])
        for said in map(json.loads, lines)
    ]


# ---- when their time is over ------------------------------------------------------------------------------


def due(number: int) -> list[tuple[UUID, str]]:
    """At most so many judgements that have been kept for as long as they are to be, and why they are redacted."""
    found: list[tuple[UUID, str]] = []
    for (days, whose), judged_by in _kept_for().items():
        ended_before = timezone.now() - timedelta(days=days)
        over = Judgement.objects.filter(judged_by, redacted=None, run__ended__lt=ended_before).order_by()
        pks = over.values_list("pk", flat=True)[: number - len(found)]
        found += [(pk, retention.reason(days, whose)) for pk in pks]
        if len(found) == number:
            break
    return found


def _kept_for() -> dict[tuple[int, str], Q]:
    """For how many days, and by whose word, the texts of which judgements are kept; not those kept for ever."""
    found: dict[tuple[int, str], Q] = defaultdict(Q)
    for days, councils in _by_days().items():
        for (since, until), pks in councils.items():
            submitted = Q(council_version__council__in=pks)
            if since:
                submitted &= Q(run__created__gte=since)
            if until:
                submitted &= Q(run__created__lt=until)
            kept = retention.at_least(days, settings.RETENTION_FLOOR_DAYS)
            found[kept, "its council" if kept == days else "this installation"] |= submitted
    if settings.RETENTION_DAYS:
        found[settings.RETENTION_DAYS, "this installation"] |= Q(council_version=None)
    return dict(sorted(found.items()))


def _by_days() -> dict[int, dict[tuple[datetime | None, datetime | None], list[int]]]:
    """Days -> submitted from when to when -> judged by which councils."""
    said: dict[int, list[tuple[datetime, int]]] = defaultdict(list)
    for council, made, days in CouncilChange.objects.values_list("council", "made", "retention_days"):
        said[council].append((made, days))
    found: dict[int, dict[tuple[datetime | None, datetime | None], list[int]]] = defaultdict(lambda: defaultdict(list))
    for council, changes in said.items():
        for since, until, days in retention.spans(changes):
            if days:
                found[days][since, until].append(council)
    return found


# ---- and gone from the files ------------------------------------------------------------------------------


def wipe(*, whole: bool = False) -> bool:
    """Let the database's files lose what its rows have lost, outside of any transaction; False where some may be left.

    SQLite overwrites what is erased (`secure_delete`), but not the copies that stay in a page's free room when rows
    move to another: those go when the file is written anew, which is done at once where it is small. PostgreSQL gives
    the room of erased rows free and writes over it in time. `whole`: write everything anew, however long it takes.
    """
    try:
        forget_erased()
        with connection.cursor() as cursor:
            return _wipe_postgresql(cursor, whole) if connection.vendor == "postgresql" else _wipe_sqlite(cursor, whole)
    except OperationalError as error:
        log.error("The files of the database could not be wiped: %s", error)
        return False


def _wipe_sqlite(cursor: Any, whole: bool) -> bool:
    cursor.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
    anew = whole or cursor.fetchone()[0] <= SMALL
    if anew:
        cursor.execute("VACUUM")
    # somebody who reads all the time can prevent that the write-ahead log is emptied
    cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return cursor.fetchone()[0] == 0 and anew


def _wipe_postgresql(cursor: Any, whole: bool) -> bool:
    """What another role owns is left out with a warning."""
    cursor.execute(f"VACUUM ({'FULL' if whole else 'SKIP_LOCKED'}) {', '.join(WITH_TEXTS)}")
    return whole
