"""Delivery of the outbox by SMTP: each email is sent at most once.

An email is claimed in one commit and closed in another; if a worker dies in between, its state is uncertain. An email
that the server has certainly not accepted is retried. Why so: engine/DESIGN.md, Tools.
"""

import asyncio
import contextlib
import logging
import smtplib
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import parse_qs, unquote, urlsplit

from django.conf import settings
from django.db import connection
from django.utils import timezone

from engine.audit.email_entries import is_changed
from engine.doctor import DoctorFinding
from engine.llm.providers import clean_storable_text
from engine.models import Letter
from engine.models.emails import DELIVERY_TIMEOUT

from ..mail_message import UnfaithfulMessage, write_message

log = logging.getLogger(__name__)

INTERVAL = 2.0  # seconds between checks of the outbox
SMTP_TIMEOUT = 30.0  # seconds for one response of the server
MAX_CLAIM_AGE = DELIVERY_TIMEOUT / 2  # after this time a worker does not start to send: another may consider it dead
REFUSED = 400  # replies from here on: not accepted
PERMANENT = 500  # replies from here on: do not retry
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
CHANGED = "It was not sent: it is not what was approved. Verify the record of its run."
State = Letter.State


class RecipientRefused(Exception):
    """The server has certainly not accepted the email. `for_good`: a retry would fail too."""

    def __init__(self, sentence: str, *, for_good: bool = False) -> None:
        super().__init__(sentence)
        self.for_good = for_good


@dataclass(frozen=True)
class SmtpServer:
    host: str
    port: int
    tls: bool
    user: str
    password: str = field(repr=False)
    sender: str = ""

    @classmethod
    def of(cls, url: str) -> Self:
        """Parse the URL: `smtp://` uses STARTTLS if offered, `smtps://` starts with TLS. `?from=` sets the sender."""
        parts = urlsplit(url)
        tls, host, user = parts.scheme == "smtps", parts.hostname or "", unquote(parts.username or "")
        usual = user if "@" in user else f"magi@[IPv6:{host}]" if ":" in host else f"magi@{host}"
        sender = parse_qs(parts.query).get("from", [usual])[0]
        return cls(host, parts.port or (465 if tls else 25), tls, user, unquote(parts.password or ""), sender)

    @contextlib.contextmanager
    def opened(self) -> Iterator[smtplib.SMTP]:
        context = ssl.create_default_context()
        if self.tls:
            server: smtplib.SMTP = smtplib.SMTP_SSL(self.host, self.port, timeout=SMTP_TIMEOUT, context=context)
        else:
            server = smtplib.SMTP(self.host, self.port, timeout=SMTP_TIMEOUT)
        try:
            server.ehlo_or_helo_if_needed()
            self._sign_in(server, context)
            yield server
        finally:
            server.close()

    def _sign_in(self, server: smtplib.SMTP, context: ssl.SSLContext) -> None:
        safe = self.tls or self.host in LOCAL_HOSTS
        if not self.tls and server.has_extn("starttls"):
            server.starttls(context=context)
            server.ehlo()
            safe = True
        if self.user and not safe:
            raise RecipientRefused("The mail server offers no TLS, so the password was not told to it.")
        if self.user:
            server.login(self.user, self.password)


async def deliver_periodically() -> None:
    """Deliver emails for as long as the worker runs; return if there is no mail server."""
    while settings.EMAIL_URL:
        try:
            await asyncio.to_thread(_deliver)
        except Exception:
            # The boundary of a background task: an error must not end any run, and the next interval tries again.
            log.exception("The outbox could not be delivered; trying again.")
        await asyncio.sleep(INTERVAL)


async def check_mail_server() -> DoctorFinding | None:
    """Check the connection and login; None if there is no mail server."""
    return await asyncio.to_thread(_look) if settings.EMAIL_URL else None


def _look() -> DoctorFinding:
    server = SmtpServer.of(settings.EMAIL_URL)
    try:
        with server.opened() as opened:
            _accepted(*opened.noop())
    except (RecipientRefused, smtplib.SMTPException, OSError) as error:
        return DoctorFinding("mail", False, f"{server.host} did not let us in: {error}. Check EMAIL_URL.")
    return DoctorFinding("mail", True, f"{server.host} takes letters from {server.sender}.")


def _deliver() -> None:
    try:
        deliver_due()
    finally:
        connection.close()


def deliver_due() -> int:
    """Deliver everything that is due; return the number of emails sent."""
    Letter.objects.mark_uncertain()
    server, sent = SmtpServer.of(settings.EMAIL_URL), 0
    while letter := Letter.objects.claim_due():
        sent += _send(server, letter)
    return sent


def _send(server: SmtpServer, letter: Letter) -> bool:
    if is_changed(letter):
        letter.close(State.KEPT, CHANGED)
        return False
    try:
        text = write_message(server.sender, letter)
        with server.opened() as opened:
            _hand_over(opened, server.sender, letter, text)
    except UnfaithfulMessage as error:
        letter.close(State.KEPT, clean_storable_text(str(error)))
        return False
    except RecipientRefused as refused:
        if refused.for_good:
            letter.close(State.KEPT, clean_storable_text(str(refused)))
        else:
            letter.postpone(clean_storable_text(str(refused)))
        return False
    except (smtplib.SMTPException, OSError) as error:
        letter.postpone(clean_storable_text(f"The mail server could not be asked: {error}"))
        return False
    except _Doubtful as error:
        letter.close(State.UNCERTAIN, clean_storable_text(str(error)))
        return False
    return letter.close(State.SENT)


class _Doubtful(Exception):
    """The whole email was sent, but no response came."""


def _hand_over(server: smtplib.SMTP, sender: str, letter: Letter, text: bytes) -> None:
    """Send the email. Until the last step nothing is transferred, so that errors before it are safe to retry."""
    _accepted(*server.mail(sender))
    for address in letter.recipients:
        _accepted(*server.rcpt(address))
    if letter.taken and timezone.now() - letter.taken > MAX_CLAIM_AGE:
        raise RecipientRefused("The mail server was too slow.")
    try:
        code, answer = server.data(text)
    except smtplib.SMTPDataError as error:
        _accepted(error.smtp_code, error.smtp_error)
        raise
    except (smtplib.SMTPException, OSError) as error:
        raise _Doubtful(f"The mail server went away before it answered: {error}") from error
    if not (200 <= code < 300 or code >= REFUSED):
        raise _Doubtful("Nobody can read what the mail server answered.")
    _accepted(code, answer)
    with contextlib.suppress(smtplib.SMTPException, OSError):
        server.quit()


def _accepted(code: int, answer: bytes | str) -> None:
    if not 200 <= code < 300:
        said = answer.decode(errors="replace") if isinstance(answer, bytes) else answer
        raise RecipientRefused(f"The mail server refused it: {code} {said}", for_good=code >= PERMANENT)
