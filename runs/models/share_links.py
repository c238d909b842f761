"""Secret addresses that show something without an account: links to one record, with view counts, and badges."""

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
MAX_LINKS = 20  # valid links of one record
LONGEST_SECRET = 100  # of a secret to look up; ours are shorter
FOR_WHOM_LENGTH = 60
WORDS_LENGTH = 40  # text of a badge
VIEW_MERGE_PERIOD = timedelta(hours=1)  # views within this time count as one


class SecretLinkQuerySet(models.QuerySet[Any]):
    def holding(self) -> Self:
        """Return links that have not expired and were not revoked. The creator's right to share is not checked here."""
        return self.filter(ended=None, until__gt=timezone.now())

    def of(self, secret: str) -> Any:
        """Return the valid link with this secret, or None."""
        return self.holding().select_related("run", "by").filter(digest=_digest(secret)).first()


class SecretLink(models.Model):
    """A link with a secret. Only its digest is stored, so a lost link cannot be shown again."""

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
        """Build an unsaved link. Only this object has its `secret`."""
        secret = secrets.token_urlsafe(32)
        link = cls(by=by, digest=_digest(secret), **shows)
        link.until = link.made + timedelta(days=days)
        link.secret = secret
        return link

    @property
    def is_valid(self) -> bool:
        return self.ended is None and self.until > timezone.now()


class ShareLink(SecretLink):
    """A link to one record."""

    run = models.ForeignKey("engine.Run", on_delete=models.CASCADE, related_name="shares")
    for_whom = models.CharField(max_length=FOR_WHOM_LENGTH, blank=True)

    class Meta(SecretLink.Meta):
        db_table = "runs_share"
        pass

    def __str__(self) -> str:
        return self.for_whom or f"link {self.pk}"

    @classmethod
    def new(cls, run: Any, by: Any, for_whom: str, days: int) -> Self:
        return cls.create(by, days, run=run, for_whom=for_whom)

    def count_view(self, now: datetime) -> None:
        """Count a view. Views within an hour share one row, so that anonymous visitors cannot create many rows."""
        ShareLinkView.count(now, share=self)


class BadgeLink(SecretLink):
    """An image of the outcome of one run, or of the newest run that was started from an item.

    The item is `key` of the library section `shelf`. The only text is the outcome with `words` of its creator before
    it; not even a name is shown.
    """

    run = models.ForeignKey("engine.Run", on_delete=models.CASCADE, null=True, related_name="badges")
    shelf = models.CharField(max_length=40, blank=True)
    key = models.BigIntegerField(null=True)
    words = models.CharField(max_length=WORDS_LENGTH)

    class Meta(SecretLink.Meta):
        db_table = "runs_badge"
        constraints = [
            models.CheckConstraint(
                condition=Q(run=None, key__isnull=False) | Q(run__isnull=False, key=None), name="badge_of_one_thing"
            )
        ]

    def __str__(self) -> str:
        return self.words


class LinkView(models.Model):
    """Views within one hour, with their number."""

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
        found = cls._default_manager.filter(**of, since__gt=now - VIEW_MERGE_PERIOD)
        if not found.update(times=F("times") + 1, last=now):
            cls._default_manager.create(**of, since=now, last=now)


class ShareLinkView(LinkView):
    """Views of a record by a share link."""

    share = models.ForeignKey(ShareLink, on_delete=models.CASCADE, related_name="looks")

    class Meta(LinkView.Meta):
        db_table = "runs_sharelook"
        constraints = [models.CheckConstraint(condition=Q(last__gte=F("since")), name="look_in_order")]


def _digest(secret: str) -> str:
    return sha256(secret[:LONGEST_SECRET].encode(errors="replace")).hexdigest()
