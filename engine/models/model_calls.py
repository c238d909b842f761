"""Every attempt to get an answer from a model, and what it cost."""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Self

from django.db import models
from django.db.models import Count, DurationField, ExpressionWrapper, F, OuterRef, Q, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from engine.db import cached_sql
from engine.llm import errors, pricing
from engine.llm.tokens import tokens_of

from ..ledger.immutability import ChangeRule, Immutable

IS_OPEN = "OLD.status = 'open' AND OLD.error_code = ''"  # the answer is awaited


@dataclass(frozen=True)
class TokenUsage:
    """What calls used together. `cost` is in billionths of a dollar, None where that of a call is unknown; `lost`: so
    many attempts came to nothing, in so many seconds."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost: int | None
    estimated: bool
    lost: int = 0
    lost_seconds: float = 0.0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


LOST = Q(status="failed", ended__isnull=False) & ~Q(error_code__in=errors.NO_ATTEMPTS)
TOOK = ExpressionWrapper(F("ended") - F("started"), DurationField())


def _used() -> dict[str, Any]:
    return {
        "number": Count("pk"),
        "asked": Coalesce(Sum("input_tokens"), 0),
        "said": Coalesce(Sum("output_tokens"), 0),
        "known": Coalesce(Sum("cost"), 0),
        "unknown": Count("pk", filter=Q(input_tokens__isnull=False, cost=None)),
        "guessed": Count("pk", filter=Q(estimated=True)),
        "lost": Count("pk", filter=LOST),
        "lost_time": Sum(TOOK, filter=LOST),
    }


def _usage(found: Mapping[str, Any]) -> TokenUsage:
    cost = None if found["unknown"] else found["known"]
    lost_seconds = found["lost_time"].total_seconds() if found["lost_time"] else 0.0
    used = (found["number"], found["asked"], found["said"], cost, found["guessed"] > 0)
    return TokenUsage(*used, found["lost"], lost_seconds)


class ModelCallQuerySet(models.QuerySet["ModelCall"]):
    def usage(self) -> TokenUsage:
        return _usage(self.aggregate(**_used()))

    def usage_of(self, runs: Sequence[uuid.UUID]) -> dict[uuid.UUID, TokenUsage]:
        """What the calls of each of these runs used, in one query."""
        nothing = {run: TokenUsage(0, 0, 0, 0, False) for run in runs}
        found = self.filter(run__in=runs).order_by().values("run").annotate(**_used())
        return nothing | {row["run"]: _usage(row) for row in found}

    def with_time_before(self) -> Self:
        """Each with `before`: the time of the attempts at the same answer that failed before it."""
        earlier = ModelCall.objects.filter(run=OuterRef("run"), step=OuterRef("step"), status="failed")
        took = (
            earlier.filter(pk__lt=OuterRef("pk"), ended__isnull=False).order_by().values("step").annotate(sum=Sum(TOOK))
        )
        return self.annotate(before=Subquery(took.values("sum")))

    def mark_interrupted(self) -> None:
        """Whoever made the open ones of these calls is gone; an answer will not be kept, but may have cost."""
        for call in self.filter(status=ModelCall.Status.OPEN).select_related("run").order_by("pk"):
            # between two looks at a provider that is away nothing was asked
            said = None if call.retry_at else ""
            call.close(ModelCall.Status.INTERRUPTED, counted=(None, None), said=said, retry_at=None)


class ModelCall(models.Model):
    """One attempt to get one answer from one model. Written before it is sent, completed after.

    `step` is the procedure's own name for what the answer is for; attempts count anew in each `series`, one series
    for the first go and one for each retry of the run. `prompt` is the list of messages as JSON;
    `answer` is what came back: the model's text, or, where there was none, the body as it arrived. Both are empty once
    the run is redacted. `left_out` says, in numbers, what the prompt leaves out for which the model has no room.
    `parameters` is what the request asked for beside them (length, temperature …), as JSON, and
    `fingerprint` what the endpoint said of its configuration. `cost` is in billionths of a dollar, None where it is
    unknown; `estimated` says that the endpoint did not count the tokens.

    A request that finds its provider away is a row, and all that look again until it is back are another one: since
    `looked_since` it was made `looks` times in vain, `started` is when it was made last, and `retry_at` of an open one
    when it is made again.
    """

    class Status(models.TextChoices):
        OPEN = "open"
        ANSWERED = "answered"
        FAILED = "failed"
        INTERRUPTED = "interrupted"

    run = models.ForeignKey("engine.Run", on_delete=models.PROTECT, related_name="calls")
    step = models.CharField(max_length=80)
    series = models.PositiveSmallIntegerField(default=0)
    attempt = models.PositiveSmallIntegerField()
    status = models.CharField(max_length=12, choices=Status, default=Status.OPEN)
    model = models.CharField(max_length=200)
    prompt = models.TextField()
    left_out = models.TextField(blank=True, db_default="")
    answer = models.TextField(blank=True)
    answer_format = models.CharField(max_length=12, default="json_schema")
    answered_by = models.CharField(max_length=200, blank=True)
    parameters = models.TextField(blank=True, db_default="")
    fingerprint = models.CharField(max_length=200, blank=True, db_default="")
    input_tokens = models.PositiveIntegerField(null=True)
    output_tokens = models.PositiveIntegerField(null=True)
    estimated = models.BooleanField(default=False)
    cost = models.BigIntegerField(null=True)
    error_code = models.CharField(max_length=20, blank=True)
    error = models.TextField(blank=True)
    started = models.DateTimeField(default=timezone.now)
    deadline = models.DateTimeField()
    ended = models.DateTimeField(null=True)
    retry_at = models.DateTimeField(null=True)
    looks = models.PositiveIntegerField(default=0, db_default=0)
    looked_since = models.DateTimeField(null=True)

    before: timedelta | None = None

    objects = ModelCallQuerySet.as_manager()
    immutable = Immutable(
        rules=(
            ChangeRule("open", when=IS_OPEN, kept="prompt"),
            ChangeRule("asked", when=f"{IS_OPEN} AND OLD.retry_at IS NULL", kept="started"),
            ChangeRule(
                "closed",
                when=f"NOT ({IS_OPEN})",
                kept="status answer_format answered_by parameters fingerprint input_tokens output_tokens estimated "
                "cost error_code started deadline ended retry_at looks looked_since",
                erased="prompt answer error",
            ),
        ),
        run="run",
    )

    class Meta:
        constraints = [
            # an attempt that was interrupted, that was asked for in a way that was refused, or that found the provider
            # away is made again under its number
            models.UniqueConstraint(
                fields=["run", "step", "series", "attempt"],
                condition=~Q(status="interrupted") & ~Q(error_code="format_refused") & ~Q(error_code="away"),
                name="one_row_per_attempt",
            ),
        ]
        indexes = [models.Index("model", "id", condition=Q(status="answered"), name="answered_of_a_model")]

    def __str__(self) -> str:
        return f"{self.step}, attempt {self.attempt}"

    def close(
        self,
        status: str,
        *,
        counted: tuple[int | None, int | None],
        said: str | None,
        but: int = 0,
        **values: object,
    ) -> None:
        """The end of the call, and what it cost, in one transaction with what follows from it.

        `counted`: the tokens in and out that the endpoint counted. Where it did not they are estimated from the
        prompt and from what was `said`, or stay unknown where that is None: nothing shows that a model was asked. `but`
        as in `Run.pay`.
        """
        input_tokens, output_tokens = counted
        estimated = said is not None and (input_tokens is None or output_tokens is None)
        if estimated:
            input_tokens, output_tokens = tokens_of(self.prompt), tokens_of(said or "")
        cost = pricing.cost(self.model, input_tokens, output_tokens)
        if cost:
            self.run.charge(cost, but)
        cached_sql.update(
            ModelCall,
            self.pk,
            status=status,
            ended=timezone.now(),
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            estimated=estimated,
            cost=cost,
            **values,
        )

    @property
    def messages(self) -> list[dict[str, str]]:
        return json.loads(self.prompt) if self.prompt else []

    @property
    def seconds_in_all(self) -> float | None:
        """With the attempts that came to nothing before it, of a call that was read `with_time_before`."""
        if self.seconds is None:
            return None
        return self.seconds + (self.before.total_seconds() if self.before else 0.0)

    @property
    def waits(self) -> bool:
        """Its provider was away, and it is made again."""
        away = self.status == self.Status.OPEN or self.error_code == errors.AWAY
        return away and self.retry_at is not None

    @property
    def lost(self) -> bool:
        """Whether it was an attempt, and came to nothing."""
        return self.status == self.Status.FAILED and self.error_code not in errors.NO_ATTEMPTS

    @property
    def seconds(self) -> float | None:
        return (self.ended - self.started).total_seconds() if self.ended else None
