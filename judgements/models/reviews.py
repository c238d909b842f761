from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.utils import timezone

from engine.evidence import sealing
from engine.evidence.chain import Draft, stamp
from engine.evidence.log import Leaf
from engine.models import record_name

from ..rules import Verdict
from .judgements import Judgement
from .search import Flag, SearchText

REVIEW_LENGTH = 4_000


class ReviewQuerySet(models.QuerySet["Review"]):
    @transaction.atomic
    def add(self, judgement: Judgement, author: Any, text: str, verdict: Verdict | None = None) -> "Review":
        """What a person says of a judgement that is over; with a verdict, what that person decides instead.

        It stands beside the agents' verdict and never in its place. ValueError for a judgement that goes on.
        """
        Leaf.objects.lock()
        judgement.run.refresh_from_db(fields=["status"])
        if not judgement.run.over:
            raise ValueError("A judgement that is not over cannot be reviewed.")
        kind = Review.Kind.OVERRIDE if verdict else Review.Kind.NOTE
        review = self.create(
            judgement=judgement, author=author, by=record_name(author), kind=kind, verdict=verdict, text=text
        )
        Leaf.objects.add(sealing.append(judgement.pk, [review.draft()]))
        SearchText.objects.flag(judgement.pk, Flag.OVERRIDDEN if verdict else Flag.NOTED)
        return review


class Review(models.Model):
    """A note of a reviewer, or an override: a person's own verdict with its reason. `by`: the author's name then."""

    class Kind(models.TextChoices):
        NOTE = "note"
        OVERRIDE = "override"

    judgement = models.ForeignKey(Judgement, on_delete=models.PROTECT, related_name="reviews")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    by = models.CharField(max_length=150)
    made = models.DateTimeField(default=timezone.now)
    kind = models.CharField(max_length=8, choices=Kind)
    verdict = models.CharField(max_length=8, choices=[(v, v) for v in Verdict], null=True)  # noqa: DJ001
    text = models.TextField(max_length=REVIEW_LENGTH)

    objects = ReviewQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.kind} of {self.by}"

    @property
    def is_override(self) -> bool:
        """By its kind too: a row with a verdict alone is none that `add` wrote."""
        return self.kind == Review.Kind.OVERRIDE and self.verdict is not None

    def draft(self) -> Draft:
        """The entry that tells of it."""
        facts: dict[str, Any] = {"by": self.by} | ({"verdict": self.verdict} if self.verdict else {})
        return Draft(self.kind, stamp(self.made) or "", facts, {"text": self.text}, row=self.pk)
