"""Signing in: limits of attempts, the queues in which passwords are checked, and the log entries.

An attempt is counted before its password is checked. It counts against three limits: the account from this address,
the address, and (a wider one) the account from any address. If the password was right it counts against a separate wide
limit instead, because a right password costs as much hashing as a wrong one.

Known browsers, in which somebody has signed in with the current password of the account, share one limit of their own.
Attackers cannot use it up, so they cannot lock the owner out. Unknown accounts are treated like existing ones.

Why so: magi_site/DESIGN.md, Signing in and places.
"""

import json
import logging
import os
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.core import signing
from django.core.validators import MaxLengthValidator
from django.db import close_old_connections
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import salted_hmac

from engine.models.rate_limits import Limits, RateBucket, RateLimit, RateLimitReached
from engine.models.runs import in_transaction

log = logging.getLogger(__name__)

OF_ACCOUNT_HERE = RateLimit(5, 180)  # five at once, then one every three minutes
OF_ADDRESS = RateLimit(20, 30)
OF_ACCOUNT = RateLimit(100, 60)
RIGHT_PASSWORD_LIMIT = RateLimit(30, 20)  # per account: users could fill the queue with their own password
TOO_MANY = "There were too many attempts to sign in."
LONGEST_PASSWORD = 4096  # characters
MAX_QUEUED = 8  # attempts that wait
MAX_QUEUED_PER_ACCOUNT = 2  # attempts that wait or are checked
QUEUE_TIMEOUT = 10.0  # seconds
BUSY = "Many people are signing in just now."
RETRY_AFTER = 5.0  # seconds
ONE_ACCOUNT = "Others are signing in to this account just now."
KNOWN_BROWSER_SECONDS = 180 * 86_400  # 180 days


class PasswordChecksBusy(RateLimitReached):
    """The queue of attempts is full. The response is a 503 and no 429, as this user did not try too often."""


class PasswordQueue:
    """Limits how many passwords are hashed at once, in all (`at_once`) and per account.

    Attempts that wait hold no database connection.
    """

    def __init__(self, at_once: int) -> None:
        self.all = threading.BoundedSemaphore(at_once + MAX_QUEUED)
        self.places = threading.BoundedSemaphore(at_once)
        self._of: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def place(self, name: str) -> Iterator[None]:
        """Wait for a place.

        Raises RateLimitReached if the account has too many attempts here, and PasswordChecksBusy if the queue is full
        or no place becomes free within QUEUE_TIMEOUT.
        """
        with self.share(_account(name)), _got(self.all, 0):
            if not in_transaction():
                close_old_connections()
            with _got(self.places, QUEUE_TIMEOUT):
                yield

    @contextmanager
    def share(self, account: str) -> Iterator[None]:
        with self._lock:
            if self._of[account] >= MAX_QUEUED_PER_ACCOUNT:
                raise RateLimitReached(f"{ONE_ACCOUNT} Try again in a few seconds.", RETRY_AFTER)
            self._of[account] += 1
        try:
            yield
        finally:
            with self._lock:
                self._of[account] -= 1
                self._of += Counter()  # removes accounts with a count of zero


@contextmanager
def _got(semaphore: threading.BoundedSemaphore, seconds: float) -> Iterator[None]:
    if not semaphore.acquire(timeout=seconds):
        raise PasswordChecksBusy(f"{BUSY} Try again in a few seconds.", RETRY_AFTER)
    try:
        yield
    finally:
        semaphore.release()


