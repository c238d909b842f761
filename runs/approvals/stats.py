"""A user's own approval statistics, which nobody else sees.

Why so: engine/DESIGN.md, Gates.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from django.db.models import Count

from engine.models import Gate, GateDecision
from engine.models.gates import DecisionValue

from ..context_processors import MAX_COUNT
from ..formatting import format_seconds
from ..procedure.gate_page import PolicySuggestion
from ..procedure.spec import specs

DAYS = 30
MAX_DECISIONS = 5_000  # decisions that are read
APPROVING = (DecisionValue.APPROVE, DecisionValue.OVERRIDE)


@dataclass(frozen=True)
class DecisionCounts:
    """One decision of the user. `waited` is the time since the gate was opened."""

    gate: int
    decision: str
    waited: timedelta


@dataclass(frozen=True)
class ApprovalNumbers:
    """Numbers of gates.

    `asked` includes pending gates if anything was decided; `more` means that there are more than were counted. If a
    gate has several decisions of the user, the last one counts. `changed` is the number of gates where a council
    `differed` and the user then changed the decision.
    """

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
        """Return the approved share in percent."""
        return round(100 * self.approved / self.decided) if self.decided else 0


def approval_numbers(user: Any, now: datetime, waiting: int) -> ApprovalNumbers:
    """Return the numbers of the last DAYS; `waiting` is the number of the user's pending gates, as far as counted."""
    mine = GateDecision.objects.filter(by_user=user, made__gte=now - timedelta(days=DAYS))
    mine = mine.filter(decision__in=(*APPROVING, DecisionValue.REJECT, DecisionValue.ANSWER)).order_by("-pk")
    rows = list(mine.values_list("gate", "decision", "made", "gate__made")[:MAX_DECISIONS])
    said = [DecisionCounts(gate, decision, made - asked) for gate, decision, made, asked in reversed(rows)]
    if not said:
        return add_counts((), {}, 0)
    here = mine.order_by().values("gate")
    councils = dict(GateDecision.objects.filter(gate__in=here).exclude(judged_by=None).values_list("gate", "decision"))
    again = Gate.objects.for_user(user).filter(pk__in=councils).count() if councils else 0  # decided, and pending again
    waits = min(waiting, MAX_COUNT) - again
    return replace(add_counts(said, councils, waits), more=waiting > MAX_COUNT)


def add_counts(said: Iterable[DecisionCounts], councils: Mapping[int, str], waits: int) -> ApprovalNumbers:
    """Count the user's decisions, oldest first, and compare them with the councils' at the same gates."""
    first: dict[int, DecisionCounts] = {}
    last: dict[int, str] = {}
    for one in said:
        first.setdefault(one.gate, one)
        last[one.gate] = _word(one.decision)
    differed = [gate for gate, word in councils.items() if gate in first and _word(first[gate].decision) != word]
    words = list(last.values())
    return ApprovalNumbers(
        asked=len(last) + waits,
        decided=len(last),
        approved=words.count(DecisionValue.APPROVE),
        rejected=words.count(DecisionValue.REJECT),
        answered=words.count(DecisionValue.ANSWER),
        seconds=median(one.waited.total_seconds() for one in first.values()) if first else 0.0,
        differed=len(differed),
        changed=sum(last[gate] != _word(first[gate].decision) for gate in differed),
    )


def _word(decision: str) -> str:
    """Treat an override of a council as an approval."""
    return DecisionValue.APPROVE if decision in APPROVING else decision


def format_numbers(numbers: ApprovalNumbers) -> list[tuple[str, str]]:
    """Return label and value of each number; empty if the user has decided nothing."""
    if not numbers.decided:
        return []
    said = [
        ("Asked", f"{numbers.asked}{'+' if numbers.more else ''}"),
        ("Decided", str(numbers.decided)),
        ("You approved", f"{numbers.approved} ({numbers.share}%)"),
        ("You rejected", str(numbers.rejected)),
        ("You answered", str(numbers.answered)),
        ("From asked to decided, median", format_seconds(timedelta(seconds=numbers.seconds))),
    ]
    if numbers.differed:
        said += [("A council differed", str(numbers.differed)), ("Then you changed", str(numbers.changed))]
    return said


MIN_APPROVALS = 10  # approvals of one tool
MAX_RECENT_GATES = 500  # newest gates that are read


def approval_fatigue_hints(user: Any, now: datetime) -> Iterator[PolicySuggestion]:
    since = now - timedelta(days=DAYS)
    approved = GateDecision.objects.filter(by_user=user, decision=DecisionValue.APPROVE, made__gte=since)
    by_tool = approved.exclude(gate__tool="").order_by().values_list("gate__run__procedure", "gate__tool")
    often = by_tool.annotate(times=Count("gate", distinct=True)).filter(times__gte=MIN_APPROVALS)
    tools: dict[str, list[str]] = defaultdict(list)
    for procedure, tool, _ in often:
        tools[procedure].append(tool)
    for procedure in specs().keys() & tools.keys():
        about = {"run__procedure": procedure, "tool__in": tools[procedure]}
        gates = Gate.objects.filter(pk__in=approved.values("gate"), **about).order_by("-pk")
        yield from specs()[procedure].policy_suggestion(list(gates[:MAX_RECENT_GATES]), user, since)
