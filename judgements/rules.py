"""The rule of a judgement, as it is on paper: three agents, three rounds, fixed weights, two of three.

Weights are tenths as integers, so that a score of exactly one half is exactly one half.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum


class AgentDecision(StrEnum):
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

History = Mapping[int, AgentDecision]
"""One agent's decisions so far, by round."""


def score(history: History) -> int:
    """Tenths won by approving so far, 0 to 10."""
    return sum(WEIGHTS[number] for number, decision in history.items() if decision == AgentDecision.APPROVE)


def rejections(history: History) -> int:
    """Tenths lost by rejecting so far, 0 to 10."""
    return sum(WEIGHTS[number] for number, decision in history.items() if decision == AgentDecision.REJECT)


def still_open(history: History) -> int:
    """Tenths of the rounds that are still to come."""
    return sum(WEIGHTS.values()) - score(history) - rejections(history)


def agent_verdict(history: History) -> Verdict:
    """What one agent says after all its rounds. ValueError while a round is missing: nothing is guessed."""
    if missing := [number for number in ROUNDS if number not in history]:
        raise ValueError(f"no decision yet in round {missing[0]}")
    return Verdict.APPROVED if score(history) >= THRESHOLD else Verdict.REJECTED


def verdict(histories: Mapping[str, History]) -> Verdict:
    """What the judgement says: approved if two of the three agents approve. ValueError while one is missing."""
    if missing := [seat for seat in SEATS if seat not in histories]:
        raise ValueError(f"no decisions of agent {missing[0]}")
    return _of_quorum(agent_verdict(histories[seat]) == Verdict.APPROVED for seat in SEATS)


def _of_quorum(approvals: Iterable[bool]) -> Verdict:
    return Verdict.APPROVED if sum(approvals) >= QUORUM else Verdict.REJECTED


# ---- how a verdict came about -----------------------------------------------------------------------------


def verdict_of_round(histories: Mapping[str, History], number: int) -> Verdict:
    """What one round alone would have said. KeyError while a decision of it is missing."""
    return _of_quorum(histories[seat][number] == AgentDecision.APPROVE for seat in SEATS)


def is_swayed(histories: Mapping[str, History]) -> bool:
    """Whether the agents, once they had read each other, ended elsewhere than each on its own."""
    return verdict_of_round(histories, ROUNDS[0]) != verdict(histories)


def rounds_with_change(history: History) -> tuple[int, ...]:
    """The rounds in which an agent decided otherwise than in its round before."""
    return tuple(n for n in ROUNDS[1:] if n in history and n - 1 in history and history[n] != history[n - 1])


def agent_gave_way(histories: Mapping[str, History], seat: str) -> bool:
    """Whether an agent ended elsewhere than it began, and changed after both others had decided so the round before."""
    own, others = histories[seat], [histories[other] for other in SEATS if other != seat]
    end = AgentDecision.APPROVE if agent_verdict(own) == Verdict.APPROVED else AgentDecision.REJECT
    joined = [n for n in rounds_with_change(own) if own[n] == end and all(other.get(n - 1) == end for other in others)]
    return own[ROUNDS[0]] != end and bool(joined)


def is_carried(history: History) -> bool:
    """Whether an agent rejected last and approves all the same: its earlier rounds carry it."""
    last = ROUNDS[-1]
    return history.get(last) == AgentDecision.REJECT and score(history) >= THRESHOLD


def is_certain(history: History) -> bool:
    """Whether an agent approves whatever it will still decide. A rejection is never certain before the last round."""
    return still_open(history) > 0 and score(history) >= THRESHOLD


def approval_certain(histories: Mapping[str, History]) -> bool:
    """Whether the judgement is approved whatever will still be decided."""
    open_ones = any(still_open(history) for history in histories.values())
    return open_ones and sum(score(history) >= THRESHOLD for history in histories.values()) >= QUORUM


def to_tenths(value: int) -> str:
    """4 as "0.4"."""
    return f"{value // 10}.{value % 10}"
