"""The outbox: every message that is to leave this house by mail, and how far it came.

Why so: engine/DESIGN.md, Tools.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from email.utils import make_msgid
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from engine.headers import header_complaint

SUBJECT_LENGTH = 200
DELIVERY_TIMEOUT = timedelta(minutes=5)  # whoever takes longer than this has died: a delivery has shorter deadlines
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=30), timedelta(hours=1)
RETRY_PERIOD = timedelta(days=3)
REDACTED = "Its run was redacted."


class InvalidLetter(ValueError):
    """A mail program would read something else than what is written, or its address is none."""


def address_complaint(address: str) -> str:
    """Why nothing is sent to this address, in a clause. Empty where it can be."""
    try:
        validate_email(address)
    except ValidationError:
        return f"{address} is no mail address: write it alone, as in ada@example.org"
    if not address.isascii():
        return f"{address} has letters that mail servers may not take"
    complaint = header_complaint(address)
    return f"the address {address} {complaint}" if complaint else ""


def subject_complaint(subject: str) -> str:
    complaint = header_complaint(subject)
    return f"the subject {complaint}" if complaint else ""


class EmailState(models.TextChoices):
    DRAFT = "draft"
    TO_SEND = "to_send", "To send"
    SENDING = "sending"
    SENT = "sent"
    KEPT = "kept", "Kept, not sent"
    UNCERTAIN = "uncertain", "Uncertain whether it was sent"


class EmailQuerySet(models.QuerySet["Letter"]):
    def write(
        self, state: str, run: UUID | None, to: Sequence[str], subject: str, text: str, **values: Any
    ) -> "Letter":
        """InvalidLetter where a mail program would show another head than the one that is given."""
        complaints = [*map(address_complaint, to), subject_complaint(subject)]
        if wrong := "; ".join(filter(None, complaints)):
            raise InvalidLetter(f"The letter was not written: {wrong}.")
        return self.create(state=state, run_id=run, to=", ".join(to), subject=subject, text=text, **values)

    def claim_due(self) -> "Letter | None":
        """The next one that is due, from now on under way for whoever calls: of many who ask at once one gets it."""
        due = self.filter(state=EmailState.TO_SEND, due__lte=timezone.now()).order_by("due")
        for pk in due.values_list("pk", flat=True)[:10]:
            taken = self.filter(pk=pk, state=EmailState.TO_SEND)
            if taken.update(state=EmailState.SENDING, taken=timezone.now(), attempts=F("attempts") + 1):
                return self.get(pk=pk)
        return None

    def mark_uncertain(self) -> int:
        """Say of what somebody took and never came back from that nobody knows whether it was sent."""
        lost = self.filter(state=EmailState.SENDING, taken__lt=timezone.now() - DELIVERY_TIMEOUT)
        return lost.update(state=EmailState.UNCERTAIN, error="The engine ended while it was being sent.")

    def seen_by(self, user: Any, runs: models.QuerySet[Any]) -> "EmailQuerySet":
        """Those of these runs, and what was written to this person about what waits."""
        return self.filter(Q(run__in=runs) | Q(notice__user=user))

    def erase(self, run: UUID) -> None:
        """What was not sent by then stays here without its text; so do letters that only name it."""
        named = list(self.filter(Q(run=run) | Q(notice__gates__run=run)).values_list("pk", flat=True))
        # also what a server said of it, which may name who was to get it
        self.filter(pk__in=named).update(to="", subject="", text="", error="")
        waiting = self.filter(pk__in=named, state__in=(EmailState.DRAFT, EmailState.TO_SEND))
        waiting.update(state=EmailState.KEPT, error=REDACTED)


class Letter(models.Model):
    """One message. `step`: in which of its run it was written, as calls of tools name it.

    `message_id` never changes, so that whoever gets it twice can tell. It is sent at most once: what is found under way
    after a crash is uncertain, and a person says what becomes of it."""

    State = EmailState

    run = models.ForeignKey("engine.Run", on_delete=models.PROTECT, null=True, related_name="letters")
    step = models.CharField(max_length=80, blank=True)
    message_id = models.CharField(max_length=200, unique=True, default=make_msgid)
    to = models.TextField(blank=True)
    subject = models.CharField(max_length=SUBJECT_LENGTH, blank=True)
    text = models.TextField(blank=True)
    state = models.CharField(max_length=10, choices=EmailState)
    error = models.TextField(blank=True)
    made = models.DateTimeField(default=timezone.now)
    due = models.DateTimeField(default=timezone.now)
    taken = models.DateTimeField(null=True)
    sent = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)

    objects = EmailQuerySet.as_manager()
    immutable = None

    class Meta:
        ordering = ["-pk"]
        default_permissions = ("view", "change")
        indexes = [
            models.Index(fields=["due"], condition=Q(state__in=("to_send", "sending")), name="letter_under_way"),
        ]

    def __str__(self) -> str:
        return f"letter {self.pk}"

    @property
    def recipients(self) -> list[str]:
        return [one for one in self.to.split(", ") if one]

    def close(self, state: str, error: str = "") -> bool:
        """What came of a delivery; False where somebody said otherwise meanwhile."""
        sent = timezone.now() if state == EmailState.SENT else None
        return self._move(state=state, error=error, sent=sent)

    def postpone(self, error: str) -> bool:
        """It was surely not sent: try it again later, ever less often, and in the end no more."""
        now = timezone.now()
        if now - self.made > RETRY_PERIOD:
            return self.close(EmailState.KEPT, f"Given up after {RETRY_PERIOD.days} days. {error}")
        return self._move(state=EmailState.TO_SEND, error=error, due=self._next(now))

    def _next(self, now: datetime) -> datetime:
        return now + min(FIRST_PAUSE * 2 ** min(self.attempts, 10), LONGEST_PAUSE)

    def _move(self, **values: Any) -> bool:
        mine = Letter.objects.filter(pk=self.pk, state=EmailState.SENDING, attempts=self.attempts)
        if values["state"] == EmailState.TO_SEND:  # what was redacted meanwhile goes to nobody
            erased = {"state": EmailState.KEPT, "error": REDACTED}
        else:
            erased = values | {"error": ""}
        return bool(mine.filter(to="").update(**erased) or mine.update(**values))

    def resolve(self, state: str) -> bool:
        """A person says of an uncertain one what became of it, or what shall; one that was kept may be sent after all,
        where its text is still there."""
        rows = Letter.objects.filter(pk=self.pk, state=EmailState.UNCERTAIN)
        if state == EmailState.TO_SEND:
            rows = Letter.objects.filter(pk=self.pk, state__in=(EmailState.UNCERTAIN, EmailState.KEPT)).exclude(to="")
        return bool(rows.update(state=state, due=timezone.now(), error=""))
