"""Whom a policy asks before what, in words."""

from collections.abc import Iterator
from dataclasses import dataclass

from .demands import Demand, Policy, is_open, is_plain
from .words import Effect


@dataclass(frozen=True)
class Asked:
    """`sign`: of what it is about; `on`: by which texts it is decided."""

    sign: str
    what: str
    on: str
    whom: str
    rule: str


def asked(policy: Policy, who: str = "Who asked") -> Iterator[Asked]:
    """`who`: whoever asks for a plan, as they are called here."""
    steps, calls = policy.steps, policy.calls
    once = "once for all steps" if not is_open(policy.plan) else "its steps begin as they are planned"
    yield Asked("quest", "The plan", "goal and all steps", whom(policy.plan, who), _rule(policy.plan) or once)
    for effect, sign in SIGNS.items():
        demand = steps[effect]
        yield Asked(
            sign, f"Steps that {STEPS[effect]}", "action, agent, tools", whom(demand, who), _step(policy, demand)
        )
    for effect in (Effect.WRITES, Effect.REACHES_OUT):
        demand = calls[effect]
        yield Asked(SIGNS[effect], CALLS[effect], "every word of it", whom(demand, who), _rule(demand) or _call(demand))
    strangers = "Changes after text of strangers was read"
    yield Asked("warn", strangers, "every word of it", whom({}, who), "always, besides")
    yield Asked("person", "Questions, failures, uncertain calls", "what is known", whom({}, who), "always")


SIGNS = {Effect.READS: "search", Effect.WRITES: "writes", Effect.REACHES_OUT: "out"}
STEPS = {Effect.READS: "read", Effect.WRITES: "change something here", Effect.REACHES_OUT: "act externally"}
CALLS = {Effect.WRITES: "Each change, before it is made", Effect.REACHES_OUT: "External actions, word by word"}


def whom(demand: Demand, who: str = "Who asked") -> str:
    number, council = demand.get("persons", 1), f"the council “{demand.get('council', '')}”"
    persons = who if number == 1 else f"{number} persons"
    return {
        "open": "Nobody",
        "person": persons,
        "council": council[0].upper() + council[1:],
        "both": f"{persons} and {council}",
    }[demand.get("who", "person")]


def _step(policy: Policy, demand: Demand) -> str:
    if is_open(demand):
        return "with the plan" if not is_open(policy.plan) else ""
    with_plan = policy.ahead and is_plain(demand) and not is_open(policy.plan)
    return _rule(demand) or ("can be said with the plan" if with_plan else "each of them")


def _call(demand: Demand) -> str:
    return "approved with its step" if is_open(demand) else "each of them"


def _rule(demand: Demand) -> str:
    if is_open(demand):
        return ""
    said = [
        "not who asked" if demand.get("four_eyes") else "",
        "the person first, without seeing the verdict" if _is_blind(demand) else "",
        f"{ENDS[demand['expiry']]} after {demand['hours']} hours" if demand.get("hours") else "",
    ]
    return ", ".join(filter(None, said))


ENDS = {"remind": "is reminded of", "reject": "rejected", "return": "goes on without an answer"}


def _is_blind(demand: Demand) -> bool:
    return demand.get("who") == "both" and demand.get("blind") is not False


def in_short(policy: Policy) -> str:
    """In a sentence."""
    parts = [
        "" if is_open(policy.plan) else "the plan",
        "every step" if not any(map(is_open, policy.steps.values())) else "",
        "" if is_open(policy.calls[Effect.WRITES]) else "every change",
        "external actions",
    ]
    said = [part for part in parts if part]
    return f"Asks for {', '.join(said[:-1])}{' and ' if said[:-1] else ''}{said[-1]}"


def in_three(policy: Policy) -> list[tuple[str, str, str]]:
    """What somebody who begins a plan has to know: sign, what, and who decides about it."""
    plan, steps, calls = policy.plan, policy.steps[Effect.WRITES], policy.calls[Effect.WRITES]
    out = policy.calls[Effect.REACHES_OUT]
    seen = "You see all steps, and approve, change or leave out." if is_plain(plan) and not is_open(plan) else ""
    nobody = "Nobody is asked: it begins as it was planned."
    change = steps if is_open(calls) else calls
    with_plan = is_open(calls) and policy.ahead and is_plain(steps) and not is_open(plan) and not is_open(steps)
    return [
        ("quest", "The plan", seen or (nobody if is_open(plan) else _sentence(plan))),
        ("writes", "What changes something here", "Passes with the plan." if with_plan else _sentence(change)),
        ("out", "External actions", _sentence({} if is_open(out) else out)),
    ]


def _sentence(demand: Demand) -> str:
    if is_open(demand):
        return "Nobody is asked."
    rule = _rule(demand)
    return f"{whom(demand, 'You')}{f': {rule}' if rule else ', each time'}."
