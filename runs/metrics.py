"""Prometheus metrics, counted from the rows at each request, so that all processes report the same.

Why so: runs/DESIGN.md, Other doors.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, Min, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.module_loading import import_string
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from engine.llm.pricing import DOLLAR
from engine.models import Gate, ModelCall, Run
from engine.version import VERSION
from runs.models.webhooks import WebhookDelivery, WebhookDeliveryState

RECENT = timedelta(minutes=5)
NEWEST = 50_000  # newest calls that are read: recent ones are found by id, since there is no index by time


def metrics_text() -> bytes:
    return generate_latest(RowCollector())


class RowCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        yield _gauge("magi_info", "The version that answers.", ["version"], [((VERSION,), 1)])
        yield _runs()
        yield from _queue()
        yield from _gates()
        yield from _calls()
        yield _deliveries()
        for path in settings.METRIC_GAUGES:
            yield _gauge(*import_string(path)())


def _gauge(name: str, about: str, labels: list[str], values: Any) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, about, labels=labels)
    for of, value in values:
        family.add_metric([str(one) for one in of], float(value))
    return family


def _runs() -> Metric:
    counted = Run.objects.order_by().values_list("procedure", "status").annotate(number=Count("pk"))
    return _gauge("magi_runs", "Runs there are.", ["kind", "status"], [((k, s), n) for k, s, n in counted])


def _queue() -> Iterator[Metric]:
    """Count runs that wait for a worker. A suspended run counts from its wake-up time on."""
    now = timezone.now()
    since = Run.objects.queued().annotate(since=Coalesce("wakes_at", "created")).filter(since__lte=now)
    yield _alone("magi_queue_runs", "Runs that an engine could take now.", since.count())
    yield _alone("magi_queue_age_seconds", "How long the oldest of them waits.", _age(since, "since", now))
    neglected = Run.objects.neglected().exists()
    yield _alone("magi_engine_at_work", "0 where nobody takes what is queued.", not neglected)


def _gates() -> Iterator[Metric]:
    pending = Gate.objects.pending()
    counted = pending.order_by().values_list("run__procedure", "kind").annotate(number=Count("pk"))
    yield _gauge(
        "magi_gates_pending", "What waits for somebody.", ["kind", "gate"], [((k, g), n) for k, g, n in counted]
    )
    yield _alone("magi_gates_age_seconds", "How long the oldest of it waits.", _age(pending, "made", timezone.now()))


def _calls() -> Iterator[Metric]:
    """Count calls of the last five minutes only, since summing all calls at each request would take too long."""
    newest = ModelCall.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    recent = ModelCall.objects.filter(pk__gt=newest - NEWEST, started__gte=timezone.now() - RECENT).order_by()
    by_model = recent.values_list("model", "status", "error_code").annotate(
        Count("pk"), Sum("input_tokens"), Sum("output_tokens"), Sum("cost")
    )
    outcomes: dict[tuple[str, str], int] = {}
    tokens: dict[tuple[str, str], int] = {}
    costs: dict[tuple[str], float] = {}
    for model, status, code, number, read, written, cost in by_model:
        provider = model.partition("/")[0]
        _add(outcomes, (provider, code or status), number)
        _add(tokens, (provider, "in"), read or 0)
        _add(tokens, (provider, "out"), written or 0)
        _add(costs, (provider,), (cost or 0) / DOLLAR)
    during = "in the last five minutes"
    yield _gauge("magi_recent_calls", f"Calls begun {during}.", ["provider", "outcome"], outcomes.items())
    yield _gauge("magi_recent_tokens", f"Tokens of calls begun {during}.", ["provider", "direction"], tokens.items())
    yield _gauge("magi_recent_cost_dollars", f"Known cost of calls begun {during}.", ["provider"], costs.items())


def _add(sums: dict[Any, Any], key: Any, value: float) -> None:
    sums[key] = sums.get(key, 0) + value


def _deliveries() -> Metric:
    going = WebhookDelivery.objects.exclude(state=WebhookDeliveryState.SENT).order_by()
    counted = going.values_list("state").annotate(number=Count("pk"))
    return _gauge(
        "magi_deliveries", "Webhook messages that have not arrived.", ["state"], [((s,), n) for s, n in counted]
    )


def _alone(name: str, about: str, value: float) -> Metric:
    return _gauge(name, about, [], [((), value)])


def _age(rows: QuerySet[Any], field: str, now: datetime) -> float:
    oldest = rows.aggregate(oldest=Min(field))["oldest"]
    return max(0.0, (now - oldest).total_seconds()) if oldest else 0.0
