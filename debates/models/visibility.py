"""What is hidden in a debate until its time, so that it influences nobody and makes no draw predictable."""

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
    """Return whether the first verdicts are hidden: a person on a seat could still be influenced by them."""
    return debate.with_person and _may_go_on(debate.run)


def hides_closing_verdicts(debate: Debate) -> bool:
    """Return whether last words are hidden, while a person still has one to give."""
    persons = {member.pk for member in debate.members.all() if member.is_person}
    awaited = (turn.member_id for turn in _closings(debate) if turn.state == MemberStatus.OPEN)
    return not persons.isdisjoint(awaited) and _may_go_on(debate.run)


def hidden_steps(debate: Debate) -> frozenset[str]:
    """Return the steps whose answers are hidden."""
    firsts = [f"first-{member.seat}" for member in debate.seated] if hides_first_verdicts(debate) else []
    closings = [turn.step for turn in _closings(debate)] if hides_closing_verdicts(debate) else []
    return frozenset([*firsts, *closings])


def _closings(debate: Debate) -> Iterator[Any]:
    return (turn for turn in debate.turns.all() if turn.why == TurnReason.CLOSING)


def withheld_runs(runs: Iterable[Run]) -> Mapping[UUID, str]:
    """Return the runs whose sealed record is withheld, each with the reason."""
    going_on = [run.pk for run in runs if _may_go_on(run)]
    seated = Debate.objects.filter(pk__in=going_on, members__user_name__gt="") if going_on else Debate.objects.none()
    return dict.fromkeys(seated.values_list("pk", flat=True), WITHHELD_TEXT)


def _may_go_on(run: Run) -> bool:
    """The condition of `debates.may_go_on` for a loaded run."""
    return run.status not in FINAL and run.override is None and not run.redacted


def visible_seed(debate: Debate) -> str:
    """Return the seed, or empty while the debate may continue: a retry of a failed one draws with the same seed."""
    return debate.seed if debate.run.status in FINAL else ""


def seed_digest(debate: Debate) -> str:
    """Return the SHA-256 of the seed that was sealed on submission."""
    return hashlib.sha256(bytes.fromhex(debate.seed)).hexdigest()
