"""The hooks of one person as the library shows them: how far messages came to each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q

from engine.models import Run
from runs.face import face_of, faces
from runs.models.hooks import Delivery, DeliveryState, Hook
from runs.rights import SEE

from .hook_forms import WHATS

PAGE = 50
SIGNS: Mapping[str, str] = {
    DeliveryState.TO_SEND: "clock",
    DeliveryState.SENDING: "dots",
    DeliveryState.SENT: "out",
    DeliveryState.GIVEN_UP: "warn",
}
WORDS: Mapping[str, str] = {**dict(DeliveryState.choices), DeliveryState.SENT: "Arrived"}


@dataclass(frozen=True)
class Kept:
    hook: Any

    @property
    def about(self) -> str:
        """Which runs, and what of them, in words."""
        kind, saved = self.hook.kind, self.hook.saved
        which = faces()[kind].nouns.capitalize() if kind in faces() else kind or "All kinds"
        which = f"{which} by “{saved}”" if saved else which
        which = "One run" if self.hook.run_id else which
        return f"{which}: {dict(WHATS)[self.hook.what].lower()}"


@dataclass(frozen=True)
class Sent:
    """One message. A run that its owner may not see any more has neither title nor address."""

    delivery: Delivery
    title: str
    address: str

    @property
    def sign(self) -> str:
        return SIGNS[self.delivery.state]

    @property
    def word(self) -> str:
        return WORDS[self.delivery.state]

    @property
    def again(self) -> bool:
        return self.delivery.state != DeliveryState.SENDING


def hooks_of(user: Any) -> list[Kept]:
    """Each with how many messages stand how, of those that are still listed."""
    counted = Hook.objects.filter(owner=user).annotate(
        arrived=_in(DeliveryState.SENT),
        under_way=_in(DeliveryState.TO_SEND, DeliveryState.SENDING),
        given_up=_in(DeliveryState.GIVEN_UP),
    )
    return [Kept(hook) for hook in counted]


def _in(*states: str) -> Count:
    return Count("deliveries", filter=Q(deliveries__state__in=states))


def sent_to(hook: Hook, before: int = 0) -> tuple[Sequence[Sent], int]:
    """The newest messages to it, and the number of the last one where there are older ones."""
    rows = hook.deliveries.select_related("run")
    rows = rows.filter(pk__lt=before) if before else rows
    found = list(rows[: PAGE + 1])
    runs = Run.objects.filter(pk__in=[one.run_id for one in found])
    seen = set(SEE.within(runs, hook.owner).values_list("pk", flat=True))
    older = found[PAGE - 1].pk if len(found) > PAGE else 0
    return [_sent(one, one.run_id in seen) for one in found[:PAGE]], older


def _sent(one: Delivery, seen: bool) -> Sent:
    if not seen or one.run.procedure not in faces():
        return Sent(one, "", "")
    return Sent(one, one.run.shown_title, face_of(one.run).address("live", one.run_id))
