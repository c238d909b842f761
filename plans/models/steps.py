"""Steps of plans, the history of their status, the moves of their agents, and messages.

Why so: plans/DESIGN.md, Plans.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.utils import timezone

from engine.ledger.immutability import ChangeRule, Immutable
from engine.models import ModelCall, ToolCall

from ..prompts.planner import PERSON
from ..rules.enums import StepEffect, StepEvent, StepOwner, StepStatus, strongest
from .presets import TeamAgentRow

ANSWER = "Answer"  # source of a person's answer to a question of the planner or an agent


def choices(words: Any) -> list[tuple[str, str]]:
    return [(word.value, word.value.replace("_", " ")) for word in words]


class PlanStep(models.Model):
    """One action of one owner: an agent, or a person if `agent` is null. Numbers are never reused.

    `first_in`, `last_in`: the first and last revision with this step; `last_in` is null while it is in the plan.
    `tools_due`: the action was changed, and the planner has yet to name owner and tools. `series`: number of retries.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    plan = models.ForeignKey("plans.Plan", on_delete=models.PROTECT, related_name="steps")
    number = models.PositiveSmallIntegerField()
    position = models.PositiveSmallIntegerField()
    first_in = models.PositiveSmallIntegerField()
    last_in = models.PositiveSmallIntegerField(null=True)
    agent = models.ForeignKey(TeamAgentRow, on_delete=models.PROTECT, null=True, related_name="+")
    tools = models.JSONField(default=list)
    tools_due = models.BooleanField(default=False)
    needs = models.JSONField(null=True)
    effect = models.CharField(max_length=12, choices=choices(StepEffect))
    status = models.CharField(max_length=20, choices=choices(StepStatus), default=StepStatus.PLANNED.value)
    series = models.PositiveSmallIntegerField(default=0)
    skipped = models.BooleanField(default=False)
    began = models.DateTimeField(null=True)
    immutable = Immutable(
        once="last_in",
        free="position status series skipped",
        rules=(ChangeRule("begun", when="OLD.began IS NOT NULL", kept="agent tools tools_due needs effect began"),),
        run="plan",
    )

    class Meta:
        db_table = "plans_step"
        ordering = ["number"]
        default_permissions = ()
        constraints = [models.UniqueConstraint("plan", "number", name="one_step_of_a_number")]

    def __str__(self) -> str:
        return f"Step {self.number}"

    @property
    def action(self) -> str:
        """The current text of the action."""
        return next((state.action for state in reversed(self.history) if state.held is not None), "")

    @property
    def first_action(self) -> str:
        return self.history[0].action

    @property
    def reply(self) -> str:
        """The owner's words at completion."""
        return next((state.why for state in self.history if state.status == StepStatus.COMPLETED), "")

    @property
    def error(self) -> str:
        """The reason of the last failure. A skip without a reason does not replace it."""
        return next((one.why for one in reversed(self.history) if one.status == StepStatus.FAILED and one.why), "")

    @property
    def history(self) -> "Sequence[PlanStepState]":
        return sorted(self.states.all(), key=lambda one: one.number)

    @property
    def times_changed(self) -> int:
        """How often people changed the step."""
        return sum(
            one.event == StepEvent.CHANGED and one.held is not None and bool(one.by_name) for one in self.states.all()
        )

    @property
    def owner(self) -> str:
        return self.agent.name if self.agent else PERSON

    @property
    def recorded_facts(self) -> dict[str, Any]:
        """Facts of the step for its entries, without the action."""
        named = {name: getattr(self, name) for name in ("owner", "tools", "needs", "effect")}
        due = {"tools_due": True} if self.tools_due else {}
        return {**named, **due, "in": self.first_in}

    @property
    def kind(self) -> StepOwner:
        if self.agent and self.agent.serves:
            return StepOwner.SERVICE
        return StepOwner.ASSISTANT if self.agent else StepOwner.PERSON

    @cached_property
    def used(self) -> StepEffect | None:
        """The strongest effect of its successful tool calls in all series; None if there are none."""
        done = [
            StepEffect(move.tool_call.effect) for move in self.moves.all() if move.tool_call and move.tool_call.done
        ]
        return strongest(done) if done else None

    @property
    def may_claim(self) -> bool:
        """Whether its completion needs a tool call as evidence: an agent completed it, and it writes or reaches
        out."""
        return self.status == StepStatus.COMPLETED and self.agent_id is not None and self.effect != StepEffect.READS

    @property
    def gate_step(self) -> str:
        return f"step-{self.number}"

    @property
    def key(self) -> str:
        """Prefix of the keys of its model and tool calls in the current series."""
        return f"step-{self.number}-{self.series}"

    @property
    def moves_now(self) -> list["PlanStepMove"]:
        return [move for move in self.moves.all() if move.series == self.series]


