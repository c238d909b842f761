"""Who must decide before something is done, by a team's policy, and what their words mean.

A demand is handed to a gate as its policy: `engine.models.gates.policy_of` says what stands in it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

from .enums import StepEffect

RequiredApproval = Mapping[str, Any]
OPEN: RequiredApproval = {"who": "open"}
PERSON: RequiredApproval = {"who": "person"}


class ApprovalKind(StrEnum):
    """Of a gate."""

    PLAN = "plan"
    STEP = "step"
    TOOL = "tool"
    QUESTION = "question"
    SEAT = "person"  # a step that a person does
    FAILURE = "failure"
    UNCERTAIN = "uncertain"
    BUDGET = "budget"  # it has cost what it may cost


class DecisionMeaning(StrEnum):
    """What a decision comes to."""

    ALL = "all"  # the plan, and each step of it that whoever decides may decide
    ACCEPT = "accept"  # just what was asked
    ANSWER = "answer"
    REFUSE = "refuse"  # this call; its agent is told why and goes on
    SKIP = "skip"
    REVISE = "revise"
    END = "end"
    AGAIN = "again"
    MORE = "more"


@dataclass(frozen=True)
class DecisionChoice:
    word: DecisionMeaning
    decision: str
    sentence: str


APPROVE, REJECT, ANSWER, OVERRIDE = "approve", "reject", "answer", "override"
_SKIP = DecisionChoice(DecisionMeaning.SKIP, REJECT, "Leave it out and go on")
_REVISE = DecisionChoice(DecisionMeaning.REVISE, REJECT, "Plan anew from here")
_END = DecisionChoice(DecisionMeaning.END, REJECT, "End the plan")
CHOICES: Mapping[ApprovalKind, tuple[DecisionChoice, ...]] = {
    ApprovalKind.PLAN: (
        DecisionChoice(DecisionMeaning.ALL, APPROVE, "Approve the plan and all its steps"),
        DecisionChoice(DecisionMeaning.ACCEPT, APPROVE, "Approve the plan, its steps one by one"),
        DecisionChoice(DecisionMeaning.REVISE, REJECT, "Ask for changes"),
        _END,
    ),
    ApprovalKind.STEP: (_SKIP, _REVISE, _END),
    ApprovalKind.TOOL: (
        DecisionChoice(DecisionMeaning.REFUSE, REJECT, "Refuse this call; the agent goes on without it"),
        _SKIP,
        _REVISE,
        _END,
    ),
    ApprovalKind.QUESTION: (_SKIP, _REVISE, _END),
    ApprovalKind.SEAT: (_SKIP, _REVISE, _END),
    ApprovalKind.FAILURE: (
        DecisionChoice(DecisionMeaning.AGAIN, APPROVE, "Try this step once more"),
        _REVISE,
        _SKIP,
        _END,
    ),
    ApprovalKind.BUDGET: (DecisionChoice(DecisionMeaning.MORE, APPROVE, "Go on, for at most as much again"), _END),
}
# what a word means that was said without a choice: by a council, by the clock, or where there is none
PLAIN: Mapping[tuple[ApprovalKind, str], DecisionMeaning] = {
    **{(kind, APPROVE): DecisionMeaning.ACCEPT for kind in ApprovalKind},
    **{(kind, REJECT): DecisionMeaning.REVISE for kind in ApprovalKind},
    **{(kind, ANSWER): DecisionMeaning.ANSWER for kind in ApprovalKind},
    (ApprovalKind.PLAN, APPROVE): DecisionMeaning.ALL,
    (ApprovalKind.TOOL, REJECT): DecisionMeaning.REFUSE,
    (ApprovalKind.FAILURE, APPROVE): DecisionMeaning.AGAIN,
    (ApprovalKind.BUDGET, APPROVE): DecisionMeaning.MORE,
    (ApprovalKind.BUDGET, REJECT): DecisionMeaning.END,
}


OF_PLANNER = (
    DecisionChoice(DecisionMeaning.SKIP, REJECT, "Plan with what is known"),
    _END,
)  # what it asks before there is a plan


def meaning(kind: ApprovalKind, decision: str, choice: str) -> DecisionMeaning:
    """An override approves: that a council refused is the engine's concern."""
    return DecisionMeaning(choice) if choice else PLAIN[kind, APPROVE if decision == OVERRIDE else decision]


