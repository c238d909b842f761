"""What people do to a run through any door: what the engine does of it, and whoever has to hear of it is told."""

from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

from asgiref.sync import async_to_sync
from django.db import transaction

from engine import gates, steering
from engine.live import tell_of_cancelled, tell_watchers, wake_engines
from engine.models import Gate, Run, after_deadlock

from .face import face_of

T = TypeVar("T")


def cancel(row: Any, by: Any) -> bool:
    """End the run of this row without an outcome; False where it was over."""
    if not steering.cancel(row.pk, by):
        return False
    for pk in (row.pk, *Run.objects.below(row.pk)):
        async_to_sync(tell_of_cancelled)(pk)
    if parent := Run.objects.values_list("parent", flat=True).get(pk=row.pk):
        _told(parent)
    return True


def why_not_retried(run: Run) -> str:
    """Why a run cannot be tried again; empty where it can."""
    if run.status != Run.Status.FAILED:
        return "Only what failed can be retried."
    if run.redacted:
        return "Its texts were erased: there is nothing left to ask about."
    if run.override is not None:
        return f"A person has decided it: {run.override}. To decide it again, submit it again."
    return ""


def act(pk: UUID, change: Callable[[], T]) -> T:
    """Write what comes from outside to a run, and tell all who have to hear. `steering.Over` where it has ended."""
    result = steering.act(pk, change)
    _told(pk)
    return result


def decide(pk: int, user: Any, decision: str, **said: Any) -> Gate:
    """At a gate, as `engine.gates.decide` says."""
    gate = gates.decide(pk, user, decision, **said)
    council = gate.council
    if council and council.status == Run.Status.CANCELLED:  # nobody needs what it would say
        async_to_sync(tell_of_cancelled)(council.pk)
    _told(gate.run_id)
    return gate


def look(pk: int, user: Any) -> Gate:
    """See what a council says before it is shown, as `engine.gates.look` says."""
    gate = gates.look(pk, user)
    _told(gate.run_id)
    return gate


def _told(pk: UUID) -> None:
    async_to_sync(wake_engines)()
    async_to_sync(tell_watchers)(pk)


def retry(row: Any, by: Any = None, *, limited: bool = False) -> bool:
    """Let the failed run of this row go on with what is missing; False for a reason that `why_not_retried` says: what a
    person has decided, nothing that is asked later decides anew.

    BudgetUsedUp where a budget has not enough left for it. `limited`: LimitReached where whoever retries has or does
    too much; the command line is not limited.
    """
    if not _retried(row, by, limited):
        return False
    _told(row.pk)
    return True


@after_deadlock
@transaction.atomic
def _retried(row: Any, by: Any, limited: bool) -> bool:
    if limited:
        Run.objects.admit(by)
    Run.objects.select_for_update(no_key=True).get(pk=row.pk)  # a redaction or a review waits, or is seen
    row.run.refresh_from_db(fields=["status", "redacted", "override"])
    return not why_not_retried(row.run) and steering.retry(row.pk, face_of(row.run).estimate(row), by)
