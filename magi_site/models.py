import logging
import secrets
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import Error as DBError
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone

from engine import database_errors
from engine.models.rate_limits import RateBucket, RateLimit, RateLimitReached
from engine.text.invisible_chars import visible_text
from runs.api.scopes import DEFAULT_SCOPES, TokenScope

log = logging.getLogger(__name__)

PREFIX = "magi_"
NAME_LENGTH = 60
MAX_SECRET_LENGTH = 200  # characters that are hashed; our secrets have 48
DEFAULT_DAYS = 90
MAX_DAYS = 3650
MINUTE = timedelta(minutes=1)
CREATE_LIMIT = RateLimit(20, 60)  # tokens that one user creates on the page


def digest_of(secret: str) -> str:
    return sha256(secret[:MAX_SECRET_LENGTH].encode(errors="replace")).hexdigest()


def read_scopes(text: str) -> tuple[str, ...]:
    """Parse scopes separated by commas. Raises ValueError with a sentence for an unknown scope."""
    found = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    for scope in found:
        word, kind, name = scope.partition(":")
        if word not in TokenScope.values or (kind and name not in settings.PROCEDURES):
            kinds = ", ".join(settings.PROCEDURES)
            raise ValueError(
                f"“{scope}” is no scope: {', '.join(TokenScope.values)}, each alone or for one kind of work ({kinds})."
            )
    return found


class TokenQuerySet(models.QuerySet["Token"]):
    def make(
        self, owner: Any, name: str = "", days: int = DEFAULT_DAYS, scopes: Iterable[str] = DEFAULT_SCOPES
    ) -> "Token":
        """Create a token. Only the returned object has the `secret`. `days`: 0 for a token that does not expire."""
        secret = f"{PREFIX}{secrets.token_urlsafe(32)}"
        expires = timezone.now() + timedelta(days=days) if days else None
        token = self.create(owner=owner, name=name, expires=expires, digest=digest_of(secret), scopes=",".join(scopes))
        token.secret = secret
        return token

    @transaction.atomic
    def make_limited(self, owner: Any, **token: Any) -> "Token":
        """As `make`. Raises RateLimitReached if the owner has or creates too many tokens."""
        # the lock makes a second request count the token of the first
        User.objects.select_for_update(no_key=True).get(pk=owner.pk)
        if self.live().filter(owner=owner).count() >= settings.USER_TOKENS:
            most = f"You have {settings.USER_TOKENS} tokens that hold, as many as one person may. Revoke one first."
            raise RateLimitReached(most, MINUTE.total_seconds())
        RateBucket.objects.consume({f"tokens of {owner.pk}": CREATE_LIMIT}, "You made many tokens in a short time.")
        return self.make(owner, **token)

    def live(self) -> "TokenQuerySet":
        return self.filter(Q(expires=None) | Q(expires__gt=timezone.now()), revoked=None)

    def of(self, secret: str) -> "Token | None":
        """The valid token with this secret, or None. Unknown and invalid secrets take the same time."""
        token = self.select_related("owner").filter(digest=digest_of(secret)).first()
        return token if token and token.is_valid else None

    def revoke(self) -> int:
        return self.filter(revoked=None).update(revoked=timezone.now())


class Token(models.Model):
    """Lets a program call the API as its owner, within its scopes. Only the SHA-256 (hex) of the secret is stored.

    The database revokes the tokens of an account that is disabled, see `token_triggers`.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=NAME_LENGTH, blank=True)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created = models.DateTimeField(default=timezone.now, editable=False)
    expires = models.DateTimeField(null=True, blank=True)
    scopes = models.CharField(max_length=200, blank=True, editable=False)
    revoked = models.DateTimeField(null=True, editable=False)
    last_used = models.DateTimeField(null=True, editable=False)

    objects = TokenQuerySet.as_manager()

    secret = ""  # set only on the object that `make` returns

    def __str__(self) -> str:
        return visible_text(self.name) or f"token {self.pk}"

    @property
    def state(self) -> str:
        if self.revoked:
            return "revoked"
        if self.expires and self.expires <= timezone.now():
            return "expired"
        return "holds" if self.owner.is_active else "owner disabled"

    @property
    def shown_scopes(self) -> str:
        return self.scopes.replace(",", ", ")

    @property
    def is_valid(self) -> bool:
        return self.state == "holds"

    def may(self, scope: str, kind: str) -> bool:
        return bool({scope, f"{scope}:{kind}"} & set(self.scopes.split(",")))

    def holder(self) -> User | None:
        """The owner, read from the database again; None if the token is no longer valid."""
        token = Token.objects.select_related("owner").filter(pk=self.pk).first()
        return token.owner if token and token.is_valid else None

    def mark_used(self, now: datetime) -> None:
        """Update `last_used` at most once a minute, so that calls do not wait for a write lock."""
        if self.last_used is None or self.last_used < now - MINUTE:
            unmarked = Q(last_used=None) | Q(last_used__lt=now - MINUTE)
            token_use_marks.try_to(Token.objects.filter(unmarked, pk=self.pk).update, last_used=now)


class TokenUseMarks:
    """Writes that may fail: a database that refuses writes must not refuse API calls. It is logged once."""

    RETRY_SECONDS = 60.0  # until the next try, as each may wait for a timeout

    def __init__(self) -> None:
        self._retry_at = 0.0  # of time.monotonic()
        self._logged = False

    def try_to(self, write: Callable[..., object], **values: object) -> None:
        if time.monotonic() < self._retry_at:
            return
        try:
            with transaction.atomic():
                write(**values)
        except DBError as error:
            found = database_errors.problem_of(error)
            if found is None:
                raise
            self._retry_at = time.monotonic() + self.RETRY_SECONDS
            if not self._logged:
                log.warning("When tokens were last used is not written: %s", found)
            self._logged = True
        else:
            self._logged = False


token_use_marks = TokenUseMarks()
