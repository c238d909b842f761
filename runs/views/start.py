"""Typical duration and cost of a run of a procedure, from the newest runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import median
from uuid import UUID

from django.db.models import Count, Q, Sum

from engine.llm.pricing import format_dollars
from engine.llm.providers import REHEARSAL
from engine.models import ModelCall, Run

from .. import formatting

MAX_SCANNED = 100
RECENT_RUNS = 500  # of all procedures: older runs are not searched for a procedure that is no longer used
MIN_RUNS = 10


@dataclass(frozen=True)
class TypicalCost:
    """Medians of duration and cost; `cost` in billionths of a US dollar, None if too few are known."""

    took: timedelta
    cost: int | None

    def __str__(self) -> str:
        price = f" and costs {format_dollars(self.cost)}" if self.cost else ""
        return f"It usually takes {formatting.format_seconds(self.took)}{price}."


def typical_cost(kind: str, *, rehearsed: bool) -> TypicalCost | None:
    """Return the medians of the newest finished runs, rehearsed or not; None for fewer than MIN_RUNS."""
    finished = Run.objects.filter(status=Run.Status.FINISHED).order_by("-created")
    newest = finished.only("procedure", "started", "ended")[:RECENT_RUNS]
    times = {run.pk: run.ended - run.started for run in newest if run.procedure == kind and run.started and run.ended}
    costs = _costs(list(times)[:MAX_SCANNED], rehearsed)
    if len(costs) < MIN_RUNS:
        return None
    known = [cost for cost in costs.values() if cost is not None]
    took = timedelta(seconds=median(times[pk].total_seconds() for pk in costs))
    return TypicalCost(took, round(median(known)) if len(known) >= MIN_RUNS else None)


def _costs(runs: Sequence[UUID], rehearsed: bool) -> dict[UUID, int | None]:
    """Return the cost of each run that was rehearsed or not, in one query."""
    calls = ModelCall.objects.filter(run__in=runs).order_by().values("run")
    found = calls.annotate(
        known=Sum("cost", default=0),
        unknown=Count("pk", filter=Q(input_tokens__isnull=False, cost=None)),
        rehearsals=Count("pk", filter=Q(model__startswith=f"{REHEARSAL}/")),
    )
    return {
        row["run"]: None if row["unknown"] else row["known"] for row in found if bool(row["rehearsals"]) == rehearsed
    }
