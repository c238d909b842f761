"""Ending a run without an outcome, with all that it has caused."""

from typing import Any
from uuid import UUID

from django.db.models.functions import Now

from .audit import sealing
from .models import Gate, ModelCall, ModelWait, Run, RunEvent, RunEventType, ToolCall, record_name


def cancel(pk: UUID, by: Any = None, *, told: bool = True) -> list[UUID]:
    """Which of it went on and is cancelled, in a transaction of whoever calls. What they have stays; whoever performs
    one of them can write nothing more. `told`: the run that made it hears of that, and goes on."""
    how = {"cancelled_by": by, "cancelled_by_name": record_name(by), "ended": Now()}
    cancelled = Run.objects.ended_with([*Run.objects.descendants_of(pk), pk], **how)
    ModelCall.objects.filter(run__in=cancelled).mark_interrupted()
    ModelWait.objects.filter(run__in=cancelled).delete()
    ToolCall.objects.filter(run__in=cancelled).interrupt()
    Gate.objects.filter(run__in=cancelled).void()
    Run.objects.release(cancelled)
    Run.objects.nudge_parents(*(one for one in cancelled if told or one != pk))
    RunEvent.objects.record(RunEventType.OVER, cancelled)
    sealing.seal_ended(cancelled)
    return cancelled