@dataclass(frozen=True)
class TeamPolicy:
    """Of a team. `ahead`: the gates of all steps open with the plan, so that all can be approved at once; otherwise
    each opens when it is due."""

    plan: RequiredApproval = field(default_factory=lambda: PERSON)
    steps: Mapping[StepEffect, RequiredApproval] = field(default_factory=lambda: _by_effect(OPEN, PERSON, PERSON))
    calls: Mapping[StepEffect, RequiredApproval] = field(default_factory=lambda: _by_effect(OPEN, OPEN, PERSON))
    ahead: bool = True

    def as_json(self) -> dict[str, Any]:
        return {
            "plan": dict(self.plan),
            "steps": {effect.value: dict(demand) for effect, demand in self.steps.items()},
            "calls": {effect.value: dict(demand) for effect, demand in self.calls.items()},
            "ahead": self.ahead,
        }

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Self:
        steps, calls = ({StepEffect(name): demand for name, demand in kept[key].items()} for key in ("steps", "calls"))
        return cls(kept["plan"], steps, calls, kept["ahead"])


def demands_of(policy: Mapping[str, Any]) -> list[RequiredApproval]:
    """All of a policy as it is kept."""
    return [policy["plan"], *policy["steps"].values(), *policy["calls"].values()]


def each_demand(policy: Mapping[str, Any], change: Callable[[RequiredApproval], RequiredApproval]) -> dict[str, Any]:
    """The same policy as it is kept, with each demand as it becomes by this."""
    parts = {part: {effect: change(one) for effect, one in policy[part].items()} for part in ("steps", "calls")}
    return {**policy, "plan": change(policy["plan"]), **parts}


def _by_effect(
    reads: RequiredApproval, writes: RequiredApproval, reaches_out: RequiredApproval
) -> Mapping[StepEffect, RequiredApproval]:
    return {StepEffect.READS: reads, StepEffect.WRITES: writes, StepEffect.REACHES_OUT: reaches_out}


CAREFUL_POLICY = TeamPolicy()
WATCHFUL_POLICY = replace(CAREFUL_POLICY, calls=_by_effect(OPEN, PERSON, PERSON))
OPEN_READS = TeamPolicy(plan=OPEN, steps=_by_effect(OPEN, PERSON, PERSON))
STEP_BY_STEP = TeamPolicy(plan=OPEN, steps=_by_effect(PERSON, PERSON, PERSON))
POLICIES: Mapping[str, TeamPolicy] = {
    "Careful": CAREFUL_POLICY,
    "Watchful": WATCHFUL_POLICY,
    "Open reads": OPEN_READS,
    "Step by step": STEP_BY_STEP,
}


def step_by_step_policy(policy: TeamPolicy) -> TeamPolicy:
    """Every step is asked about, and the plan only where the policy wants more of it than what one person may say."""
    steps = {effect: PERSON if needs_no_approval(demand) else demand for effect, demand in policy.steps.items()}
    enough = is_single_person(policy.plan) and not policy.plan.get("four_eyes")
    return TeamPolicy(OPEN if enough else policy.plan, steps, policy.calls)


def required_approval(kind: ApprovalKind, effect: StepEffect, policy: TeamPolicy) -> RequiredApproval:
    """What has to happen before this. What reaches out is never open, whatever the policy, and what only a person can
    say is always asked of one. That text of strangers was read, the engine knows: it asks a person besides."""
    if kind is ApprovalKind.PLAN:
        return policy.plan
    if kind is ApprovalKind.STEP:
        return policy.steps[effect]
    if kind is not ApprovalKind.TOOL:
        return PERSON
    demand = policy.calls[effect]
    return PERSON if effect is StepEffect.REACHES_OUT and needs_no_approval(demand) else demand


def may_pass_with_steps(policy: TeamPolicy) -> bool:
    """Whether nothing but one person's word is asked for each change, and that for its step besides."""
    each = policy.calls[StepEffect.WRITES]
    plain = not needs_no_approval(each) and is_single_person(each) and not each.get("four_eyes")
    return plain and not needs_no_approval(policy.steps[StepEffect.WRITES])


def changes_pass_with_steps(policy: TeamPolicy) -> TeamPolicy:
    return replace(policy, calls={**policy.calls, StepEffect.WRITES: OPEN})


def needs_no_approval(demand: RequiredApproval) -> bool:
    return demand.get("who") == "open"


def is_single_person(demand: RequiredApproval) -> bool:
    """Whether one person who may decide is all that it takes: then the plan's approval can say it for a step."""
    return demand.get("who", "person") == "person" and demand.get("persons", 1) == 1