class PlanStepState(models.Model):
    """One change of a step's status. `by_name`: who decided it, by their name at the time; `by_user`: who edited the
    step. `why`: a reply, a reason or an error. `action` and `held`: the new content, if it changed."""

    step = models.ForeignKey(PlanStep, on_delete=models.PROTECT, related_name="states")
    number = models.PositiveSmallIntegerField()
    status = models.CharField(max_length=20, choices=choices(StepStatus))
    event = models.CharField(max_length=10, choices=choices(StepEvent), blank=True)
    series = models.PositiveSmallIntegerField(default=0)
    by_name = models.CharField(max_length=150, blank=True)
    by_user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    why = models.TextField(blank=True)
    action = models.TextField(blank=True)
    held = models.JSONField(null=True)
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable(unlinked="by_user", erased="why action", run="step.plan")

    class Meta:
        db_table = "plans_stepstate"
        ordering = ["number"]
        default_permissions = ()
        constraints = [models.UniqueConstraint("step", "number", name="one_step_state_of_a_number")]

    def __str__(self) -> str:
        return f"{self.step}: {self.status}"


class PlanStepMove(models.Model):
    """One answer of a step's agent. `result`: of the tool call, or a person's answer to the agent's question."""

    step = models.ForeignKey(PlanStep, on_delete=models.PROTECT, related_name="moves")
    series = models.PositiveSmallIntegerField()
    number = models.PositiveSmallIntegerField()
    act = models.CharField(max_length=10)
    thought = models.TextField(blank=True)
    tool = models.CharField(max_length=120, blank=True)
    arguments = models.TextField(blank=True)
    text = models.TextField(blank=True)
    call = models.OneToOneField(ModelCall, on_delete=models.PROTECT, related_name="+")
    tool_call = models.OneToOneField(ToolCall, on_delete=models.PROTECT, null=True, related_name="+")
    result = models.TextField(blank=True)
    refused = models.BooleanField(default=False)
    settled = models.DateTimeField(null=True)
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable(
        erased="thought arguments text",
        rules=(
            ChangeRule("settled", when="OLD.settled IS NOT NULL", kept="tool_call refused settled", erased="result"),
        ),
        run="step.plan",
    )

    class Meta:
        db_table = "plans_move"
        ordering = ["series", "number"]
        default_permissions = ()
        constraints = [models.UniqueConstraint("step", "series", "number", name="one_move_of_a_number")]

    def __str__(self) -> str:
        return f"{self.step}, move {self.number}"

    @property
    def key(self) -> str:
        return f"step-{self.step.number}-{self.series}-{self.number}"


class PlanMessage(models.Model):
    """A text of the planner, an agent or a person. `to_step`: number of the step that it is for; 0 is the planner."""

    plan = models.ForeignKey("plans.Plan", on_delete=models.PROTECT, related_name="messages")
    number = models.PositiveSmallIntegerField()
    source = models.CharField(max_length=80)
    by_name = models.CharField(max_length=150, blank=True)
    to_step = models.PositiveSmallIntegerField(default=0)
    content = models.TextField()
    made = models.DateTimeField(default=timezone.now)
    immutable = Immutable(erased="content", run="plan")

    class Meta:
        db_table = "plans_message"
        ordering = ["number"]
        default_permissions = ()
        constraints = [models.UniqueConstraint("plan", "number", name="one_plan_message_of_a_number")]

    def __str__(self) -> str:
        return f"Message {self.number}"

    def is_remark_to(self, step: PlanStep) -> bool:
        """Tell whether the step's agent reads this message as a remark. Answers to its own questions are shown with the
        move that asked."""
        return self.to_step == step.number and self.source != ANSWER
