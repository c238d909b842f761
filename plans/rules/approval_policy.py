"""Policies of teams: who must approve what, and the meaning of decisions.

A RequiredApproval becomes the policy of a gate; `engine.policy.parse_policy` checks its keys.
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
    """Kinds of gates."""

    PLAN = "plan"
    STEP = "step"
    TOOL = "tool"
    QUESTION = "question"
    SEAT = "person"  # a step that a person does
    FAILURE = "failure"
    UNCERTAIN = "uncertain"
    BUDGET = "budget"  # the plan has cost its limit


class DecisionMeaning(StrEnum):
    """Meanings of decisions at gates."""

    ALL = "all"  # approves the plan, and each step that this person may decide
    ACCEPT = "accept"  # approves only what the gate is about
    ANSWER = "answer"
    REFUSE = "refuse"  # rejects this call; the agent reads why and goes on
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
# meaning of a decision without a choice: by a council, by an expired deadline, or at a gate without choices
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


OF_PLANNER = (  # at questions of the planner
    DecisionChoice(DecisionMeaning.SKIP, REJECT, "Plan with what is known"),
    _END,
)


def meaning(kind: ApprovalKind, decision: str, choice: str) -> DecisionMeaning:
    """Return the meaning of a decision. An override of a council's rejection means the same as an approval."""
    return DecisionMeaning(choice) if choice else PLAIN[kind, APPROVE if decision == OVERRIDE else decision]


@dataclass(frozen=True)
class TeamPolicy:
    """Policy of a team: demands for the plan, and for steps and tool calls by effect.

    `ahead`: the gates of all steps open with the plan's, so that all can be approved at once; otherwise each opens when
    its step is due.
    """

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
    """Return all demands of a stored policy."""
    return [policy["plan"], *policy["steps"].values(), *policy["calls"].values()]


def each_demand(policy: Mapping[str, Any], change: Callable[[RequiredApproval], RequiredApproval]) -> dict[str, Any]:
    """Return a stored policy with `change` applied to each demand."""
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
    """Return the policy with approval of every step. The plan needs none, unless the policy demands more than one
    person's approval."""
    steps = {effect: PERSON if needs_no_approval(demand) else demand for effect, demand in policy.steps.items()}
    enough = is_single_person(policy.plan) and not policy.plan.get("four_eyes")
    return TeamPolicy(OPEN if enough else policy.plan, steps, policy.calls)


def required_approval(kind: ApprovalKind, effect: StepEffect, policy: TeamPolicy) -> RequiredApproval:
    """Return who must approve.

    External actions always need approval, whatever the policy; questions, failures and the like always need a person.
    The engine asks a person in addition if the run has read untrusted text.
    """
    if kind is ApprovalKind.PLAN:
        return policy.plan
    if kind is ApprovalKind.STEP:
        return policy.steps[effect]
    if kind is not ApprovalKind.TOOL:
        return PERSON
    demand = policy.calls[effect]
    return PERSON if effect is StepEffect.REACHES_OUT and needs_no_approval(demand) else demand


def may_pass_with_steps(policy: TeamPolicy) -> bool:
    """Tell whether tool calls that write need one person's approval, and their steps need approval as well. Then the
    approval of calls could be dropped."""
    each = policy.calls[StepEffect.WRITES]
    plain = not needs_no_approval(each) and is_single_person(each) and not each.get("four_eyes")
    return plain and not needs_no_approval(policy.steps[StepEffect.WRITES])


def changes_pass_with_steps(policy: TeamPolicy) -> TeamPolicy:
    return replace(policy, calls={**policy.calls, StepEffect.WRITES: OPEN})


def needs_no_approval(demand: RequiredApproval) -> bool:
    return demand.get("who") == "open"


def is_single_person(demand: RequiredApproval) -> bool:
    """Tell whether one person suffices. Then approving the plan can approve the step, too."""
    return demand.get("who", "person") == "person" and demand.get("persons", 1) == 1
