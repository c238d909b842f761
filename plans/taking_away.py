"""Erasing the plans of matters that their owner has taken away. What was decided stays."""

from contextlib import suppress
from typing import Any

from asgiref.sync import async_to_sync

from engine.live import tell_watchers
from engine.models import Run
from runs import redaction, steering

from .models import Matter, Plan

REASON = "Its owner has deleted all of their sessions."
AT_ONCE = 100


def all_of(owner: Any) -> tuple[int, int]:
    """How many plans were erased, and how many are still to be."""
    Matter.objects.take_away(owner)
    own = Plan.objects.taken_away().filter(matter__owner=owner)
    count = own.count()
    erase_some()
    left = own.count()
    return count - left, left


def erase_some() -> bool:
    """Some of what was taken away, each in a transaction of its own; whether there is more."""
    found = list(Plan.objects.taken_away()[: AT_ONCE + 1])
    for plan in found[:AT_ONCE]:
        _erase(plan)
    if found:
        redaction.wipe()
    return len(found) > AT_ONCE


def _erase(plan: Plan) -> None:
    """With all that it has caused: they were shown the same texts."""
    steering.cancel(plan, plan.run.owner)
    for pk in (*Run.objects.below(plan.pk), plan.pk):
        with suppress(ValueError):  # it had failed, and is tried again just now
            redaction.redact(pk, plan.run.asked_by, REASON, once=True)
        async_to_sync(tell_watchers)(pk)
