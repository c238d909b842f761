"""What people can do to a plan now. Pages and writes use the same functions, so nothing is offered that will be
refused."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from .approval_policy import (
    ANSWER,
    APPROVE,
    CHOICES,
    OF_PLANNER,
    REJECT,
    ApprovalKind,
    DecisionChoice,
    DecisionMeaning,
    meaning,
)
from .decision_effects import DecisionHasNoEffect, decision_effect
from .enums import StepOwner
from .scheduling import BEFORE_WORK, CHANGED, MAX_MESSAGES, ORDERS, REVISIONS, STEPS_IN_ALL, StepSituation

PLAN_ENDED_TEXT = "The plan is over: nothing of it is changed any more."
PLAN_STOPPED_TEXT = "Somebody has ended the plan: nothing of it is changed any more."


class PlanAction(StrEnum):
    CHANGE = "change"  # another action, owner, tools or needs of a step
    SAY = "say"  # words to the agent of a step, or to the planner


@dataclass(frozen=True)
class PlanState:
    """`over`: the run has ended; `ended`: somebody ended the plan, and the worker will conclude it. Counts of all steps
    ever, of planned revisions, and of ordered revisions."""

    over: bool = False
    ended: bool = False
    steps: int = 0
    planned: int = 0
    orders: int = 0


def why_not_replanned(plan: PlanState) -> str:
    """Return why there can be no further revision; empty if there can."""
    if plan.steps >= STEPS_IN_ALL:
        return f"It has {STEPS_IN_ALL} steps, and gets no more. Skip the step, or end the plan."
    if plan.planned >= REVISIONS or plan.orders >= ORDERS:
        return f"It was planned {REVISIONS} times, and is not planned again. Skip the step, or end the plan."
    return ""


def why_not(action: PlanAction, plan: PlanState, step: StepSituation | None = None, times: int = 0) -> str:
    """Return why the action is refused, in a sentence; empty if it is possible.

    `step`: None for the plan itself; `times`: how often the action was applied to the step before.
    """
    if plan.over or plan.ended:
        return PLAN_ENDED_TEXT if plan.over else PLAN_STOPPED_TEXT
    if step is None:
        return why_not_replanned(plan) if action is PlanAction.SAY else "Name the step that is to be changed."
    return _why_not_changed(step, times) if action is PlanAction.CHANGE else _why_not_messaged(step, times)


def _why_not_changed(step: StepSituation, times: int) -> str:
    if step.dropped or step.status not in BEFORE_WORK:
        stands = "not in the plan any more" if step.dropped else step.status.replace("_", " ")
        return f"Step {step.number} is {stands}, and is not changed any more."
    if times >= CHANGED:
        return f"Step {step.number} was changed {CHANGED} times, and is not changed again. Plan it anew, or skip it."
    return ""


def _why_not_messaged(step: StepSituation, times: int) -> str:
    if step.dropped or step.settled:
        return f"Step {step.number} is over: nobody reads it there any more."
    if step.owner is StepOwner.PERSON:
        return f"Step {step.number} is for a person: no agent reads it there. Decide at its gate."
    if times >= MAX_MESSAGES:
        return f"Step {step.number} was told {MAX_MESSAGES} things, and is told no more. Change its action, or skip it."
    return ""


# ---- at gates -----------------------------------------------------------------------------------------------


def is_possible(kind: ApprovalKind, meant: DecisionMeaning, plan: PlanState, step: StepSituation | None) -> bool:
    """Tell whether a gate of this kind accepts a decision with this meaning. `step`: the one that the gate is about."""
    try:
        found = decision_effect(ApprovalKind.TOOL if kind is ApprovalKind.UNCERTAIN else kind, meant, step)
    except DecisionHasNoEffect:
        return False
    return not (found.order and why_not_replanned(plan))


def choices_of(kind: ApprovalKind, plan: PlanState, step: StepSituation | None = None) -> list[dict[str, str]]:
    """Return the possible choices as `RunContext.gate` takes them."""
    offered = [one for one in _all_choices(kind, step) if is_possible(kind, one.word, plan, step)]
    return [{"word": one.word.value, "decision": one.decision, "sentence": one.sentence} for one in offered]


def refused_at(kind: ApprovalKind, plan: PlanState, step: StepSituation | None = None) -> Iterator[tuple[str, str]]:
    """Yield decision and choice of what would be refused now, even if an open gate still offers it."""
    # plain decisions about an uncertain call are handled by the engine
    plain = [(decision, "") for decision in (APPROVE, REJECT, ANSWER)] if kind is not ApprovalKind.UNCERTAIN else []
    for decision, word in [*((one.decision, one.word.value) for one in _all_choices(kind, step)), *plain]:
        if not is_possible(kind, meaning(kind, decision, word), plan, step):
            yield decision, word


def _all_choices(kind: ApprovalKind, step: StepSituation | None) -> tuple[DecisionChoice, ...]:
    of_planner = kind is ApprovalKind.QUESTION and step is None
    return OF_PLANNER if of_planner else CHOICES.get(ApprovalKind.TOOL if kind is ApprovalKind.UNCERTAIN else kind, ())
