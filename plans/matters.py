"""How the matters of a person stand: whether work goes on in one, and what waits there for its owner."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Prefetch

from engine.models import GOING_ON, Gate
from runs.api.objects import time_of

from .models import Matter, Plan
from .rules.demands import Kind

MOST = 100  # that are told at once, the newest


def own(user: Any, *, closed: bool = False) -> list[Matter]:
    """Newest first; those that are closed only where they are asked for."""
    there = Matter.objects.there().filter(owner=user).order_by("-created")
    return list((there if closed else there.filter(closed=None))[:MOST])


def told(matters: Sequence[Matter]) -> Iterator[dict[str, Any]]:
    plans = plans_in(matters)
    return (matter_object(matter, plans[matter.pk]) for matter in matters)


def plans_in(matters: Sequence[Matter]) -> dict[UUID, list[Plan]]:
    """Of their owner, newest first, each with its gates."""
    gates = Prefetch("run__gates", Gate.objects.prefetch_related("decisions").order_by("pk"))
    rows = Plan.objects.filter(matter__in=matters).select_related("run", "matter").prefetch_related(gates)
    found: dict[UUID, list[Plan]] = defaultdict(list)
    for plan in rows.order_by("-run__created", "-pk"):
        if plan.matter and plan.run.owner_id == plan.matter.owner_id:
            found[plan.matter.pk].append(plan)
    return found


def matter_object(matter: Matter, plans: Sequence[Plan]) -> dict[str, Any]:
    """`plans`: all of it, newest first."""
    return {
        "id": str(matter.pk),
        "name": matter.name,
        "title": matter.title or (plans[-1].run.title if plans else matter.name),
        "current_status": "active" if any(map(_goes_on, plans)) else "completed",
        "message_to_user": message_to_owner(plans),
        "ts": time_of(matter.created),
        "closed": matter.closed is not None,
    }


def message_to_owner(plans: Sequence[Plan]) -> str | None:
    """The newest sentence that waits for them."""
    waiting = [gate for plan in filter(_goes_on, plans) for gate in plan.run.gates.all() if _waits(gate)]
    newest = max(waiting, key=lambda gate: gate.pk, default=None)
    if newest is None:
        return None
    return newest.text if newest.kind in (Kind.QUESTION, Kind.SEAT) else newest.title


def _goes_on(plan: Plan) -> bool:
    return plan.run.status in GOING_ON


def _waits(gate: Gate) -> bool:
    return gate.pending and gate.asks_persons
