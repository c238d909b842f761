"""Who has to decide at a gate, and what the decisions come to: on paper.

Why so: engine/DESIGN.md, Gates.
"""

import re
from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Any, Protocol

OPEN, PERSON, COUNCIL, BOTH = "open", "person", "council", "both"
REMIND, REJECT, RETURN = "remind", "reject", "return"
EXTERNAL_EFFECT = "reaches_out"
ALWAYS_A_PERSON = ("uncertain", "budget")  # kinds of gates

PolicyDict = Mapping[str, Any]
DEFAULT_POLICY: PolicyDict = {
    "who": PERSON,
    "persons": 1,
    "four_eyes": False,
    "blind": None,
    "council": "",
    "council_id": None,
    "hours": None,
    "expiry": REMIND,
}
MOST_PERSONS = 50
MOST_HOURS = 24 * 365 * 100
UNSTORABLE_CHARACTERS = re.compile("[\x00\ud800-\udfff]")  # no database takes these
LONGEST_NAME = 120  # characters, of a council


class PolicyDecision(Protocol):
    """A decision, as far as the rules need it. `by`: who said it; `judged_by_id`: the run whose outcome it is, of a
    council."""

    @property
    def by(self) -> str: ...
    @property
    def decision(self) -> str: ...
    @property
    def judged_by_id(self) -> Any: ...


def parse_policy(given: PolicyDict | None) -> dict[str, Any]:
    """Who has to decide, and what becomes of it in the end, with what is usual for what is not said. ValueError.

    `who`: `open`, nobody; `person`; `council`, the one of this `council_id`, whose name is shown; `both`. Without an id
    nobody is meant, whoever has the name. `persons`: how many have to approve. `four_eyes`: not whoever asked for the
    run. `blind`: what the council says is shown when the persons have decided; where both decide that is usual.
    `hours`: after so many `expiry` comes: `reject` closes the gate, `return` lets the run go on without a decision;
    with `remind` it has no end.
    """
    policy = {**DEFAULT_POLICY, **(given or {})}
    known = policy.keys() == DEFAULT_POLICY.keys() and policy["who"] in (OPEN, PERSON, COUNCIL, BOTH)
    if not (known and _is_of_its_kinds(policy)) or (asks_council(policy) and not policy["council"]):
        raise ValueError(f"no such policy: {given}")
    blind = policy["who"] == BOTH and policy["blind"] is not False
    named = ("council", "council_id")
    meant = {name: policy[name] if asks_council(policy) else DEFAULT_POLICY[name] for name in named}
    return policy | {"blind": blind, **meant}


def _is_of_its_kinds(policy: PolicyDict) -> bool:
    """It may have come in a file: what is no number, no word or no yes or no ends no run later."""
    persons, hours, council, known = (policy[name] for name in ("persons", "hours", "council", "council_id"))
    numbers = type(persons) is int and 1 <= persons <= MOST_PERSONS
    numbers = numbers and (hours is None or (type(hours) in (int, float) and 0 <= hours <= MOST_HOURS))
    numbers = numbers and (known is None or (type(known) is int and known > 0))
    words = isinstance(council, str) and len(council) <= LONGEST_NAME and not UNSTORABLE_CHARACTERS.search(council)
    ticks = type(policy["four_eyes"]) is bool and type(policy["blind"]) in (bool, NoneType)
    return numbers and words and ticks and policy["expiry"] in (REMIND, REJECT, RETURN)


def asks_council(policy: PolicyDict) -> bool:
    return policy["who"] in (COUNCIL, BOTH)


def asks_persons(policy: PolicyDict, decisions: Iterable[PolicyDecision] = ()) -> bool:
    """Also where a council was asked that came to nothing."""
    return policy["who"] in (PERSON, BOTH) or any(one.decision == "turn" for one in decisions)


# ---- stricter ------------------------------------------------------------------------------------------------


