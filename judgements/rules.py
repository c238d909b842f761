"""The rule of a judgement, as it is on paper: three agents, three rounds, fixed weights, two of three.

Weights are tenths as integers, so that a score of exactly one half is exactly one half.
"""

from collections.abc import Mapping
from enum import StrEnum


class Decision(StrEnum):
    APPROVE = "approve"
    REJECT = "reject"


class Verdict(StrEnum):
    APPROVED = "approved"
    REJECTED = "rejected"


SEATS = ("A", "B", "C")
ROUNDS = (1, 2, 3)
WEIGHTS = {1: 1, 2: 4, 3: 5}
THRESHOLD = 5
QUORUM = 2

History = Mapping[int, Decision]
"""One agent's decisions so far, by round."""


def score(history: History) -> int:
    """Tenths won by approving so far, 0 to 10."""
    return sum(WEIGHTS[number] for number, decision in history.items() if decision == Decision.APPROVE)


def against(history: History) -> int:
    """Tenths lost by rejecting so far, 0 to 10."""
    return sum(WEIGHTS[number] for number, decision in history.items() if decision == Decision.REJECT)


def still_open(history: History) -> int:
    """Tenths of the rounds that are still to come."""
    return sum(WEIGHTS.values()) - score(history) - against(history)


def agent_verdict(history: History) -> Verdict:
    """What one agent says after all its rounds. ValueError while a round is missing: nothing is guessed."""
    if missing := [number for number in ROUNDS if number not in history]:
        raise ValueError(f"no decision yet in round {missing[0]}")
    return Verdict.APPROVED if score(history) >= THRESHOLD else Verdict.REJECTED


def verdict(histories: Mapping[str, History]) -> Verdict:
    """What the judgement says: approved if two of the three agents approve. ValueError while one is missing."""
    if missing := [seat for seat in SEATS if seat not in histories]:
        raise ValueError(f"no decisions of agent {missing[0]}")
    approving = sum(agent_verdict(histories[seat]) == Verdict.APPROVED for seat in SEATS)
    return Verdict.APPROVED if approving >= QUORUM else Verdict.REJECTED


def tenths(value: int) -> str:
    """4 as "0.4"."""
    return f"{value // 10}.{value % 10}"
