"""Descriptions of policies: who approves what."""

from collections.abc import Iterator
from dataclasses import dataclass

from .approval_policy import RequiredApproval, TeamPolicy, is_single_person, needs_no_approval
from .enums import StepEffect


@dataclass(frozen=True)
class PolicyLine:
    """A row of the policy's table: icon, subject, texts that the decision is based on, approvers, and rule."""

    sign: str
    what: str
    on: str
    whom: str
    rule: str


def policy_lines(policy: TeamPolicy, who: str = "Who asked") -> Iterator[PolicyLine]:
    """Yield the rows of the policy's table. `who`: name of the person who asks for a plan."""
    steps, calls = policy.steps, policy.calls
    once = "once for all steps" if not needs_no_approval(policy.plan) else "its steps begin as they are planned"
    yield PolicyLine(
        "quest", "The plan", "goal and all steps", approvers_text(policy.plan, who), _rule(policy.plan) or once
    )
    for effect, sign in POLICY_ICONS.items():
        demand = steps[effect]
        yield PolicyLine(
            sign,
            f"Steps that {STEPS[effect]}",
            "action, agent, tools",
            approvers_text(demand, who),
            _step(policy, demand),
        )
    for effect in (StepEffect.WRITES, StepEffect.REACHES_OUT):
        demand = calls[effect]
        yield PolicyLine(
            POLICY_ICONS[effect],
            CALLS[effect],
            "every word of it",
            approvers_text(demand, who),
            _rule(demand) or _call(demand),
        )
    subject = "Changes after text of strangers was read"
    yield PolicyLine("warn", subject, "every word of it", approvers_text({}, who), "always, besides")
    yield PolicyLine(
        "person", "Questions, failures, uncertain calls", "what is known", approvers_text({}, who), "always"
    )


POLICY_ICONS = {StepEffect.READS: "search", StepEffect.WRITES: "writes", StepEffect.REACHES_OUT: "out"}
STEPS = {StepEffect.READS: "read", StepEffect.WRITES: "change something here", StepEffect.REACHES_OUT: "act externally"}
CALLS = {StepEffect.WRITES: "Each change, before it is made", StepEffect.REACHES_OUT: "External actions, word by word"}


def approvers_text(demand: RequiredApproval, who: str = "Who asked") -> str:
    number, council = demand.get("persons", 1), f"the council “{demand.get('council', '')}”"
    persons = who if number == 1 else f"{number} persons"
    return {
        "open": "Nobody",
        "person": persons,
        "council": council[0].upper() + council[1:],
        "both": f"{persons} and {council}",
    }[demand.get("who", "person")]


def _step(policy: TeamPolicy, demand: RequiredApproval) -> str:
    if needs_no_approval(demand):
        return "with the plan" if not needs_no_approval(policy.plan) else ""
    with_plan = policy.ahead and is_single_person(demand) and not needs_no_approval(policy.plan)
    return _rule(demand) or ("can be said with the plan" if with_plan else "each of them")


def _call(demand: RequiredApproval) -> str:
    return "approved with its step" if needs_no_approval(demand) else "each of them"


def _rule(demand: RequiredApproval) -> str:
    if needs_no_approval(demand):
        return ""
    conditions = [
        "not who asked" if demand.get("four_eyes") else "",
        "the person first, without seeing the verdict" if _is_blind(demand) else "",
        f"{ENDS[demand['expiry']]} after {demand['hours']} hours" if demand.get("hours") else "",
    ]
    return ", ".join(filter(None, conditions))


ENDS = {"remind": "is reminded of", "reject": "rejected", "return": "goes on without an answer"}


def _is_blind(demand: RequiredApproval) -> bool:
    return demand.get("who") == "both" and demand.get("blind") is not False


def policy_summary(policy: TeamPolicy) -> str:
    """Return one sentence about what needs approval."""
    parts = [
        "" if needs_no_approval(policy.plan) else "the plan",
        "every step" if not any(map(needs_no_approval, policy.steps.values())) else "",
        "" if needs_no_approval(policy.calls[StepEffect.WRITES]) else "every change",
        "external actions",
    ]
    subjects = [part for part in parts if part]
    return f"Asks for {', '.join(subjects[:-1])}{' and ' if subjects[:-1] else ''}{subjects[-1]}"


def policy_columns(policy: TeamPolicy) -> list[tuple[str, str, str]]:
    """Return icon, subject and approvers of what matters to somebody who starts a plan."""
    plan, steps, calls = policy.plan, policy.steps[StepEffect.WRITES], policy.calls[StepEffect.WRITES]
    out = policy.calls[StepEffect.REACHES_OUT]
    seen = (
        "You see all steps, and approve, change or leave out."
        if is_single_person(plan) and not needs_no_approval(plan)
        else ""
    )
    nobody = "Nobody is asked: it begins as it was planned."
    change = steps if needs_no_approval(calls) else calls
    with_plan = (
        needs_no_approval(calls)
        and policy.ahead
        and is_single_person(steps)
        and not needs_no_approval(plan)
        and not needs_no_approval(steps)
    )
    return [
        ("quest", "The plan", seen or (nobody if needs_no_approval(plan) else _sentence(plan))),
        ("writes", "What changes something here", "Passes with the plan." if with_plan else _sentence(change)),
        ("out", "External actions", _sentence({} if needs_no_approval(out) else out)),
    ]


def _sentence(demand: RequiredApproval) -> str:
    if needs_no_approval(demand):
        return "Nobody is asked."
    rule = _rule(demand)
    return f"{approvers_text(demand, 'You')}{f': {rule}' if rule else ', each time'}."
