"""What people do to a run through any door: what the engine does of it, and whoever has to hear of it is told."""

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
    """End the run of this row without an outcome; False where it was over."""
    if not run_control.cancel(row.pk, by):
        return False
    for pk in (row.pk, *Run.objects.descendants_of(row.pk)):
        async_to_sync(publish_cancelled)(pk)
    if parent := Run.objects.values_list("parent", flat=True).get(pk=row.pk):
        _told(parent)
    return True


def retry_refusal(run: Run) -> str:
    """Why a run cannot be tried again; empty where it can."""
    if run.status != Run.Status.FAILED:
        return "Only what failed can be retried."
    if run.redacted:
        return "Its texts were erased: there is nothing left to ask about."
    if run.override is not None:
        return f"A person has decided it: {run.override}. To decide it again, submit it again."
    return ""


def apply_and_announce(pk: UUID, change: Callable[[], T]) -> T:
    """Write what comes from outside to a run, and tell all who have to hear. `steering.Over` where it has ended."""
    result = run_control.apply_action(pk, change)
    _told(pk)
    return result


def decide(pk: int, user: Any, decision: str, **said: Any) -> Gate:
    """At a gate, as `engine.gate_decisions.decide` says."""
    gate = gate_decisions.decide(pk, user, decision, **said)
    council = gate.council
    if council and council.status == Run.Status.CANCELLED:  # nobody needs what it would say
        async_to_sync(publish_cancelled)(council.pk)
    _told(gate.run_id)
    return gate


def read_gate(pk: int, user: Any) -> Gate:
    """See what a council says before it is shown, as `engine.gate_decisions.look` says."""
    gate = gate_decisions.read_gate(pk, user)
    _told(gate.run_id)
    return gate


def _told(pk: UUID) -> None:
    async_to_sync(wake_workers)()
    async_to_sync(publish_revision)(pk)


def retry(row: Any, by: Any = None, *, limited: bool = False) -> bool:
    """Let the failed run of this row go on with what is missing; False for a reason that `retry_refusal` says: what a
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
        Run.objects.admit_to_queue(by)
    Run.objects.select_for_update(no_key=True).get(pk=row.pk)  # a redaction or a review waits, or is seen
    row.run.refresh_from_db(fields=["status", "redacted", "override"])
    return not retry_refusal(row.run) and run_control.retry(row.pk, spec_of_run(row.run).estimate(row), by)
