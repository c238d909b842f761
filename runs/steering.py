"""What people do to a run through any door: what the engine does of it, and whoever has to hear of it is told."""

from typing import Any

from asgiref.sync import async_to_sync
from django.db import transaction

from engine import steering
from engine.live import tell_of_cancelled, tell_watchers, wake_engines
from engine.models import Run, after_deadlock

from .face import face_of


def cancel(row: Any, by: Any) -> bool:
    """End the run of this row without an outcome; False where it was over."""
    if not steering.cancel(row.pk, by):
        return False
    async_to_sync(tell_of_cancelled)(row.pk)
    return True


def retry(row: Any, by: Any = None, *, limited: bool = False) -> bool:
    """Let the failed run of this row go on with what is missing; False where it has not failed, or is redacted.

    BudgetUsedUp where a budget has not enough left for it. `limited`: LimitReached where whoever retries has or does
    too much; the command line is not limited.
    """
    if not _retried(row, by, limited):
        return False
    async_to_sync(wake_engines)()
    async_to_sync(tell_watchers)(row.pk)
    return True


@after_deadlock
@transaction.atomic
def _retried(row: Any, by: Any, limited: bool) -> bool:
    if limited:
        Run.objects.admit(by)
    Run.objects.select_for_update(no_key=True).get(pk=row.pk)  # a redaction waits, or is seen
    row.run.refresh_from_db(fields=["redacted"])
    return not row.run.redacted and steering.retry(row.pk, face_of(row.run).estimate(row), by)