def strictest(policy: PolicyDict, demand: PolicyDict) -> dict[str, Any]:
    """The policy, at least as strict as what is demanded besides. Of two councils that of the demand is asked."""
    a, b = ({**DEFAULT_POLICY, **one} for one in (policy, {"who": policy.get("who", PERSON), **demand}))
    ends = [one for one in (a, b) if one["expiry"] != REMIND and one["hours"] is not None]
    blind = [one for one in (_blind_in(policy), _blind_in(demand)) if one is not None]
    named = demand if demand.get("council") else policy
    # where it was saved without an id, it stays without: that is something else than to mean nobody
    meant = {"council_id": named["council_id"]} if "council_id" in named else {}
    return {
        "who": _stricter_who(a["who"], b["who"]),
        "persons": max(a["persons"], b["persons"]),
        "four_eyes": a["four_eyes"] or b["four_eyes"],
        "blind": any(blind) if blind else None,
        "council": named.get("council", ""),
        **meant,
        "hours": min((one["hours"] for one in ends), default=None),
        "expiry": next((end for end in (REJECT, RETURN) if any(one["expiry"] == end for one in ends)), REMIND),
    }


def _blind_in(policy: PolicyDict) -> bool | None:
    """Whether it wants that, where it says so or says who decides; None where it leaves it open."""
    said: bool | None = policy.get("blind")
    return True if said is None and policy.get("who") == BOTH else said


def _stricter_who(a: str, b: str) -> str:
    if a == b or b == OPEN:
        return a
    return b if a == OPEN else BOTH


def apply_minimums(policy: PolicyDict, *, kind: str = "", effect: str = "", cut: bool = False) -> dict[str, Any]:
    """What no policy can open. `cut`: the text is not all of what it is about."""
    who = policy.get("who", PERSON)
    if kind in ALWAYS_A_PERSON or cut or (effect == EXTERNAL_EFFECT and who == OPEN):
        return strictest(policy, {"who": PERSON})
    return dict(policy)


# ---- decided -------------------------------------------------------------------------------------------------


def policy_state(policy: PolicyDict, decisions: Iterable[PolicyDecision], *, cut: bool = False) -> str:
    """What these decisions, oldest first, come to by this policy. `cut`: the text is not all of what it is about, and
    no council opens it alone."""
    policy = apply_minimums(policy, cut=True) if cut else policy
    said = list(decisions)
    words = [one.decision for one in said if not one.judged_by_id]
    for word, state in (
        ("reject", "rejected"),  # one is enough, whoever else approved
        ("expire", "expired"),
        ("answer", "answered"),
        ("fail", "failed"),
    ):
        if word in words:
            return state
    return _by_both(policy, said, "approve" if "override" in words else council_decision(said))


def _by_both(policy: PolicyDict, said: list[PolicyDecision], council: str) -> str:
    persons = not asks_persons(policy, said) or has_quorum(policy, said)
    if not asks_council(policy) or "turn" in (one.decision for one in said):
        return "approved" if persons else "pending"
    if policy["who"] == COUNCIL:
        return {"approve": "approved", "reject": "rejected"}.get(council, "pending")
    return "approved" if persons and council == "approve" else "pending"


def council_decision(decisions: Iterable[PolicyDecision]) -> str:
    """What the council has decided; empty while that is not known."""
    return next((one.decision for one in decisions if one.judged_by_id), "")


def has_quorum(policy: PolicyDict, decisions: Iterable[PolicyDecision]) -> bool:
    """Whether as many have approved as have to, each counted once: who overrides a council approves, too. One
    rejection closes the gate."""
    approve = {one.by for one in decisions if not one.judged_by_id and one.decision in ("approve", "override")}
    return len(approve) >= policy["persons"]


def decisions_conflict(policy: PolicyDict, decisions: Iterable[PolicyDecision]) -> bool:
    """Whether the council has refused what persons may still refuse, too, or override."""
    return policy["who"] == BOTH and council_decision(decisions) == "reject"
