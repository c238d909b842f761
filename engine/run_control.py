"""What people do to a run: its rows and its evidence in one transaction."""

from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from . import cancellation, council_approval
from .audit import sealing
from .ledger.entries import retry_actor
from .models import ACTIVE_STATUSES, Budget, ModelCall, Run, after_deadlock, record_name

T = TypeVar("T")


class RunEnded(Exception):
    """The run has ended: nothing that comes from outside reaches it any more."""


@after_deadlock
@transaction.atomic
def apply_action(pk: UUID, change: Callable[[], T]) -> T:
    """Write what comes from outside, and tell the run. Raises Over, and what `change` does.

    While nobody works on the run it is sealed at once; otherwise when its worker lets go of it.
    """
    if not Run.objects.wake(pk):
        raise RunEnded(str(pk))
    result = change()
    council_approval.cancel_council_runs(pk)
    if Run.objects.filter(pk=pk, status=Run.Status.QUEUED).exists():
        sealing.seal_action(pk)
    return result


def signal_worker(pk: UUID) -> None:
    """In an act: whoever works on the run loses it, what is being asked is not kept, and it goes on from its rows."""
    held = Run.objects.filter(pk=pk, status=Run.Status.RUNNING)
    held.count_work()
    ModelCall.objects.filter(run__in=held).mark_interrupted()
    held.update(status=Run.Status.QUEUED, worker="", lease_expires_at=None, wakes_at=Now())


@after_deadlock
@transaction.atomic
def cancel(pk: UUID, by: Any = None) -> bool:
    """End a run that is not over, and all that it has caused. What they have stays; whoever performs one of them can
    write nothing more. For the run that made it this is an answer."""
    if not Run.objects.filter(pk=pk, status__in=ACTIVE_STATUSES).exists():
        return False
    return pk in cancellation.cancel(pk, by)


@after_deadlock
@transaction.atomic
def retry(pk: UUID, cost: int | None = None, by: Any = None) -> bool:
    """Queue a failed run again: it goes on with what is missing, each step with four attempts anew.

    `cost`: what that may cost, None where it is unknown. BudgetUsedUp where there is not so much left.
    """
    queued = Run.objects.filter(pk=pk, status=Run.Status.FAILED).update(
        status=Run.Status.QUEUED,
        ended=None,
        error=None,
        deaths=0,
        crashes=0,
        wakes_at=Now(),
        retries=F("retries") + 1,
        revision=F("revision") + 1,
    )
    if queued:
        owner = Run.objects.values_list("owner", flat=True).get(pk=pk)
        Run.objects.filter(pk=pk).update(**Budget.objects.reserve(owner, cost))
        sealing.record_run(pk, retry_actor(record_name(by)))
    return bool(queued)
