"""What people do to a run: its rows and its evidence in one transaction."""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from .evidence import sealing
from .evidence.entries import retried_by
from .models import Budget, ModelCall, Run, after_deadlock, record_name


@after_deadlock
@transaction.atomic
def cancel(pk: UUID, by: Any = None) -> bool:
    """End a run that is not over. What it has stays; whoever performs it can write nothing more."""
    going_on = (Run.Status.QUEUED, Run.Status.RUNNING, Run.Status.WAITING)
    cancelled = Run.objects.filter(pk=pk, status__in=going_on).update(
        status=Run.Status.CANCELLED,
        cancelled_by=by,
        cancelled_by_name=record_name(by),
        ended=Now(),
        worker="",
        lease_expires_at=None,
        fence=F("fence") + 1,
        revision=F("revision") + 1,
    )
    if cancelled:
        ModelCall.objects.filter(run=pk).interrupt()
        Run.objects.release([pk])
        sealing.seal_ended([pk])
    return bool(cancelled)


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
        retries=F("retries") + 1,
        revision=F("revision") + 1,
    )
    if queued:
        owner = Run.objects.values_list("owner", flat=True).get(pk=pk)
        Run.objects.filter(pk=pk).update(**Budget.objects.reserve(owner, cost))
        sealing.record(pk, retried_by(record_name(by)))
    return bool(queued)
