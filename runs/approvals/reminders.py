"""Reminders of gates that have waited for long: on the approver's page, and once a day by email.

Why so: engine/DESIGN.md, Gates.
"""

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from engine.models import EmailOptOut, Gate, Notice, Reminder
from engine.models.emails import address_complaint
from engine.text.invisible_chars import single_line

from ..site_url import address

log = logging.getLogger(__name__)

FIRST_DELAY = 1.0  # seconds after the start of a worker, so that one that restarts again and again reminds too
INTERVAL = 300.0  # seconds between checks; one over 10,000 pending gates takes some tenths of a second
MAX_NAMED = 20  # gates listed in one email; the others are counted


async def remind_periodically() -> None:
    """Send reminders for as long as the worker runs."""
    await asyncio.sleep(FIRST_DELAY)
    while True:
        try:
            await asyncio.to_thread(_remind)
        except Exception:
            # The boundary of a background task: an error must not end any run, and the next interval tries again.
            log.exception("Nobody could be reminded of what waits; trying again.")
        await asyncio.sleep(INTERVAL)


def _remind() -> None:
    try:
        send_reminders()
    finally:
        connection.close()


def send_reminders() -> None:
    """Send what is due: reminders on pages, and emails into the outbox."""
    now = timezone.now()
    while Reminder.objects.remind(now):
        pass
    if settings.EMAIL_URL:
        _write_letters(now)


def _write_letters(now: datetime) -> None:
    for user, gates in Notice.objects.due(now):
        if can_receive_email(user):
            Notice.objects.write(user, now, gates, subject_of(gates), text_of(gates))


def wants_email(user: Any) -> bool:
    return (
        bool(settings.EMAIL_URL) and can_receive_email(user) and not EmailOptOut.objects.filter(user=user.pk).exists()
    )


def can_receive_email(user: Any) -> bool:
    """Return whether the account's email address can receive email."""
    return not address_complaint(user.email)


def subject_of(gates: Sequence[Gate]) -> str:
    return "1 thing waits for you" if len(gates) == 1 else f"{len(gates)} things wait for you"


def text_of(gates: Sequence[Gate]) -> str:
    """Return titles and links only; the content is read where it is decided."""
    named = "\n\n".join(_named(gate) for gate in gates[:MAX_NAMED])
    more = f"\n\nand {len(gates) - MAX_NAMED} more." if len(gates) > MAX_NAMED else ""
    return (
        f"This waits for you, and stands still until somebody says something.\n\n{named}{more}\n\n"
        f"All of it: {address()}{reverse('waiting')}\n\n"
        f"You get one such letter a day at most. To get none: {address()}{reverse('notices')}\n"
    )


def _named(gate: Gate) -> str:
    since = f"since {gate.made:%d %b %Y, %H:%M} UTC"
    until = f", until {gate.expires:%d %b %Y, %H:%M} UTC" if gate.expires else ""
    return f"{single_line(gate.title)}\n{since}{until}\n{address()}{reverse('gate', args=[gate.pk])}"
