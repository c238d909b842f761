"""What people do to a run through any interface, with the notification of workers and open pages."""

from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

from asgiref.sync import async_to_sync
from django.db import transaction

from engine import gate_decisions, run_control
from engine.models import Gate, Run, after_deadlock
from engine.pubsub import publish_cancelled, publish_revision, wake_workers

from .procedure.spec import spec_of_run

T = TypeVar("T")


def cancel(row: Any, by: Any) -> bool:
    """End the run of this row without an outcome; return False if it was already over."""
    if not run_control.cancel(row.pk, by):
        return False
    for pk in (row.pk, *Run.objects.descendants_of(row.pk)):
        async_to_sync(publish_cancelled)(pk)
    if parent := Run.objects.values_list("parent", flat=True).get(pk=row.pk):
        _told(parent)
    return True


def retry_refusal(run: Run) -> str:
    """Return why a run cannot be retried; empty if it can."""
    if run.status != Run.Status.FAILED:
        return "Only what failed can be retried."
    if run.redacted:
        return "Its texts were erased: there is nothing left to ask about."
    if run.override is not None:
        return f"A person has decided it: {run.override}. To decide it again, submit it again."
    return ""


def apply_and_announce(pk: UUID, change: Callable[[], T]) -> T:
    """Apply an external change to a run and notify workers and open pages. Raises RunEnded if it has ended."""
    result = run_control.apply_action(pk, change)
    _told(pk)
    return result


def decide(pk: int, user: Any, decision: str, **said: Any) -> Gate:
    """Decide at a gate; see `engine.gate_decisions.decide`."""
    gate = gate_decisions.decide(pk, user, decision, **said)
    council = gate.council
    if council and council.status == Run.Status.CANCELLED:  # its decision is no longer needed
        async_to_sync(publish_cancelled)(council.pk)
    _told(gate.run_id)
    return gate


def read_gate(pk: int, user: Any) -> Gate:
    """Reveal a council's decision before it is shown; see `engine.gate_decisions.read_gate`."""
    gate = gate_decisions.read_gate(pk, user)
    _told(gate.run_id)
    return gate


def _told(pk: UUID) -> None:
    async_to_sync(wake_workers)()
    async_to_sync(publish_revision)(pk)


def retry(row: Any, by: Any = None, *, limited: bool = False) -> bool:
    """Let the failed run of this row continue with the missing steps; return False for a reason of `retry_refusal`.

    A run that a person has overridden is not retried, because a later answer must not change that decision. Raises
    BudgetExceeded. If `limited`, also raises RateLimitReached; the command line is not limited.
    """
    if not _retried(row, by, limited):
        return False
    _told(row.pk)
    return True


@after_deadlock
@transaction.atomic
def _retried(row: Any, by: Any, limited: bool) -> bool:
    if limited:
        Run.objects.admit_to_queue(by)
    # a redaction or a review waits for this lock, or its result is seen
    Run.objects.select_for_update(no_key=True).get(pk=row.pk)
    row.run.refresh_from_db(fields=["status", "redacted", "override"])
    return not retry_refusal(row.run) and run_control.retry(row.pk, spec_of_run(row.run).estimate(row), by)
