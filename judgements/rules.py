"""Rules of a judgement: three agents, three rounds, fixed weights, two of three must approve.

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
"""Decisions of one agent so far, by round."""


def score(history: History) -> int:
    """Return the weight of the approvals so far, in tenths, 0 to 10."""
    return sum(WEIGHTS[number] for number, decision in history.items() if decision == AgentDecision.APPROVE)


def rejections(history: History) -> int:
    """Return the weight of the rejections so far, in tenths, 0 to 10."""
    return sum(WEIGHTS[number] for number, decision in history.items() if decision == AgentDecision.REJECT)


def still_open(history: History) -> int:
    """Return the weight of the remaining rounds, in tenths."""
    return sum(WEIGHTS.values()) - score(history) - rejections(history)


def agent_verdict(history: History) -> Verdict:
    """Return the verdict of one agent after all rounds. Raises ValueError while a round is missing: nothing is
    guessed."""
    if missing := [number for number in ROUNDS if number not in history]:
        raise ValueError(f"no decision yet in round {missing[0]}")
    return Verdict.APPROVED if score(history) >= THRESHOLD else Verdict.REJECTED


def verdict(histories: Mapping[str, History]) -> Verdict:
    """Return the verdict: approved if two of the three agents approve. Raises ValueError while decisions are
    missing."""
    if missing := [seat for seat in SEATS if seat not in histories]:
        raise ValueError(f"no decisions of agent {missing[0]}")
    return _of_quorum(agent_verdict(histories[seat]) == Verdict.APPROVED for seat in SEATS)


def _of_quorum(approvals: Iterable[bool]) -> Verdict:
    return Verdict.APPROVED if sum(approvals) >= QUORUM else Verdict.REJECTED


# ---- how the verdict was reached --------------------------------------------------------------------------


def verdict_of_round(histories: Mapping[str, History], number: int) -> Verdict:
    """Return the verdict that one round alone would give. Raises KeyError while a decision is missing."""
    return _of_quorum(histories[seat][number] == AgentDecision.APPROVE for seat in SEATS)


def is_swayed(histories: Mapping[str, History]) -> bool:
    """Return whether the verdict differs from that of the independent first round alone."""
    return verdict_of_round(histories, ROUNDS[0]) != verdict(histories)


def rounds_with_change(history: History) -> tuple[int, ...]:
    """Return the rounds in which an agent changed its decision from the round before."""
    return tuple(n for n in ROUNDS[1:] if n in history and n - 1 in history and history[n] != history[n - 1])


def agent_gave_way(histories: Mapping[str, History], seat: str) -> bool:
    """Return whether an agent's verdict differs from its first decision, and it changed after both others had
    decided that way in the round before."""
    own, others = histories[seat], [histories[other] for other in SEATS if other != seat]
    end = AgentDecision.APPROVE if agent_verdict(own) == Verdict.APPROVED else AgentDecision.REJECT
    joined = [n for n in rounds_with_change(own) if own[n] == end and all(other.get(n - 1) == end for other in others)]
    return own[ROUNDS[0]] != end and bool(joined)


def is_carried(history: History) -> bool:
    """Return whether an agent rejected last but approves by the weight of its earlier rounds."""
    last = ROUNDS[-1]
    return history.get(last) == AgentDecision.REJECT and score(history) >= THRESHOLD


def is_certain(history: History) -> bool:
    """Return whether the remaining rounds can no longer change an agent's approval. A rejection is never certain
    before the last round."""
    return still_open(history) > 0 and score(history) >= THRESHOLD


def approval_certain(histories: Mapping[str, History]) -> bool:
    """Return whether the remaining decisions can no longer change an approval. False once no round remains."""
    open_ones = any(still_open(history) for history in histories.values())
    return open_ones and sum(score(history) >= THRESHOLD for history in histories.values()) >= QUORUM


def to_tenths(value: int) -> str:
    """Format tenths as a decimal: 4 becomes "0.4"."""
    return f"{value // 10}.{value % 10}"
