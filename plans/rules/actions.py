"""What people can do to a plan now. Whoever offers something and whoever refuses it ask here: so nothing is offered
that is always refused."""

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

OVER = "The plan is over: nothing of it is changed any more."
ENDED = "Somebody has ended the plan: nothing of it is changed any more."


class PlanAction(StrEnum):
    CHANGE = "change"  # another action, owner, tools or needs of a step
    SAY = "say"  # words to the agent of a step, or to the planner


@dataclass(frozen=True)
class PlanState:
    """`ended`: somebody has ended it, and it comes to its end next. `steps`: how many it has had in all, `planned`: how
    often it was planned, `orders`: how often that was ordered."""

    over: bool = False
    ended: bool = False
    steps: int = 0
    planned: int = 0
    orders: int = 0


def why_not_replanned(plan: PlanState) -> str:
    """Empty where the planner can make another revision."""
    if plan.steps >= STEPS_IN_ALL:
        return f"It has {STEPS_IN_ALL} steps, and gets no more. Skip the step, or end the plan."
    if plan.planned >= REVISIONS or plan.orders >= ORDERS:
        return f"It was planned {REVISIONS} times, and is not planned again. Skip the step, or end the plan."
    return ""


def why_not(action: PlanAction, plan: PlanState, step: StepSituation | None = None, times: int = 0) -> str:
    """Why it is refused, in a sentence; empty where it is not. `step`: None for the plan itself; `times`: how often
    this was done to the step already."""
    if plan.over or plan.ended:
        return OVER if plan.over else ENDED
    if step is None:
        return why_not_replanned(plan) if action is PlanAction.SAY else "Name the step that is to be changed."
    return _why_not_changed(step, times) if action is PlanAction.CHANGE else _why_not_told(step, times)


def _why_not_changed(step: StepSituation, times: int) -> str:
    if step.dropped or step.status not in BEFORE_WORK:
        stands = "not in the plan any more" if step.dropped else step.status.replace("_", " ")
        return f"Step {step.number} is {stands}, and is not changed any more."
    if times >= CHANGED:
        return f"Step {step.number} was changed {CHANGED} times, and is not changed again. Plan it anew, or skip it."
    return ""


def _why_not_told(step: StepSituation, times: int) -> str:
    if step.dropped or step.settled:
        return f"Step {step.number} is over: nobody reads it there any more."
    if step.owner is StepOwner.PERSON:
        return f"Step {step.number} is for a person: no agent reads it there. Decide at its gate."
    if times >= MAX_MESSAGES:
        return f"Step {step.number} was told {MAX_MESSAGES} things, and is told no more. Change its action, or skip it."
    return ""


# ---- at gates -----------------------------------------------------------------------------------------------


def is_possible(kind: ApprovalKind, meant: DecisionMeaning, plan: PlanState, step: StepSituation | None) -> bool:
    """Whether a decision that comes to this is taken there. `step`: the one that is asked about."""
    try:
        found = decision_effect(ApprovalKind.TOOL if kind is ApprovalKind.UNCERTAIN else kind, meant, step)
    except DecisionHasNoEffect:
        return False
    return not (found.order and why_not_replanned(plan))


def choices_of(kind: ApprovalKind, plan: PlanState, step: StepSituation | None = None) -> list[dict[str, str]]:
    """Those that are possible, as a gate takes them."""
    offered = [one for one in _all_choices(kind, step) if is_possible(kind, one.word, plan, step)]
    return [{"word": one.word.value, "decision": one.decision, "sentence": one.sentence} for one in offered]


def refused_at(kind: ApprovalKind, plan: PlanState, step: StepSituation | None = None) -> Iterator[tuple[str, str]]:
    """Decisions with their words that would be refused now, also where a gate has offered them once."""
    # what became of an uncertain call is the engine's question, in its own words
    plain = [(decision, "") for decision in (APPROVE, REJECT, ANSWER)] if kind is not ApprovalKind.UNCERTAIN else []
    for decision, word in [*((one.decision, one.word.value) for one in _all_choices(kind, step)), *plain]:
        if not is_possible(kind, meaning(kind, decision, word), plan, step):
            yield decision, word


def _all_choices(kind: ApprovalKind, step: StepSituation | None) -> tuple[DecisionChoice, ...]:
    of_planner = kind is ApprovalKind.QUESTION and step is None
    return OF_PLANNER if of_planner else CHOICES.get(ApprovalKind.TOOL if kind is ApprovalKind.UNCERTAIN else kind, ())
