"""How often somebody was asked lately and what they said: their own numbers, which nobody else sees.

Why so: docs/decisions.md, Gates.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from engine.models import Gate, GateDecision
from engine.models.gates import Decision

from .context import COUNTED_TO
from .words import lasting

DAYS = 30
MOST = 5_000  # decisions that are looked at
YES = (Decision.APPROVE, Decision.OVERRIDE)


@dataclass(frozen=True)
class Said:
    """One decision of theirs. `waited`: how long the gate had asked by then."""

    gate: int
    decision: str
    waited: timedelta


@dataclass(frozen=True)
class Numbers:
    """Of gates: `asked` counts also those that wait still, where anything was decided, of very many (`more`) the first
    ones; of several decisions at one the last counts. `changed`: of those where a council `differed`, at how many they
    then said something else."""

    asked: int
    decided: int
    approved: int
    rejected: int
    answered: int
    seconds: float
    differed: int
    changed: int
    more: bool = False

    @property
    def share(self) -> int:
        """Of what was approved, in percent."""
        return round(100 * self.approved / self.decided) if self.decided else 0


def numbers_of(user: Any, now: datetime, waiting: int) -> Numbers:
    """`waiting`: how many things wait for this person, as far as they were counted."""
    mine = GateDecision.objects.filter(by_user=user, made__gte=now - timedelta(days=DAYS))
    mine = mine.filter(decision__in=(*YES, Decision.REJECT, Decision.ANSWER)).order_by("-pk")
    rows = list(mine.values_list("gate", "decision", "made", "gate__made")[:MOST])
    said = [Said(gate, decision, made - asked) for gate, decision, made, asked in reversed(rows)]
    if not said:
        return added_up((), {}, 0)
    here = mine.order_by().values("gate")
    councils = dict(GateDecision.objects.filter(gate__in=here).exclude(judged_by=None).values_list("gate", "decision"))
    again = Gate.objects.for_user(user).filter(pk__in=councils).count() if councils else 0  # said, and asked once more
    waits = min(waiting, COUNTED_TO) - again
    return replace(added_up(said, councils, waits), more=waiting > COUNTED_TO)


def added_up(said: Iterable[Said], councils: Mapping[int, str], waits: int) -> Numbers:
    """Their decisions, oldest first, beside what councils said at the same gates."""
    first: dict[int, Said] = {}
    last: dict[int, str] = {}
    for one in said:
        first.setdefault(one.gate, one)
        last[one.gate] = _word(one.decision)
    differed = [gate for gate, word in councils.items() if gate in first and _word(first[gate].decision) != word]
    words = list(last.values())
    return Numbers(
        asked=len(last) + waits,
        decided=len(last),
        approved=words.count(Decision.APPROVE),
        rejected=words.count(Decision.REJECT),
        answered=words.count(Decision.ANSWER),
        seconds=median(one.waited.total_seconds() for one in first.values()) if first else 0.0,
        differed=len(differed),
        changed=sum(last[gate] != _word(first[gate].decision) for gate in differed),
    )


def _word(decision: str) -> str:
    """Who overrides a council approves."""
    return Decision.APPROVE if decision in YES else decision


def in_words(numbers: Numbers) -> list[tuple[str, str]]:
    """What the page says of them; nothing of who has decided nothing."""
    if not numbers.decided:
        return []
    said = [
        ("Asked", f"{numbers.asked}{'+' if numbers.more else ''}"),
        ("Decided", str(numbers.decided)),
        ("You approved", f"{numbers.approved} ({numbers.share}%)"),
        ("You rejected", str(numbers.rejected)),
        ("You answered", str(numbers.answered)),
        ("From asked to decided, median", lasting(timedelta(seconds=numbers.seconds))),
    ]
    if numbers.differed:
        said += [("A council differed", str(numbers.differed)), ("Then you changed", str(numbers.changed))]
    return said
