"""What people say of a run that is over."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models.functions import Coalesce, Concat, NullIf, Trim
from django.utils import timezone

from engine.ledger.hashing import EntryDraft, format_timestamp

from ..ledger.immutability import Immutable
from .runs import OUTCOME_LENGTH, Run

REVIEW_LENGTH = 4_000
REVIEW_ENTRY = "review"  # a row with the name of another kind of entry must not pass for one of that kind


class ReviewQuerySet(models.QuerySet["Review"]):
    def overrides(self) -> "ReviewQuerySet":
        """By their kind too: a row with an outcome alone is none that `runs.reviews.add` wrote."""
        return self.filter(kind=Review.Kind.OVERRIDE, outcome__isnull=False)


class Review(models.Model):
    """A note, or an override: a person's own outcome with its reason. `by`: the author's name then."""

    class Kind(models.TextChoices):
        NOTE = "note"
        OVERRIDE = "override"

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="reviews")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    by = models.CharField(max_length=150)
    made = models.DateTimeField(default=timezone.now)
    kind = models.CharField(max_length=8, choices=Kind)
    outcome = models.CharField(max_length=OUTCOME_LENGTH, null=True)  # noqa: DJ001 - a note has none
    text = models.TextField(max_length=REVIEW_LENGTH)

    objects = ReviewQuerySet.as_manager()
    immutable = Immutable(unlinked="author", erased="text", run="run")

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.kind} of {self.by}"

    @property
    def is_override(self) -> bool:
        """As `overrides` finds them."""
        return self.kind == Review.Kind.OVERRIDE and self.outcome is not None

    def draft(self, outcome_name: str) -> EntryDraft:
        """The entry that tells of it; `outcome_name` is what the run's procedure calls an outcome."""
        facts: dict[str, Any] = {"by": self.by} | ({outcome_name: self.outcome} if self.outcome else {})
        kind = self.kind if self.kind in Review.Kind else REVIEW_ENTRY
        return EntryDraft(kind, format_timestamp(self.made) or "", facts, {"text": self.text}, row=self.pk)


# ---- what a person decided instead, last: by the rows of a run, for many runs at once, by what is sealed ---------


def last_override(reviews: Iterable[Review]) -> Review | None:
    """Of the reviews of a run, oldest first."""
    return next((review for review in reversed(list(reviews)) if review.is_override), None)


def last_override_entry(overrides: Sequence[EntryDraft], outcome_name: str) -> str | None:
    """The outcome of the same, as `draft` told of them."""
    return next((one.facts[outcome_name] for one in reversed(overrides) if outcome_name in one.facts), None)


def override_authors(runs: Collection[UUID]) -> dict[UUID, str]:
    """By whom, as they are called today, of many runs in one query. Beside a list, never in its query: PostgreSQL would
    rather read all there is in order than look this up before it sorts what it found."""
    overrides = Review.objects.overrides().filter(run__in=list(runs)).order_by("pk")
    name = Trim(Concat("author__first_name", models.Value(" "), "author__last_name"))
    shown = Coalesce(NullIf(name, models.Value("")), "by")
    return dict(overrides.values_list("run", shown)) if runs else {}
