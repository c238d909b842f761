"""Erasing the texts of runs, on somebody's demand or because their time is over. What was decided stays.

Why so: docs/decisions.md, Rehearsal, redaction, retention.
"""

import json
import logging
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from asgiref.sync import async_to_sync
from django.db import OperationalError, connection, transaction
from django.urls import reverse
from django.utils import timezone

from engine.audit import sealing
from engine.audit.entries_from_rows import names_of
from engine.ledger import immutability
from engine.ledger.entries import REDACTED, Entry
from engine.models import Review, Run, after_deadlock, record_name
from engine.pubsub import publish_revision
from engine.text.search_terms import label_term

from .. import retention
from ..models import RunFlag, SearchText, Start, delete_erased_text, revoke_all_access
from ..procedure.spec import spec_of_run, specs

log = logging.getLogger(__name__)

REDACT_BATCH = 100
RETENTION = "retention"  # who redacts what has been kept for long enough
SMALL = 100 * 2**20  # bytes of a file that is written anew in about a second


def refuse_unfinished(run: Run) -> str:
    """Why it cannot be redacted."""
    return f"{spec_of_run(run).noun_with_article} that is not over cannot be redacted. Cancel it, or wait for its end."


def erase_texts(run: Run, by: Any, reason: str, *, names: bool = False) -> None:
    """Redact a run on somebody's demand, as `redact` does, and let no file keep what is erased."""
    redact_run(run.pk, record_name(by), reason, names=names)
    async_to_sync(publish_revision)(run.pk)
    wipe_database_files()


@after_deadlock
@transaction.atomic
def redact_run(pk: UUID, by: str, reason: str, *, names: bool = False, once: bool = False) -> bool:
    """Erase the texts of a run. ValueError for one that is not over.

    `by` and `reason` stay in the record. `names`: those of who asked and who cancelled are erased too; the run
    belongs to nobody then. `once`: leave alone what is redacted already, and return False.
    """
    # The run first, then the log, as in a retry and a review: two that lock in another order would wait for each other.
    run = Run.objects.select_for_update(no_key=True).get(pk=pk)
    if not run.is_ended:
        raise ValueError(refuse_unfinished(run))
    if once and run.redacted:
        return False
    sealing.record_redaction(pk, by, reason, names={} if names else names_of(run))
    Run.objects.erase(pk, names=names)
    Review.objects.filter(run=pk).update(text="")
    spec_of_run(run).erase(pk)
    SearchText.objects.forget(pk, [label_term("flag", RunFlag.REDACTED)], names=names)
    revoke_all_access(pk, names=names)
    if names:
        Start.objects.filter(run=pk).update(owner=None)
    return True


def erasure_of(run: Run) -> dict[str, str]:
    """For a page that shows texts of a run: where it asks whether they still stand, and the answer as it is now, which
    is another one after each redaction."""
    return {"address": reverse("erased", args=[run.pk]), "mark": str(run.revision) if run.redacted else "none"}


@dataclass(frozen=True)
class RedactionRecord:
    """That texts were erased, as the record says it. `by` is empty for the command line."""

    at: datetime
    by: str
    reason: str


def redactions_of(pk: UUID) -> list[RedactionRecord]:
    """The oldest first."""
    lines = Entry.objects.filter(run=pk, kind=REDACTED).order_by("seq").values_list("line", flat=True)
    return [
        RedactionRecord(datetime.fromisoformat(said["at"]), said["facts"]["by"], said["facts"]["reason"])
        for said in map(json.loads, lines)
    ]


# ---- when their time is over ------------------------------------------------------------------------------


def due_runs(number: int) -> list[tuple[UUID, str]]:
    """At most so many runs that have been kept for as long as they are to be, and why they are redacted."""
    found: list[tuple[UUID, str]] = []
    for name, face in specs().items():
        for (days, whose), kept in face.kept_for().items():
            ended_before = timezone.now() - timedelta(days=days)
            over = Run.objects.filter(kept, procedure=name, redacted=None, ended__lt=ended_before).order_by()
            pks = over.values_list("pk", flat=True)[: number - len(found)]
            found += [(pk, retention.reason(days, whose)) for pk in pks]
            if len(found) == number:
                return found
    return found


def redact_due() -> bool:
    """Redact some of those whose time is over, each in a transaction of its own; whether there are more."""
    found = due_runs(REDACT_BATCH + 1)
    for pk, reason in found[:REDACT_BATCH]:
        with suppress(ValueError):  # it has failed and is tried again just now
            redact_run(pk, RETENTION, reason, once=True)
    if 0 < len(found) <= REDACT_BATCH:
        wipe_database_files()
    return len(found) > REDACT_BATCH


# ---- and gone from the files ------------------------------------------------------------------------------


def wipe_database_files(*, whole: bool = False) -> bool:
    """Let the database's files lose what its rows have lost, outside of any transaction; False where some may be left.

    SQLite overwrites what is erased (`secure_delete`), but not the copies that stay in a page's free room when rows
    move to another: those go when the file is written anew, which is done at once where it is small. PostgreSQL gives
    the room of erased rows free and writes over it in time. `whole`: write everything anew, however long it takes.
    """
    try:
        delete_erased_text()
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
    cursor.execute(f"VACUUM ({'FULL' if whole else 'SKIP_LOCKED'}) {', '.join(_with_texts())}")
    return whole


def _with_texts() -> list[str]:
    """The tables that a redaction erases something in."""
    erased = (guard.table for guard in immutability.all_guards() if any(rule.erasures for rule in guard.rules))
    return [*erased, "engine_salt", "runs_searchtext", "runs_share", "runs_badge", "runs_given"]
