"""Redaction: erasing the texts of runs, on demand or when their retention ends. Decisions stay.

Why so: runs/DESIGN.md, Rehearsal, redaction, retention.
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
from engine.ledger.entries import REDACTED, AuditEntry
from engine.models import Review, Run, after_deadlock, record_name
from engine.pubsub import publish_revision
from engine.text.search_terms import label_term

from .. import retention
from ..models import PresetUse, RunFlag, SearchText, delete_erased_text, revoke_all_access
from ..procedure.spec import spec_of_run, specs

log = logging.getLogger(__name__)

REDACT_BATCH = 100
RETENTION = "retention"  # author of redactions at the end of the retention
SMALL = 100 * 2**20  # bytes of a file that is rewritten in about a second


def refuse_unfinished(run: Run) -> str:
    """Return why a run that is not over cannot be redacted."""
    return f"{spec_of_run(run).noun_with_article} that is not over cannot be redacted. Cancel it, or wait for its end."


def erase_texts(run: Run, by: Any, reason: str, *, names: bool = False) -> None:
    """Redact a run on demand like `redact_run`, notify open pages, and wipe the database files."""
    redact_run(run.pk, record_name(by), reason, names=names)
    async_to_sync(publish_revision)(run.pk)
    wipe_database_files()


@after_deadlock
@transaction.atomic
def redact_run(pk: UUID, by: str, reason: str, *, names: bool = False, once: bool = False) -> bool:
    """Erase the texts of a run in one transaction. Raises ValueError if it is not over.

    `by` and `reason` stay in the record. With `names`, the requester and who cancelled are erased too, and the run has
    no owner afterwards. With `once`, a run that is redacted already is left alone and False is returned.
    """
    # Lock the run before the log, as retries and reviews do; another order would deadlock.
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
        PresetUse.objects.filter(run=pk).update(owner=None)
    return True


def erasure_of(run: Run) -> dict[str, str]:
    """Return the address at which a page polls for a redaction, and the current mark, which each redaction changes."""
    return {"address": reverse("erased", args=[run.pk]), "mark": str(run.revision) if run.redacted else "none"}


@dataclass(frozen=True)
class RedactionRecord:
    """One redaction, as in the audit log. `by` is empty for the command line."""

    at: datetime
    by: str
    reason: str


def redactions_of(pk: UUID) -> list[RedactionRecord]:
    """Return the redactions of a run, oldest first."""
    lines = AuditEntry.objects.filter(run=pk, kind=REDACTED).order_by("seq").values_list("line", flat=True)
    return [
        RedactionRecord(datetime.fromisoformat(said["at"]), said["facts"]["by"], said["facts"]["reason"])
        for said in map(json.loads, lines)
    ]


# ---- end of the retention ---------------------------------------------------------------------------------


def due_runs(number: int) -> list[tuple[UUID, str]]:
    """Return at most `number` runs whose retention has ended, with the reason for the redaction."""
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
    """Redact a batch of runs whose retention has ended, each in its own transaction; return whether there are more."""
    found = due_runs(REDACT_BATCH + 1)
    for pk, reason in found[:REDACT_BATCH]:
        with suppress(ValueError):  # it had failed and is being retried
            redact_run(pk, RETENTION, reason, once=True)
    if 0 < len(found) <= REDACT_BATCH:
        wipe_database_files()
    return len(found) > REDACT_BATCH


# ---- database files ---------------------------------------------------------------------------------------


def wipe_database_files(*, whole: bool = False) -> bool:
    """Remove erased texts from the database files, outside of any transaction; return False if some may remain.

    SQLite overwrites what is erased (`secure_delete`), but not copies in the free space of pages, left when rows move.
    VACUUM removes them, and is run at once if the file is small. PostgreSQL frees the space of erased rows and
    overwrites it in time. `whole` rewrites everything, however long it takes.
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
    # a permanent reader can prevent the write-ahead log from being truncated
    cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return cursor.fetchone()[0] == 0 and anew


def _wipe_postgresql(cursor: Any, whole: bool) -> bool:
    """Vacuum the tables. Tables of another role are skipped with a warning."""
    cursor.execute(f"VACUUM ({'FULL' if whole else 'SKIP_LOCKED'}) {', '.join(_with_texts())}")
    return whole


def _with_texts() -> list[str]:
    """Return the tables in which a redaction erases something."""
    erased = (guard.table for guard in immutability.all_guards() if any(rule.erasures for rule in guard.rules))
    return [*erased, "engine_salt", "runs_searchtext", "runs_share", "runs_badge", "runs_given"]
