"""Signing in: how often somebody may try, how many passwords are looked at at once, and what the log says of it.

An attempt is counted before its password is looked at. It counts for the account at this address, for the address, and,
more slowly, for the account wherever it comes from; where the password was right it counts for a limit of its own
instead, which is wide, as hashing costs the same whether a password is right or wrong. The browsers in which somebody
has signed in to this account with the password that it has now have one count together instead, so that no stranger can
keep an account's owner out. Whether there is such an account makes no difference to any of this.

Why so: docs/decisions.md, Signing in and places.
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

OF_ACCOUNT_HERE = RateLimit(5, 180)  # five at once, then one in three minutes
OF_ADDRESS = RateLimit(20, 30)
OF_ACCOUNT = RateLimit(100, 60)
RIGHT_PASSWORD_LIMIT = RateLimit(30, 20)  # of an account, so that nobody fills the line with a password of their own
TOO_MANY = "There were too many attempts to sign in."
LONGEST_PASSWORD = 4096  # characters
MAX_QUEUED = 8  # that wait for a place
MAX_QUEUED_PER_ADDRESS = 2  # of one account that wait or are looked at
QUEUE_TIMEOUT = 10.0  # seconds in the line
BUSY = "Many people are signing in just now."
RETRY_AFTER = 5.0
ONE_ACCOUNT = "Others are signing in to this account just now."
KNOWN_BROWSER_SECONDS = 180 * 86_400  # seconds for which a browser is known


class PasswordChecksBusy(RateLimitReached):
    """The line of those whose passwords are to be looked at is full. It is nobody's fault: 503."""


class PasswordQueue:
    """Where passwords are hashed, `at_once`, of one account only a few. Whoever waits holds no database connection."""

    def __init__(self, at_once: int) -> None:
        self.all = threading.BoundedSemaphore(at_once + MAX_QUEUED)
        self.places = threading.BoundedSemaphore(at_once)
        self._of: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def place(self, name: str) -> Iterator[None]:
        """LimitReached where the account of this name has its share, Busy where the line is too long."""
        with self.share(_account(name)), _got(self.all, 0):
            if not in_transaction():
                close_old_connections()
            with _got(self.places, QUEUE_TIMEOUT):
                yield

    @contextmanager
    def share(self, account: str) -> Iterator[None]:
        with self._lock:
            if self._of[account] >= MAX_QUEUED_PER_ADDRESS:
                raise RateLimitReached(f"{ONE_ACCOUNT} Try again in a few seconds.", RETRY_AFTER)
            self._of[account] += 1
        try:
            yield
        finally:
            with self._lock:
                self._of[account] -= 1
                self._of += Counter()  # forgets the accounts of which nobody is left


@contextmanager
def _got(semaphore: threading.BoundedSemaphore, seconds: float) -> Iterator[None]:
    if not semaphore.acquire(timeout=seconds):
        raise PasswordChecksBusy(f"{BUSY} Try again in a few seconds.", RETRY_AFTER)
    try:
        yield
    finally:
        semaphore.release()


