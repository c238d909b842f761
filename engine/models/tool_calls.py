"""Every use of a tool: written before it is performed, closed after.

Why so: engine/DESIGN.md, Tools.
"""

import json
from collections.abc import Iterable
from hashlib import sha256
from itertools import groupby, takewhile
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from django.db import models
from django.db.models import Q
from django.utils import timezone

from engine.ledger.entries import TOOL
from engine.ledger.hashing import EntryDraft, format_timestamp

from ..ledger.immutability import ChangeRule, Immutable

if TYPE_CHECKING:
    from .runs import Run

CUT_MARK = "This was cut short after it had begun, and nobody knows whether it happened. Look before you do it again."
END_MARK = "The run ended while this was under way, and nobody asked what became of it. Look before you do it again."


class Effect(models.TextChoices):
    """What a tool does to the world. Who reaches out tells somebody else something or changes what is theirs."""

    READS = "reads"
    WRITES = "writes"
    REACHES_OUT = "reaches_out", "Reaches out"


def definition_of(description: str, schema: Any) -> str:
    """SHA-256 of what a model is told of a tool."""
    return sha256(canonical([description, schema]).encode(errors="backslashreplace")).hexdigest()


def canonical(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


class ToolCallQuerySet(models.QuerySet["ToolCall"]):
    def newest(self, run: UUID, step: str) -> "ToolCall | None":
        return self.select_related("gate").filter(run=run, step=step).order_by("-number").first()

    def with_untrusted_output(self, tops: models.QuerySet["Run"]) -> Self:
        """What brought text of strangers to these runs, or to any that belong to them: they tell each other."""
        return self.filter(Q(run__in=tops) | Q(run__root__in=tops), outside=True)

    def open(self) -> Self:
        return self.filter(status=ToolCall.Status.OPEN)

    def interrupt(self, mark: str = CUT_MARK) -> int:
        """Whoever performed the open ones of these is gone, and nobody goes on with them."""
        return self.open().update(status=ToolCall.Status.INTERRUPTED, error=mark, ended=timezone.now())

    def interrupt_until_retry(self) -> int:
        """Close the open ones of runs that failed. They are sealed so, but a retry may ask what became of them."""
        return self.interrupt(END_MARK)

    def drafts(self, runs: Iterable[UUID]) -> list[tuple[UUID, EntryDraft]]:
        """What these runs did with tools, in the order of their rows: nothing that comes after a call that is open, for
        what is in an entry never changes and keeps its place."""
        calls = self.filter(run__in=list(runs)).select_related("gate", "asked_in").order_by("run", "pk")
        of_runs = (of_run for _, of_run in groupby(calls, attrgetter("run_id")))
        return [(call.run_id, call.draft()) for of_run in of_runs for call in takewhile(_is_closed, of_run)]

    def erase(self, run: UUID) -> None:
        self.filter(run=run).update(arguments="", output="", error="")


class ToolCall(models.Model):
    """One use of one tool. A place in the run, its `step`, stands for one call; `number` counts how often it was begun,
    or taken up by a retry of a run that failed meanwhile.

    `source` is where the tool comes from and `definition` the SHA-256 of its description and schema, as both were then.
    `arguments` is JSON, with every default filled in. `asked_in`: the answer of a model that wanted it. `gate`: what
    allowed it, or refused it, which it has used up. `started` and `deadline` are missing where nothing was performed
    outside of the database. `output_size` counts characters before anything was cut. `outside`: strangers wrote text
    of it. Interrupted is what was begun and cut short: nobody knows whether it happened.
    """

    class Status(models.TextChoices):
        OPEN = "open", "Under way"
        DONE = "done"
        FAILED = "failed"
        INTERRUPTED = "interrupted"

    run = models.ForeignKey("engine.Run", on_delete=models.PROTECT, related_name="tool_calls")
    step = models.CharField(max_length=80)
    number = models.PositiveSmallIntegerField()
    tool = models.CharField(max_length=120)
    source = models.CharField(max_length=120)
    definition = models.CharField(max_length=64)
    effect = models.CharField(max_length=12, choices=Effect)
    contained = models.BooleanField(default=False)
    asked_in = models.ForeignKey("engine.ModelCall", on_delete=models.PROTECT, null=True, related_name="tool_calls")
    gate = models.OneToOneField("engine.Gate", on_delete=models.PROTECT, null=True, related_name="tool_call")
    made = models.DateTimeField(default=timezone.now)
    arguments = models.TextField(blank=True)
    output = models.TextField(blank=True)
    error = models.TextField(blank=True)
    output_size = models.PositiveIntegerField(default=0)
    outside = models.BooleanField(default=False)
    status = models.CharField(max_length=12, choices=Status, default=Status.OPEN)
    started = models.DateTimeField(null=True)
    deadline = models.DateTimeField(null=True)
    ended = models.DateTimeField(null=True)

    objects = ToolCallQuerySet.as_manager()
    immutable = Immutable(
        rules=(
            ChangeRule("open", when="OLD.status = 'open'", kept="arguments"),
            ChangeRule(
                "closed",
                when="OLD.status <> 'open'",
                kept="output_size outside status ended",
                erased="arguments output error",
            ),
        ),
        run="run",
    )

    class Meta:
        ordering = ["pk"]
        default_permissions = ()  # who may see a run may see what it did
        indexes = [models.Index(fields=["run"], condition=Q(outside=True), name="tool_call_from_outside")]
        constraints = [models.UniqueConstraint(fields=["run", "step", "number"], name="one_tool_call_of_a_number")]

    def __str__(self) -> str:
        return f"{self.tool} in {self.step}, {self.number}"

    @property
    def is_open(self) -> bool:
        return self.status == self.Status.OPEN

    @property
    def done(self) -> bool:
        return self.status == self.Status.DONE

    @property
    def interrupted(self) -> bool:
        return self.status == self.Status.INTERRUPTED

    @property
    def was_left_open(self) -> bool:
        """Whether the failure of its run closed it before anybody asked what became of it."""
        return self.interrupted and self.error == END_MARK

    @property
    def seconds(self) -> float | None:
        return (self.ended - self.started).total_seconds() if self.started and self.ended else None

    def draft(self) -> EntryDraft:
        facts: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("step", "number", "tool", "source", "definition", "effect", "contained", "status", "outside")
        }
        facts |= {
            "output_size": self.output_size,
            "started": format_timestamp(self.started),
            "deadline": format_timestamp(self.deadline),
        }
        facts |= {"gate": self.gate.number} if self.gate else {}
        facts |= {"asked_in": str(self.asked_in)} if self.asked_in else {}
        texts = {name: getattr(self, name) for name in ("arguments", "output", "error")}
        return EntryDraft(TOOL, format_timestamp(self.ended) or "", facts, texts, row=self.pk)


def _is_closed(call: ToolCall) -> bool:
    return not call.is_open
