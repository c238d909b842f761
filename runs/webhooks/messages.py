"""Which webhooks receive an event, and the message."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.urls import reverse

from engine.models import Gate, Run, RunEvent, RunEventType
from runs.models.webhooks import Webhook, WebhookDelivery, create_deliveries, deliver_to
from runs.procedure.spec import spec_of_run, specs
from runs.rights import SEE
from runs.run_object import isoformat
from runs.site_url import address

FAN_OUT_BATCH = 100
EVENT_NAMES = {RunEventType.OVER: "run.over", RunEventType.ASKS: "run.asks"}


def fan_out_events() -> bool:
    """Turn the oldest events into deliveries; return whether there may be more."""
    happenings = list(RunEvent.objects.select_related("run")[:FAN_OUT_BATCH])
    if not happenings:
        return False
    hooks = list(Webhook.objects.select_related("owner"))
    create_deliveries(happenings, [deliver_to(hook, one) for one in happenings for hook in _who_wants(hooks, one)])
    return len(happenings) == FAN_OUT_BATCH


def _who_wants(hooks: Sequence[Webhook], happening: RunEvent) -> list[Webhook]:
    """Return the webhooks that receive the event.

    Child runs are reported by their parents only. Nobody is notified of a run that the webhook's owner may not see.
    """
    run = happening.run
    if not hooks or run.parent_id or run.procedure not in specs():
        return []
    saved = _saved(run) if any(hook.saved for hook in hooks) else ""
    return [hook for hook in hooks if hook.wants(happening, run.procedure, saved) and SEE.covers(hook.owner, run)]


def _saved(run: Run) -> str:
    """Return the name of the preset with which the run was started."""
    face = spec_of_run(run)
    rows = list(face.prefetch_for_list(face.rows().filter(pk=run.pk)))
    glance = face.glances(rows).get(run.pk)
    return glance.saved if glance else ""


def delivery_message(delivery: WebhookDelivery) -> Mapping[str, Any] | None:
    """Build the message from the current rows; None if the owner may no longer see the run or its procedure is gone."""
    run = delivery.run
    if run.procedure not in specs() or not SEE.covers(delivery.hook.owner, run):
        return None
    return {
        "type": EVENT_NAMES[RunEventType(delivery.what)],
        "timestamp": isoformat(delivery.happened),
        "data": {**_of_run(run), **_of_gate(delivery), "said": _said(run, delivery.what)},
    }


def _of_run(run: Run) -> dict[str, Any]:
    face = spec_of_run(run)
    return {
        "id": str(run.pk),
        "kind": run.procedure,
        "url": f"{address()}{face.address('live', run.pk)}",
        "title": run.shown_title,
        "status": run.status,
        "outcome": run.outcome,
        "override": run.override,
        "error": (run.error or {}).get("code"),
        "ended": isoformat(run.ended),
    }


def _of_gate(delivery: WebhookDelivery) -> dict[str, Any]:
    gate = Gate.objects.filter(pk=delivery.gate).first() if delivery.gate else None
    if gate is None:
        return {}
    url = f"{address()}{reverse('gate', args=[gate.pk])}"
    return {"gate": {"id": gate.pk, "url": url, "kind": gate.kind, "title": gate.title, "digest": gate.digest}}


def _said(run: Run, what: str) -> str:
    return "Somebody is asked to decide" if what == RunEventType.ASKS else spec_of_run(run).filter_labels(run)[1]