# a hash takes a processor for a third of a second: half of them stay free for everything else
UNKNOWN_BROWSER_QUEUE = PasswordQueue(max(1, (os.cpu_count() or 1) // 2))
# whom a flood of strangers must not keep out: known browsers, and whoever is signed in
KNOWN_BROWSER_QUEUE = PasswordQueue(1)


@dataclass
class SignInAttempt:
    right: bool = False


@contextmanager
def check_attempt(request: HttpRequest, name: str) -> Iterator[SignInAttempt]:
    """One look at a password of the account of this name. LimitReached, before anything is hashed, where it may not be.

    Whoever makes the attempt says whether the password was `right`.
    """
    known = _is_known(request, name)
    wrong = _limits(request, _account(name), known)
    right = {f"right password of {_account(name)}": RIGHT_PASSWORD_LIMIT}
    RateBucket.objects.peek({**wrong, **right}, TOO_MANY)
    made = SignInAttempt()
    line = KNOWN_BROWSER_QUEUE if known or request.user.is_authenticated else UNKNOWN_BROWSER_QUEUE
    with line.place(name):
        RateBucket.objects.consume({**wrong, **right}, TOO_MANY)  # which of them it is shows afterwards
        yield made
    RateBucket.objects.refund(wrong if made.right else right)
    _write_down(request, name, made)


def shorten_passwords(form: forms.BaseForm) -> None:
    """Refuse, before they are hashed, passwords that are longer than any."""
    for field in form.fields.values():
        if isinstance(field.widget, forms.PasswordInput):
            field.validators.append(MaxLengthValidator(LONGEST_PASSWORD))


# ---- whose attempt it is ----------------------------------------------------------------------------------


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
    """A digest of the name, the same for all ways to write it. What was typed may be a password in the wrong field."""
    one_way = unicodedata.normalize("NFKC", name).casefold()
    return salted_hmac("magi_site.sign_in", one_way, algorithm="sha256").hexdigest()


def network_of(request: HttpRequest) -> str:
    """Where a request comes from: what only its sender can have. With IPv6 that is a network of 64 bits."""
    there = _read_address(client_address(request))
    if there is None:
        return "unknown"
    return str(ip_network((there, 64), strict=False)) if isinstance(there, IPv6Address) else str(there)


def client_address(request: HttpRequest) -> str:
    """Of the visitor; what a proxy says of it is believed where `MAGI_PROXIES` names the proxy, and nobody else."""
    address = request.META.get("REMOTE_ADDR") or "unknown"
    hops = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    while hops and _is_proxy(address):
        said = hops.pop().strip()
        if _read_address(said) is None:
            break
        address = said
    return address


def _is_proxy(address: str) -> bool:
    there = _read_address(address)
    if there is None:
        return False
    written = {there, ip_address(address)}  # `MAGI_PROXIES` may name it either way
    return any(each in network for network in settings.PROXIES for each in written)


def _read_address(text: str) -> IPv4Address | IPv6Address | None:
    """Of IPv4 also where it is written as one of IPv6, as a socket for both does: all of those are in one network."""
    try:
        there = ip_address(text)
    except ValueError:
        return None
    return getattr(there, "ipv4_mapped", None) or there


def _is_known(request: HttpRequest, name: str) -> bool:
    """Whether somebody has signed in to this account in this browser since its password was changed."""
    try:
        known = signing.loads(request.COOKIES.get(_cookie(), ""), salt=_cookie(), max_age=KNOWN_BROWSER_SECONDS)
    except signing.BadSignature:
        return False
    user = get_user_model().objects.filter(username=name).first()
    return user is not None and known == _known_by(user)


def _cookie() -> str:
    """Its name, out of which its signature is salted, too."""
    return "known-browser" if settings.ENVIRONMENT.local else "__Host-known-browser"


def _known_by(user: Any) -> dict[str, str]:
    """What a cookie says of an account: part of a keyed digest of its password's hash, from which nobody guesses it."""
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
    """The one page to sign in on, for the admin, too."""

    authentication_form = SignInForm
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().post(request, *args, **kwargs)
        except RateLimitReached as reached:
            # as it was sent, without asking again whether it is right
            form = SignInForm(initial={"username": request.POST.get("username", "")[:150]})
            context = self.get_context_data(form=form, refused=str(reached))
            return refusal_response(self.render_to_response(context), reached)

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        remember_browser(response, form.get_user())
        return response


def refusal_response(response: HttpResponse, reached: RateLimitReached) -> HttpResponse:
    """The page that says so, with the status for it."""
    response.status_code = 503 if isinstance(reached, PasswordChecksBusy) else 429
    response.headers["Retry-After"] = str(reached.seconds)
    # a 503 would be an error in the log for each request of a flood; Django has no public name for this
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response


# ---- the log ----------------------------------------------------------------------------------------------


def _write_down(request: HttpRequest, name: str, made: SignInAttempt) -> None:
    """Names as JSON, in which nothing is a line break or moves a terminal; an unknown one may be a password."""
    known = get_user_model().objects.filter(username=name).exists()
    whose = json.dumps(name[:150]) if known else "an unknown account"
    if made.right:
        log.info("The right password for %s came from %s.", whose, client_address(request))
    else:
        log.warning("A wrong password for %s came from %s.", whose, client_address(request))