# one hash takes a processor for a third of a second; half of the processors stay free for other requests
UNKNOWN_BROWSER_QUEUE = PasswordQueue(max(1, (os.cpu_count() or 1) // 2))
# a separate queue, so that floods of attempts cannot block known browsers and signed-in users
KNOWN_BROWSER_QUEUE = PasswordQueue(1)


@dataclass
class SignInAttempt:
    right: bool = False


@contextmanager
def check_attempt(request: HttpRequest, name: str) -> Iterator[SignInAttempt]:
    """Count one attempt to sign in and wait for a place to hash its password.

    Raises RateLimitReached before anything is hashed. The caller sets `right` on the attempt if the password was right.
    """
    known = _is_known(request, name)
    wrong = _limits(request, _account(name), known)
    right = {f"right password of {_account(name)}": RIGHT_PASSWORD_LIMIT}
    RateBucket.objects.peek({**wrong, **right}, TOO_MANY)
    made = SignInAttempt()
    queue = KNOWN_BROWSER_QUEUE if known or request.user.is_authenticated else UNKNOWN_BROWSER_QUEUE
    with queue.place(name):
        RateBucket.objects.consume({**wrong, **right}, TOO_MANY)  # one of them is refunded afterwards
        yield made
    RateBucket.objects.refund(wrong if made.right else right)
    _log_attempt(request, name, made)


def shorten_passwords(form: forms.BaseForm) -> None:
    """Make the form refuse passwords of more than LONGEST_PASSWORD characters before it hashes them."""
    for field in form.fields.values():
        if isinstance(field.widget, forms.PasswordInput):
            field.validators.append(MaxLengthValidator(LONGEST_PASSWORD))


# ---- account and address ----------------------------------------------------------------------------------


def _limits(request: HttpRequest, account: str, known: bool) -> Limits:
    if known:
        return {f"known browsers of {account}": OF_ACCOUNT_HERE}
    address = network_of(request)
    return {
        f"account {account} at {address}": OF_ACCOUNT_HERE,
        f"address {address}": OF_ADDRESS,
        f"account {account}": OF_ACCOUNT,
    }


def _account(name: str) -> str:
    """A keyed digest of the normalised name. The name itself is not stored: it may be a password in the wrong field."""
    one_way = unicodedata.normalize("NFKC", name).casefold()
    return salted_hmac("magi_site.sign_in", one_way, algorithm="sha256").hexdigest()


def network_of(request: HttpRequest) -> str:
    """The address of the client to count attempts by; for IPv6 its /64 network, which one client can use as a whole."""
    there = _read_address(client_address(request))
    if there is None:
        return "unknown"
    return str(ip_network((there, 64), strict=False)) if isinstance(there, IPv6Address) else str(there)


def client_address(request: HttpRequest) -> str:
    """The address of the client. X-Forwarded-For is read only as far as the proxies of `MAGI_PROXIES` wrote it."""
    address = request.META.get("REMOTE_ADDR") or "unknown"
    hops = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    while hops and _is_proxy(address):
        hop = hops.pop().strip()
        if _read_address(hop) is None:
            break
        address = hop
    return address


def _is_proxy(address: str) -> bool:
    there = _read_address(address)
    if there is None:
        return False
    written = {there, ip_address(address)}  # `MAGI_PROXIES` may name it either way
    return any(each in network for network in settings.PROXIES for each in written)


def _read_address(text: str) -> IPv4Address | IPv6Address | None:
    """Parse an address. IPv4-mapped IPv6 addresses become IPv4, as they would all be in one /64 network."""
    try:
        there = ip_address(text)
    except ValueError:
        return None
    return getattr(there, "ipv4_mapped", None) or there


def _is_known(request: HttpRequest, name: str) -> bool:
    """Whether this browser has signed in to this account with its current password."""
    try:
        known = signing.loads(request.COOKIES.get(_cookie(), ""), salt=_cookie(), max_age=KNOWN_BROWSER_SECONDS)
    except signing.BadSignature:
        return False
    user = get_user_model().objects.filter(username=name).first()
    return user is not None and known == _known_by(user)


def _cookie() -> str:
    """The name of the cookie, which is also the salt of its signature."""
    return "known-browser" if settings.ENVIRONMENT.local else "__Host-known-browser"


def _known_by(user: Any) -> dict[str, str]:
    """The content of the cookie. It has part of a keyed digest of the password's hash, so a new password ends it."""
    return {"account": _account(user.get_username()), "password": user.get_session_auth_hash()[:16]}


def remember_browser(response: HttpResponse, user: Any) -> None:
    response.set_cookie(
        _cookie(),
        signing.dumps(_known_by(user), salt=_cookie()),
        max_age=KNOWN_BROWSER_SECONDS,
        secure=not settings.ENVIRONMENT.local,
        httponly=True,
        samesite="Lax",
    )


# ---- the form and its page --------------------------------------------------------------------------------


class SignInForm(AuthenticationForm):
    def __init__(self, request: Any = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        shorten_passwords(self)

    def clean(self) -> dict[str, Any]:
        name, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if not name or not password:
            return self.cleaned_data
        with check_attempt(cast(HttpRequest, self.request), name) as made:
            try:
                cleaned = super().clean()
                made.right = True
            except forms.ValidationError as error:
                self.add_error(None, error)
                cleaned = self.cleaned_data
        return cleaned


class SignInView(LoginView):
    """The sign-in page, for the admin too."""

    authentication_form = SignInForm
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().post(request, *args, **kwargs)
        except RateLimitReached as reached:
            # an unbound form: validating it again would be another attempt
            form = SignInForm(initial={"username": request.POST.get("username", "")[:150]})
            context = self.get_context_data(form=form, refused=str(reached))
            return refusal_response(self.render_to_response(context), reached)

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        remember_browser(response, form.get_user())
        return response


def refusal_response(response: HttpResponse, reached: RateLimitReached) -> HttpResponse:
    """The response with status 503 or 429 and Retry-After."""
    response.status_code = 503 if isinstance(reached, PasswordChecksBusy) else 429
    response.headers["Retry-After"] = str(reached.seconds)
    # Django would log an error for each 503 of a flood; it has no public name for this flag
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response


# ---- the log ----------------------------------------------------------------------------------------------


def _log_attempt(request: HttpRequest, name: str, made: SignInAttempt) -> None:
    """Log an attempt. Names are JSON, which escapes line breaks and terminal codes.

    An unknown name is not logged: it may be a password in the wrong field.
    """
    known = get_user_model().objects.filter(username=name).exists()
    whose = json.dumps(name[:150]) if known else "an unknown account"
    if made.right:
        log.info("The right password for %s came from %s.", whose, client_address(request))
    else:
        log.warning("A wrong password for %s came from %s.", whose, client_address(request))
