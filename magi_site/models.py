import secrets
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.utils import timezone

PREFIX = "magi_"
NAME_LENGTH = 60
LONGEST_SECRET = 200  # of what is looked up; ours are shorter
MINUTE = timedelta(minutes=1)


def digest_of(secret: str) -> str:
    return sha256(secret[:LONGEST_SECRET].encode(errors="replace")).hexdigest()


class TokenQuerySet(models.QuerySet["Token"]):
    def make(self, owner: Any, name: str = "", days: int | None = None) -> "Token":
        """A new token with its `secret`, which no other object of it will have."""
        secret = f"{PREFIX}{secrets.token_urlsafe(32)}"
        expires = timezone.now() + timedelta(days=days) if days else None
        token = self.create(owner=owner, name=name, expires=expires, digest=digest_of(secret))
        token.secret = secret
        return token

    def of(self, secret: str) -> "Token | None":
        """The token that a caller has, if it holds. Whatever is wrong with it takes the same way and time."""
        token = self.select_related("owner").filter(digest=digest_of(secret)).first()
        return token if token and token.holds else None

    def revoke(self) -> int:
        return self.filter(revoked=None).update(revoked=timezone.now())


class Token(models.Model):
    """Lets a program call the API as its owner. The secret itself is not kept, only its SHA-256 (hex)."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=NAME_LENGTH, blank=True)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created = models.DateTimeField(default=timezone.now, editable=False)
    expires = models.DateTimeField(null=True, blank=True)
    revoked = models.DateTimeField(null=True, editable=False)
    last_used = models.DateTimeField(null=True, editable=False)

    objects = TokenQuerySet.as_manager()

    secret = ""  # only of the object that was just made

    def __str__(self) -> str:
        return self.name or f"token {self.pk}"

    @property
    def state(self) -> str:
        if self.revoked:
            return "revoked"
        if self.expires and self.expires <= timezone.now():
            return "expired"
        return "holds" if self.owner.is_active else "owner disabled"

    @property
    def holds(self) -> bool:
        return self.state == "holds"

    def holder(self) -> User | None:
        """Whose it is, read again; None where it holds no longer."""
        token = Token.objects.select_related("owner").filter(pk=self.pk).first()
        return token.owner if token and token.holds else None

    def mark_used(self, now: datetime) -> None:
        """At most once a minute, so that calls do not queue up for a write."""
        if self.last_used is None or self.last_used < now - MINUTE:
            unmarked = Q(last_used=None) | Q(last_used__lt=now - MINUTE)
            Token.objects.filter(unmarked, pk=self.pk).update(last_used=now)
