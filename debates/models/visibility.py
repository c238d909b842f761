"""What nobody is told of a debate before its time, so that it sways nobody and helps nobody to foresee a draw."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from engine.models import Run

from ..rules.state import MemberStatus, TurnReason
from .debates import FINAL, Debate

WITHHELD_TEXT = (
    "A person sits at the table. The record has what members said alone, which nobody sees before the debate is over."
)


def hides_first_verdicts(debate: Debate) -> bool:
    """While a person on a seat may still be swayed by what members said alone, nobody sees it."""
    return debate.with_person and _may_go_on(debate.run)


def hides_closing_verdicts(debate: Debate) -> bool:
    """While a person has a last word to say, nobody sees another's."""
    persons = {member.pk for member in debate.members.all() if member.is_person}
    awaited = (turn.member_id for turn in _closings(debate) if turn.state == MemberStatus.OPEN)
    return not persons.isdisjoint(awaited) and _may_go_on(debate.run)


def hidden_steps(debate: Debate) -> frozenset[str]:
    """Those whose answers nobody sees yet."""
    firsts = [f"first-{member.seat}" for member in debate.seated] if hides_first_verdicts(debate) else []
    closings = [turn.step for turn in _closings(debate)] if hides_closing_verdicts(debate) else []
    return frozenset([*firsts, *closings])


def _closings(debate: Debate) -> Iterator[Any]:
    return (turn for turn in debate.turns.all() if turn.why == TurnReason.CLOSING)


def withheld_runs(runs: Iterable[Run]) -> Mapping[UUID, str]:
    """Of which of these the sealed record is given to nobody yet, and why."""
    going_on = [run.pk for run in runs if _may_go_on(run)]
    seated = Debate.objects.filter(pk__in=going_on, members__user_name__gt="") if going_on else Debate.objects.none()
    return dict.fromkeys(seated.values_list("pk", flat=True), WITHHELD_TEXT)


def _may_go_on(run: Run) -> bool:
    """As `debates.may_go_on` says it of rows."""
    return run.status not in FINAL and run.override is None and not run.redacted


def visible_seed(debate: Debate) -> str:
    """Empty while it may go on: what has failed draws on with the same seed when it is tried again."""
    return debate.seed if debate.run.status in FINAL else ""


def seed_digest(debate: Debate) -> str:
    """What was sealed of the seed when it was submitted."""
    return hashlib.sha256(bytes.fromhex(debate.seed)).hexdigest()
