"""Addresses that show something without an account, each by a secret of its own: links to one record, with how often
each was opened, and badges."""

import secrets
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

DEFAULT_DAYS = 14
MAX_DAYS = 365
MAX_LINKS = 20  # of one record that hold at once
LONGEST_SECRET = 100  # of what is looked up; ours are shorter
FOR_WHOM_LENGTH = 60
WORDS_LENGTH = 40  # of a badge
VIEW_PERMISSION = timedelta(hours=1)  # who comes back within it is still looking


class SecretLinkQuerySet(models.QuerySet[Any]):
    def holding(self) -> Self:
        """What has neither run out nor been ended. Whether its maker may still show it is not asked here."""
        return self.filter(ended=None, until__gt=timezone.now())

    def of(self, secret: str) -> Any:
        """The one that has this secret, if it holds."""
        return self.holding().select_related("run", "by").filter(digest=_digest(secret)).first()


class SecretLink(models.Model):
    """What holds by a secret. That is kept nowhere: who loses it makes another one."""

    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    digest = models.CharField(max_length=64, unique=True)
    made = models.DateTimeField(default=timezone.now)
    until = models.DateTimeField()
    ended = models.DateTimeField(null=True)

    objects = SecretLinkQuerySet.as_manager()
    secret = ""

    class Meta:
        abstract = True
        ordering = ["-made", "-pk"]
        default_permissions = ()

    @classmethod
    def create(cls, by: Any, days: int, **shows: Any) -> Self:
        """Not kept yet; with its `secret`, which no other object of it will have."""
        secret = secrets.token_urlsafe(32)
        link = cls(by=by, digest=_digest(secret), **shows)
        link.until = link.made + timedelta(days=days)
        link.secret = secret
        return link

    @property
    def is_valid(self) -> bool:
        return self.ended is None and self.until > timezone.now()


class Share(SecretLink):
    """A link to one record."""

    run = models.ForeignKey("engine.Run", on_delete=models.CASCADE, related_name="shares")
    for_whom = models.CharField(max_length=FOR_WHOM_LENGTH, blank=True)

    class Meta(SecretLink.Meta):
        pass

    def __str__(self) -> str:
        return self.for_whom or f"link {self.pk}"

    @classmethod
    def new(cls, run: Any, by: Any, for_whom: str, days: int) -> Self:
        return cls.create(by, days, run=run, for_whom=for_whom)

    def count_view(self, now: datetime) -> None:
        """Somebody has opened it: whoever comes within the hour is counted with that, for strangers make no rows."""
        ShareLook.count(now, share=self)


class Badge(SecretLink):
    """A small picture of how one run came out, or the newest one that was started from the thing `key` on a `shelf`,
    with `words` of whoever made it before that. It has nothing else of it, not even a name."""

    run = models.ForeignKey("engine.Run", on_delete=models.CASCADE, null=True, related_name="badges")
    shelf = models.CharField(max_length=40, blank=True)
    key = models.BigIntegerField(null=True)
    words = models.CharField(max_length=WORDS_LENGTH)

    class Meta(SecretLink.Meta):
        constraints = [
            models.CheckConstraint(
                condition=Q(run=None, key__isnull=False) | Q(run__isnull=False, key=None), name="badge_of_one_thing"
            )
        ]

    def __str__(self) -> str:
        return self.words


class LinkView(models.Model):
    """That something was opened, so many times within an hour."""

    since = models.DateTimeField()
    last = models.DateTimeField()
    times = models.PositiveIntegerField(default=1)

    class Meta:
        abstract = True
        ordering = ["-since", "-pk"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.since:%Y-%m-%d %H:%M} × {self.times}"

    @classmethod
    def count(cls, now: datetime, **of: Any) -> None:
        found = cls._default_manager.filter(**of, since__gt=now - VIEW_PERMISSION)
        if not found.update(times=F("times") + 1, last=now):
            cls._default_manager.create(**of, since=now, last=now)


class ShareLook(LinkView):
    """At a record, by whoever has this link."""

    share = models.ForeignKey(Share, on_delete=models.CASCADE, related_name="looks")

    class Meta(LinkView.Meta):
        constraints = [models.CheckConstraint(condition=Q(last__gte=F("since")), name="look_in_order")]


def _digest(secret: str) -> str:
    return sha256(secret[:LONGEST_SECRET].encode(errors="replace")).hexdigest()
