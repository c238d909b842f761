"""Every attempt to get an answer from a model, and what it cost."""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import models
from django.db.models import Count, Q, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from engine import statements
from engine.llm import prices
from engine.llm.tokens import tokens_of


@dataclass(frozen=True)
class Usage:
    """What calls used together. `cost` is in billionths of a dollar, None where that of a call is unknown."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost: int | None
    estimated: bool

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


def _used() -> dict[str, Any]:
    return {
        "number": Count("pk"),
        "asked": Coalesce(Sum("input_tokens"), 0),
        "said": Coalesce(Sum("output_tokens"), 0),
        "known": Coalesce(Sum("cost"), 0),
        "unknown": Count("pk", filter=Q(input_tokens__isnull=False, cost=None)),
        "guessed": Count("pk", filter=Q(estimated=True)),
    }


def _usage(found: Mapping[str, Any]) -> Usage:
    cost = None if found["unknown"] else found["known"]
    return Usage(found["number"], found["asked"], found["said"], cost, found["guessed"] > 0)


class ModelCallQuerySet(models.QuerySet["ModelCall"]):
    def usage(self) -> Usage:
        return _usage(self.aggregate(**_used()))

    def usage_of(self, runs: Sequence[uuid.UUID]) -> dict[uuid.UUID, Usage]:
        """What the calls of each of these runs used, in one query."""
        nothing = {run: Usage(0, 0, 0, 0, False) for run in runs}
        found = self.filter(run__in=runs).order_by().values("run").annotate(**_used())
        return nothing | {row["run"]: _usage(row) for row in found}

    def interrupt(self) -> None:
        """Whoever made the open ones of these calls is gone; an answer will not be kept, but may have cost."""
        for call in self.filter(status=ModelCall.Status.OPEN).select_related("run").order_by("pk"):
            call.close(ModelCall.Status.INTERRUPTED, counted=(None, None), said="")


class ModelCall(models.Model):
    """One attempt to get one answer from one model. Written before it is sent, completed after.

    `step` is the procedure's own name for what the answer is for; attempts count anew in each `series`, one series
    for the first go and one for each retry of the run. `prompt` is the list of messages as JSON;
    `answer` is what came back: the model's text, or, where there was none, the body as it arrived. Both are empty once
    the run is redacted. `left_out` says, in numbers, what the prompt leaves out for which the model has no room.
    `parameters` is what the request asked for beside them (length, temperature …), as JSON, and
    `fingerprint` what the endpoint said of its configuration. `cost` is in billionths of a dollar, None where it is
    unknown; `estimated` says that the endpoint did not count the tokens.
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

    objects = ModelCallQuerySet.as_manager()

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
        cost = prices.cost(self.model, input_tokens, output_tokens)
        if cost:
            self.run.pay(cost, but)
        statements.update(
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
        """With the attempts of its series that came to nothing before it."""
        if self.attempt == 1 or self.seconds is None:
            return self.seconds
        before = ModelCall.objects.filter(run=self.run_id, step=self.step, series=self.series, pk__lt=self.pk)
        failed = before.filter(status=self.Status.FAILED).only("started", "ended")
        return self.seconds + sum(call.seconds or 0.0 for call in failed)

    @property
    def seconds(self) -> float | None:
        return (self.ended - self.started).total_seconds() if self.ended else None
