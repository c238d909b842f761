"""Who must decide before something is done, by a team's policy, and what their words mean.

A demand is handed to a gate as its policy: `engine.models.gates.policy_of` says what stands in it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

from .words import Effect

Demand = Mapping[str, Any]
OPEN: Demand = {"who": "open"}
PERSON: Demand = {"who": "person"}


class Kind(StrEnum):
    """Of a gate."""

    PLAN = "plan"
    STEP = "step"
    TOOL = "tool"
    QUESTION = "question"
    SEAT = "person"  # a step that a person does
    FAILURE = "failure"
    UNCERTAIN = "uncertain"
    BUDGET = "budget"  # it has cost what it may cost


class Meaning(StrEnum):
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
class Choice:
    word: Meaning
    decision: str
    sentence: str


APPROVE, REJECT, ANSWER, OVERRIDE = "approve", "reject", "answer", "override"
_SKIP = Choice(Meaning.SKIP, REJECT, "Leave it out and go on")
_REVISE = Choice(Meaning.REVISE, REJECT, "Plan anew from here")
_END = Choice(Meaning.END, REJECT, "End the plan")
CHOICES: Mapping[Kind, tuple[Choice, ...]] = {
    Kind.PLAN: (
        Choice(Meaning.ALL, APPROVE, "Approve the plan and all its steps"),
        Choice(Meaning.ACCEPT, APPROVE, "Approve the plan, its steps one by one"),
        Choice(Meaning.REVISE, REJECT, "Ask for changes"),
        _END,
    ),
    Kind.STEP: (_SKIP, _REVISE, _END),
    Kind.TOOL: (Choice(Meaning.REFUSE, REJECT, "Refuse this call; the agent goes on without it"), _SKIP, _REVISE, _END),
    Kind.QUESTION: (_SKIP, _REVISE, _END),
    Kind.SEAT: (_SKIP, _REVISE, _END),
    Kind.FAILURE: (Choice(Meaning.AGAIN, APPROVE, "Try this step once more"), _REVISE, _SKIP, _END),
    Kind.BUDGET: (Choice(Meaning.MORE, APPROVE, "Go on, for at most as much again"), _END),
}
# what a word means that was said without a choice: by a council, by the clock, or where there is none
PLAIN: Mapping[tuple[Kind, str], Meaning] = {
    **{(kind, APPROVE): Meaning.ACCEPT for kind in Kind},
    **{(kind, REJECT): Meaning.REVISE for kind in Kind},
    **{(kind, ANSWER): Meaning.ANSWER for kind in Kind},
    (Kind.PLAN, APPROVE): Meaning.ALL,
    (Kind.TOOL, REJECT): Meaning.REFUSE,
    (Kind.FAILURE, APPROVE): Meaning.AGAIN,
    (Kind.BUDGET, APPROVE): Meaning.MORE,
    (Kind.BUDGET, REJECT): Meaning.END,
}


OF_PLANNER = (Choice(Meaning.SKIP, REJECT, "Plan with what is known"), _END)  # what it asks before there is a plan


def meaning(kind: Kind, decision: str, choice: str) -> Meaning:
    """An override approves: that a council refused is the engine's concern."""
    return Meaning(choice) if choice else PLAIN[kind, APPROVE if decision == OVERRIDE else decision]


@dataclass(frozen=True)
class Policy:
    """Of a team. `ahead`: the gates of all steps open with the plan, so that all can be approved at once; otherwise
    each opens when it is due."""

    plan: Demand = field(default_factory=lambda: PERSON)
    steps: Mapping[Effect, Demand] = field(default_factory=lambda: _by_effect(OPEN, PERSON, PERSON))
    calls: Mapping[Effect, Demand] = field(default_factory=lambda: _by_effect(OPEN, OPEN, PERSON))
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
        steps, calls = ({Effect(name): demand for name, demand in kept[key].items()} for key in ("steps", "calls"))
        return cls(kept["plan"], steps, calls, kept["ahead"])


def demands_of(policy: Mapping[str, Any]) -> list[Demand]:
    """All of a policy as it is kept."""
    return [policy["plan"], *policy["steps"].values(), *policy["calls"].values()]


def each_demand(policy: Mapping[str, Any], change: Callable[[Demand], Demand]) -> dict[str, Any]:
    """The same policy as it is kept, with each demand as it becomes by this."""
    parts = {part: {effect: change(one) for effect, one in policy[part].items()} for part in ("steps", "calls")}
    return {**policy, "plan": change(policy["plan"]), **parts}


def _by_effect(reads: Demand, writes: Demand, reaches_out: Demand) -> Mapping[Effect, Demand]:
    return {Effect.READS: reads, Effect.WRITES: writes, Effect.REACHES_OUT: reaches_out}


CAREFUL = Policy()
WATCHFUL = replace(CAREFUL, calls=_by_effect(OPEN, PERSON, PERSON))
OPEN_READS = Policy(plan=OPEN, steps=_by_effect(OPEN, PERSON, PERSON))
STEP_BY_STEP = Policy(plan=OPEN, steps=_by_effect(PERSON, PERSON, PERSON))
POLICIES: Mapping[str, Policy] = {
    "Careful": CAREFUL,
    "Watchful": WATCHFUL,
    "Open reads": OPEN_READS,
    "Step by step": STEP_BY_STEP,
}


def step_by_step(policy: Policy) -> Policy:
    """Every step is asked about, and the plan only where the policy wants more of it than what one person may say."""
    steps = {effect: PERSON if is_open(demand) else demand for effect, demand in policy.steps.items()}
    enough = is_plain(policy.plan) and not policy.plan.get("four_eyes")
    return Policy(OPEN if enough else policy.plan, steps, policy.calls)


def demand_of(kind: Kind, effect: Effect, policy: Policy) -> Demand:
    """What has to happen before this. What reaches out is never open, whatever the policy, and what only a person can
    say is always asked of one. That text of strangers was read, the engine knows: it asks a person besides."""
    if kind is Kind.PLAN:
        return policy.plan
    if kind is Kind.STEP:
        return policy.steps[effect]
    if kind is not Kind.TOOL:
        return PERSON
    demand = policy.calls[effect]
    return PERSON if effect is Effect.REACHES_OUT and is_open(demand) else demand


def may_pass_with_steps(policy: Policy) -> bool:
    """Whether nothing but one person's word is asked for each change, and that for its step besides."""
    each = policy.calls[Effect.WRITES]
    plain = not is_open(each) and is_plain(each) and not each.get("four_eyes")
    return plain and not is_open(policy.steps[Effect.WRITES])


def changes_pass_with_steps(policy: Policy) -> Policy:
    return replace(policy, calls={**policy.calls, Effect.WRITES: OPEN})


def is_open(demand: Demand) -> bool:
    return demand.get("who") == "open"


def is_plain(demand: Demand) -> bool:
    """Whether one person who may decide is all that it takes: then the plan's approval can say it for a step."""
    return demand.get("who", "person") == "person" and demand.get("persons", 1) == 1
