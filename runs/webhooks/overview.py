"""A user's webhooks and their deliveries, for the library."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q

from engine.models import Run
from runs.models.webhooks import Webhook, WebhookDelivery, WebhookDeliveryState
from runs.procedure.spec import spec_of_run, specs
from runs.rights import SEE

from .forms import EVENT_CHOICES

PAGE_SIZE = 50
STATE_ICONS: Mapping[str, str] = {
    WebhookDeliveryState.TO_SEND: "clock",
    WebhookDeliveryState.SENDING: "dots",
    WebhookDeliveryState.SENT: "out",
    WebhookDeliveryState.GIVEN_UP: "warn",
}
STATE_LABELS: Mapping[str, str] = {**dict(WebhookDeliveryState.choices), WebhookDeliveryState.SENT: "Arrived"}


@dataclass(frozen=True)
class WebhookSummary:
    hook: Any

    @property
    def about(self) -> str:
        """Describe the webhook's filters in words."""
        kind, saved = self.hook.kind, self.hook.saved
        which = specs()[kind].nouns.capitalize() if kind in specs() else kind or "All types"
        which = f"{which} by “{saved}”" if saved else which
        which = "One run" if self.hook.run_id else which
        return f"{which}: {dict(EVENT_CHOICES)[self.hook.what].lower()}"


@dataclass(frozen=True)
class DeliveryLine:
    """One message. Title and address are empty if the owner may no longer see the run."""

    delivery: WebhookDelivery
    title: str
    address: str

    @property
    def sign(self) -> str:
        return STATE_ICONS[self.delivery.state]

    @property
    def word(self) -> str:
        return STATE_LABELS[self.delivery.state]

    @property
    def again(self) -> bool:
        return self.delivery.state != WebhookDeliveryState.SENDING


def webhooks_of(user: Any) -> list[WebhookSummary]:
    """Return the user's webhooks with the number of stored deliveries in each state."""
    counted = Webhook.objects.filter(owner=user).annotate(
        arrived=_in(WebhookDeliveryState.SENT),
        under_way=_in(WebhookDeliveryState.TO_SEND, WebhookDeliveryState.SENDING),
        given_up=_in(WebhookDeliveryState.GIVEN_UP),
    )
    return [WebhookSummary(hook) for hook in counted]


def _in(*states: str) -> Count:
    return Count("deliveries", filter=Q(deliveries__state__in=states))


def deliveries_of(hook: Webhook, before: int = 0) -> tuple[Sequence[DeliveryLine], int]:
    """Return the newest deliveries, and the id of the last one if there are older ones, else 0."""
    rows = hook.deliveries.select_related("run")
    rows = rows.filter(pk__lt=before) if before else rows
    found = list(rows[: PAGE_SIZE + 1])
    runs = Run.objects.filter(pk__in=[one.run_id for one in found])
    seen = set(SEE.within(runs, hook.owner).values_list("pk", flat=True))
    older = found[PAGE_SIZE - 1].pk if len(found) > PAGE_SIZE else 0
    return [_sent(one, one.run_id in seen) for one in found[:PAGE_SIZE]], older


def _sent(one: WebhookDelivery, seen: bool) -> DeliveryLine:
    if not seen or one.run.procedure not in specs():
        return DeliveryLine(one, "", "")
    return DeliveryLine(one, one.run.shown_title, spec_of_run(one.run).address("live", one.run_id))
