"""Assignments of an inquiry with their results, and moves of the roles that use tools."""

import json
from typing import Any

from django.db import models
from django.utils import timezone

from engine.ledger.immutability import ChangeRule, Immutable
from engine.models import Gate, ModelCall, ToolCall

from ..rules.events import (
    AnswerFinalized,
    AnswerSubmitted,
    AttemptsExhausted,
    ErrorCategory,
    InquiryEvent,
    InquiryStage,
    InquiryStopped,
    PlanSubmitted,
    ReplanRequested,
    ResearchSubmitted,
    RetryRequested,
    WorkFailed,
    WorkReviewed,
)
from ..rules.state import InquiryStateError


class AssignmentKind(models.TextChoices):
    WORK = "work"
    REVIEW = "review"
    ERROR = "error"
    EXHAUSTED = "exhausted"
    FINAL = "final"
    STOP = "stop"
    REPLAN = "replan"
    RETRY = "retry"
    HINT = "hint"


class Assignment(models.Model):
    """One assignment with its result, or an intervention of a person; the inquiry's state is folded from these.

    `place`: the work that it is about, as `research.1.0` for step 0 of the first plan. `reply`: JSON of the submitted
    work; `counts`: facts of it that the rules need after its texts are erased. `feedback`: a critic's, a reason, or a
    person's words.
    """

    inquiry = models.ForeignKey("inquiries.Inquiry", on_delete=models.PROTECT, related_name="orders")
    number = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=10, choices=AssignmentKind)
    station = models.CharField(max_length=20)
    place = models.CharField(max_length=40, blank=True)
    step_id = models.PositiveSmallIntegerField(null=True)
    instruction = models.TextField(blank=True)
    reply = models.TextField(blank=True)
    counts = models.JSONField(default=dict)
    decision = models.CharField(max_length=10, blank=True)
    feedback = models.TextField(blank=True)
    category = models.CharField(max_length=20, blank=True)
    error_code = models.CharField(max_length=40, blank=True)
    error = models.TextField(blank=True)
    by_name = models.CharField(max_length=150, blank=True)
    call = models.OneToOneField(ModelCall, on_delete=models.PROTECT, null=True, related_name="+")
    gate = models.OneToOneField(Gate, on_delete=models.PROTECT, null=True, related_name="+")
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable(erased="instruction reply feedback error", run="inquiry")

    class Meta:
        db_table = "inquiries_order"
        ordering = ["number"]
        default_permissions = ()
        constraints = [models.UniqueConstraint("inquiry", "number", name="one_order_of_a_number")]

    def __str__(self) -> str:
        return f"Order {self.number}"

    @property
    def submitted_work(self) -> dict[str, Any]:
        return json.loads(self.reply) if self.reply else {}

    @property
    def event(self) -> InquiryEvent | None:
        """The event for the rules; None for a hint, which changes no state."""
        match self.kind:
            case AssignmentKind.WORK:
                return self._work
            case AssignmentKind.REVIEW:
                return WorkReviewed(self.decision == "approve", self.feedback, self.by_name)
            case AssignmentKind.ERROR:
                return WorkFailed(InquiryStage(self.station), ErrorCategory(self.category), self.error)
            case AssignmentKind.EXHAUSTED:
                return AttemptsExhausted(self.feedback)
            case AssignmentKind.FINAL:
                return AnswerFinalized(self.submitted_work.get("answer", ""), self.submitted_work.get("trace", ""))
        return self._intervention

    @property
    def _intervention(self) -> InquiryEvent | None:
        match self.kind:
            case AssignmentKind.STOP:
                return InquiryStopped(self.by_name, self.counts.get("begun", False))
            case AssignmentKind.REPLAN:
                return ReplanRequested(self.by_name, self.feedback)
            case AssignmentKind.RETRY:
                return RetryRequested(self.by_name)
        return None

    @property
    def _work(self) -> InquiryEvent:
        work = self.submitted_work
        if (
            self.reply
            and not ({"research", "expert"} if self.station == InquiryStage.PLANNER else {"text"}) <= work.keys()
        ):
            raise InquiryStateError(f"{self} has not all that is handed in there.")
        if self.station == InquiryStage.PLANNER:
            return PlanSubmitted(self._steps("research"), self._steps("expert"))
        if self.station == InquiryStage.RESEARCHER:
            return ResearchSubmitted(work.get("text", ""))
        return AnswerSubmitted(work.get("text", ""), work.get("reasoning", ""), self.counts.get("found", True))

    def _steps(self, kind: str) -> tuple[str, ...]:
        return tuple(self.submitted_work.get(kind, [""] * self.counts.get(kind, 0)))


class InquiryMoveQuerySet(models.QuerySet["InquiryMove"]):
    def with_calls(self) -> "InquiryMoveQuerySet":
        """Load moves with their tool calls, without the outputs, which may be long."""
        return self.select_related("tool_call").defer("tool_call__output")


class InquiryMove(models.Model):
    """One use of a tool, or a submission of work. One answer of a model (`call`) may have several uses; the first has
    its thought.

    `attempt`: try within the place. `done`: JSON of the submitted work, `refused`: why it was not accepted. `result`:
    text of the result for the next prompt.
    """

    inquiry = models.ForeignKey("inquiries.Inquiry", on_delete=models.PROTECT, related_name="moves")
    place = models.CharField(max_length=40)
    number = models.PositiveSmallIntegerField()
    attempt = models.PositiveSmallIntegerField()
    thought = models.TextField(blank=True)
    tool = models.CharField(max_length=120, blank=True)
    arguments = models.TextField(blank=True)
    done = models.TextField(blank=True)
    refused = models.TextField(blank=True)
    result = models.TextField(blank=True)
    call = models.ForeignKey(ModelCall, on_delete=models.PROTECT, related_name="+")
    tool_call = models.OneToOneField(ToolCall, on_delete=models.PROTECT, null=True, related_name="+")
    settled = models.DateTimeField(null=True)
    made = models.DateTimeField(default=timezone.now)

    objects = InquiryMoveQuerySet.as_manager()
    immutable = Immutable(
        erased="thought arguments done refused",
        rules=(ChangeRule("settled", when="OLD.settled IS NOT NULL", kept="tool_call settled", erased="result"),),
        run="inquiry",
    )

    class Meta:
        db_table = "inquiries_move"
        ordering = ["pk"]
        default_permissions = ()
        constraints = [models.UniqueConstraint("inquiry", "place", "number", name="one_inquiry_move_of_a_number")]

    def __str__(self) -> str:
        return f"Move {self.number} of {self.place}"

    @property
    def key(self) -> str:
        return f"{self.place}.{self.number}"

    @property
    def requested_call(self) -> tuple[str, str]:
        return self.tool, self.arguments
