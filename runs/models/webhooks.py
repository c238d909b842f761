"""Webhooks and the delivery of their messages.

Why so: runs/DESIGN.md, Other doors.
"""

import base64
import secrets
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Self

from django.conf import settings
from django.db import models, transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.crypto import salted_hmac

from engine.models import RunEvent, RunEventType

ADDRESS_LENGTH, SAVED_LENGTH = 2_000, 100
# a worker that takes longer has died; the message is sent again under the same id
DELIVERY_TIMEOUT = timedelta(minutes=2)
FIRST_PAUSE, LONGEST_PAUSE, PAUSES = timedelta(seconds=5), timedelta(hours=2), 3
RETRY_PERIOD = timedelta(days=1)
KEEP_DAYS = timedelta(days=30)
BATCH_PER_WEBHOOK = 2  # so that a slow one does not delay others
BATCH_PER_USER = 6  # so that one user's slow webhooks do not delay those of others


class WebhookFormat(models.TextChoices):
    STANDARD = "standard", "Standard Webhooks"
    SLACK = "slack", "Slack"
    MATTERMOST = "mattermost", "Mattermost"
    TEAMS = "teams", "Microsoft Teams"
    NTFY = "ntfy", "ntfy"


class Webhook(models.Model):
    """A webhook. An empty filter matches everything: procedure (`kind`), preset (`saved`), one run, type of event
    (`what`).

    `saved` is the preset's name at that time. The signing key is in no row: it is derived from the installation's
    secret and `nonce`.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="hooks")
    address = models.CharField(max_length=ADDRESS_LENGTH)
    shape = models.CharField(max_length=10, choices=WebhookFormat, default=WebhookFormat.STANDARD)
    kind = models.CharField(max_length=40, blank=True)
    saved = models.CharField(max_length=SAVED_LENGTH, blank=True)
    run = models.ForeignKey("engine.Run", on_delete=models.CASCADE, null=True, related_name="+")
    what = models.CharField(max_length=10, choices=RunEventType, blank=True)
    nonce = models.CharField(max_length=64, default=secrets.token_hex, editable=False)
    made = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "runs_hook"
        ordering = ["pk"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"webhook {self.pk}"

    @property
    def key(self) -> bytes:
        return salted_hmac("runs.webhooks", self.nonce, algorithm="sha256").digest()

    @property
    def secret(self) -> str:
        """Return the key in the format that verifiers of Standard Webhooks take."""
        return f"whsec_{base64.b64encode(self.key).decode()}"

    def wants(self, happening: RunEvent, kind: str, saved: str) -> bool:
        return (
            self.what in ("", happening.what)
            and self.kind in ("", kind)
            and self.saved in ("", saved)
            and self.run_id in (None, happening.run_id)
            and happening.made >= self.made
        )


class WebhookDeliveryState(models.TextChoices):
    TO_SEND = "to_send", "To send"
    SENDING = "sending"
    SENT = "sent"
    GIVEN_UP = "given_up", "Given up"


class WebhookDeliveryQuerySet(models.QuerySet["WebhookDelivery"]):
    def under_way(self) -> Self:
        return self.filter(state__in=(WebhookDeliveryState.TO_SEND, WebhookDeliveryState.SENDING))

    def claim_due(self, busy: Iterable[int] = (), owners: Iterable[int] = ()) -> "WebhookDelivery | None":
        """Claim the next due delivery, except of webhooks in `busy` and of users in `owners`; None if there is none.

        The guard is in the UPDATE, so that only one worker gets it. A delivery is due again if its worker did not close
        it within DELIVERY_TIMEOUT.
        """
        now = timezone.now()
        due = Q(state=WebhookDeliveryState.TO_SEND, due__lte=now)
        lost = Q(state=WebhookDeliveryState.SENDING, taken__lt=now - DELIVERY_TIMEOUT)
        rows = self.filter(due | lost).exclude(hook__in=list(busy)).exclude(hook__owner__in=list(owners))
        rows = rows.order_by("due")
        for pk, attempts in rows.values_list("pk", "attempts")[:10]:
            mine = self.filter(due | lost, pk=pk, attempts=attempts)
            if mine.update(state=WebhookDeliveryState.SENDING, taken=now, attempts=F("attempts") + 1):
                return self.select_related("hook__owner", "run").get(pk=pk)
        return None

    def forget(self) -> None:
        """Delete deliveries that ended and are older than KEEP_DAYS."""
        self.exclude(state__in=(WebhookDeliveryState.TO_SEND, WebhookDeliveryState.SENDING)).filter(
            made__lt=timezone.now() - KEEP_DAYS
        ).delete()


class WebhookDelivery(models.Model):
    """One message to one webhook.

    `message_id` never changes, so that receivers can detect duplicates. The text is read from the rows when it is sent,
    so that nothing redacted meanwhile is sent.
    """

    State = WebhookDeliveryState

    hook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    happening = models.BigIntegerField()
    run = models.ForeignKey("engine.Run", on_delete=models.CASCADE, related_name="+")
    what = models.CharField(max_length=10, choices=RunEventType)
    gate = models.BigIntegerField(null=True)
    happened = models.DateTimeField()
    message_id = models.CharField(max_length=40, unique=True)
    state = models.CharField(max_length=10, choices=WebhookDeliveryState, default=WebhookDeliveryState.TO_SEND)
    status = models.PositiveSmallIntegerField(null=True)  # HTTP status of the last response
    error = models.CharField(max_length=300, blank=True)
    made = models.DateTimeField(default=timezone.now)
    until = models.DateTimeField()
    due = models.DateTimeField(default=timezone.now)
    taken = models.DateTimeField(null=True)
    ended = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)

    objects = WebhookDeliveryQuerySet.as_manager()

    class Meta:
        db_table = "runs_delivery"
        ordering = ["-pk"]
        default_permissions = ()
        constraints = [models.UniqueConstraint("hook", "happening", name="one_delivery_of_a_happening")]
        indexes = [
            models.Index(fields=["due"], condition=Q(state__in=("to_send", "sending")), name="delivery_under_way"),
        ]

    def __str__(self) -> str:
        return self.message_id

    def close(self, state: str, status: int | None, error: str = "") -> bool:
        return self._move(state=state, status=status, error=error[:300], ended=timezone.now())

    def postpone(self, status: int | None, error: str, after: float = 0) -> bool:
        """Schedule another attempt with a growing pause; give up after RETRY_PERIOD."""
        now = timezone.now()
        if now >= self.until:
            return self.close(WebhookDeliveryState.GIVEN_UP, status, error)
        pause = max(min(FIRST_PAUSE * PAUSES ** min(self.attempts - 1, 10), LONGEST_PAUSE), timedelta(seconds=after))
        due = min(now + pause, self.until)
        return self._move(state=WebhookDeliveryState.TO_SEND, status=status, error=error[:300], due=due)

    def _move(self, **values: Any) -> bool:
        mine = WebhookDelivery.objects.filter(pk=self.pk, state=WebhookDeliveryState.SENDING, attempts=self.attempts)
        return bool(mine.update(**values))

    def resend(self) -> bool:
        """Queue it again for another day under the same id."""
        now = timezone.now()
        ended = WebhookDelivery.objects.filter(pk=self.pk).exclude(state=WebhookDeliveryState.SENDING)
        return bool(
            ended.update(state=WebhookDeliveryState.TO_SEND, due=now, until=now + RETRY_PERIOD, ended=None, error="")
        )


def deliver_to(hook: Webhook, happening: RunEvent) -> WebhookDelivery:
    return WebhookDelivery(
        hook=hook,
        happening=happening.pk,
        run_id=happening.run_id,
        what=happening.what,
        gate=happening.gate,
        happened=happening.made,
        message_id=f"msg_{secrets.token_hex(16)}",
        until=timezone.now() + RETRY_PERIOD,
    )


@transaction.atomic
def create_deliveries(happenings: Iterable[RunEvent], deliveries: Iterable[WebhookDelivery]) -> int:
    """Save the deliveries and delete their events in one transaction; return the number of events.

    Events that another worker has processed are left alone.
    """
    mine = {one.pk for one in happenings}
    held = RunEvent.objects.filter(pk__in=mine).select_for_update()
    there = set(held.values_list("pk", flat=True))
    WebhookDelivery.objects.bulk_create([one for one in deliveries if one.happening in there], ignore_conflicts=True)
    RunEvent.objects.filter(pk__in=there).delete()
    return len(there)
