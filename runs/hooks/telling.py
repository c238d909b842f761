"""Who is told of what happened, and in which words."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.urls import reverse

from engine.models import Gate, Happening, Run, What
from runs.api.objects import time_of
from runs.face import face_of, faces
from runs.models.hooks import Delivery, Hook, deliver_to, spread
from runs.rights import SEE
from runs.site import address

AT_ONCE = 100
TYPES = {What.OVER: "run.over", What.ASKS: "run.asks"}


def spread_some() -> bool:
    """Write down who is to be told of the oldest that happened; whether there may be more."""
    happenings = list(Happening.objects.select_related("run")[:AT_ONCE])
    if not happenings:
        return False
    hooks = list(Hook.objects.select_related("owner"))
    spread(happenings, [deliver_to(hook, one) for one in happenings for hook in _who_wants(hooks, one)])
    return len(happenings) == AT_ONCE


def _who_wants(hooks: Sequence[Hook], happening: Happening) -> list[Hook]:
    """Runs that others have made are told of by those. Nobody is told of what its owner may not see."""
    run = happening.run
    if not hooks or run.parent_id or run.procedure not in faces():
        return []
    saved = _saved(run) if any(hook.saved for hook in hooks) else ""
    return [hook for hook in hooks if hook.wants(happening, run.procedure, saved) and SEE.covers(hook.owner, run)]


def _saved(run: Run) -> str:
    """The name of the saved set by which it was made."""
    face = face_of(run)
    rows = list(face.listed(face.rows().filter(pk=run.pk)))
    glance = face.glances(rows).get(run.pk)
    return glance.saved if glance else ""


def message_of(delivery: Delivery) -> Mapping[str, Any] | None:
    """In words of now; None where the hook's owner may not see the run any more, or its kind is gone from here."""
    run = delivery.run
    if run.procedure not in faces() or not SEE.covers(delivery.hook.owner, run):
        return None
    return {
        "type": TYPES[What(delivery.what)],
        "timestamp": time_of(delivery.happened),
        "data": {**_of_run(run), **_of_gate(delivery), "said": _said(run, delivery.what)},
    }


def _of_run(run: Run) -> dict[str, Any]:
    face = face_of(run)
    return {
        "id": str(run.pk),
        "kind": run.procedure,
        "url": f"{address()}{face.address('live', run.pk)}",
        "title": run.shown_title,
        "status": run.status,
        "outcome": run.outcome,
        "override": run.override,
        "error": (run.error or {}).get("code"),
        "ended": time_of(run.ended),
    }


def _of_gate(delivery: Delivery) -> dict[str, Any]:
    gate = Gate.objects.filter(pk=delivery.gate).first() if delivery.gate else None
    if gate is None:
        return {}
    url = f"{address()}{reverse('gate', args=[gate.pk])}"
    return {"gate": {"id": gate.pk, "url": url, "kind": gate.kind, "title": gate.title, "digest": gate.digest}}


def _said(run: Run, what: str) -> str:
    return "Somebody is asked to decide" if what == What.ASKS else face_of(run).shown(run)[1]
