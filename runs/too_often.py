"""What somebody approves again and again without ever saying no: said to them, with what could be asked less often.

Why so: docs/decisions.md, Gates.
"""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count

from engine.models import Gate, GateDecision
from engine.models.gates import Decision

from .asked_often import DAYS
from .at_gates import Eased
from .face import faces

LEAST = 10  # approvals
MOST = 500  # gates that are looked at, the newest


def too_often(user: Any, now: datetime) -> Iterator[Eased]:
    since = now - timedelta(days=DAYS)
    approved = GateDecision.objects.filter(by_user=user, decision=Decision.APPROVE, made__gte=since)
    by_tool = approved.exclude(gate__tool="").order_by().values_list("gate__run__procedure", "gate__tool")
    often = by_tool.annotate(times=Count("gate", distinct=True)).filter(times__gte=LEAST)
    tools: dict[str, list[str]] = defaultdict(list)
    for procedure, tool, _ in often:
        tools[procedure].append(tool)
    for procedure in faces().keys() & tools.keys():
        about = {"run__procedure": procedure, "tool__in": tools[procedure]}
        gates = Gate.objects.filter(pk__in=approved.values("gate"), **about).order_by("-pk")
        yield from faces()[procedure].eased(list(gates[:MOST]), user, since)
