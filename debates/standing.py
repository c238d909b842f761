"""Checks columns of debates that no entry contains against those that entries do: seats of persons, states of
turns, and fields of other kinds of messages."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from engine.models import Gate

from .models import DebateMember, DebateMessage, DebateTurn
from .rules.state import MemberStatus, StatementKind

Wrong = Iterator[tuple[UUID, str]]
OF_MEMBERS = (
    *("turn_id", "member_id", "reasoning", "artifact", "moved_by", "withdrawn", "continues", "heard", "cut"),
    *("calls", "verdict_id", "abstained"),
)
NOT_TOLD = {
    StatementKind.NOTE: (*OF_MEMBERS, "by_id", "by_name", "speaking_to", "expects_answer", "names_option", "request"),
    StatementKind.CHAIR: (*OF_MEMBERS, "note", "after", "facts", "claim"),
    **dict.fromkeys(
        (StatementKind.SAID, StatementKind.CLOSING, StatementKind.LEAVING),
        ("note", "after", "facts", "claim", "names_option"),
    ),
}


def misstanding(runs: Sequence[UUID]) -> Wrong:
    for turn in DebateTurn.objects.filter(debate__in=runs).select_related("message").order_by("pk"):
        if not _stands(turn):
            yield turn.debate_id, f"Its {turn} stands otherwise than it came to."
    for message in DebateMessage.objects.filter(debate__in=runs).order_by("pk"):
        if any(_differs(message, name) for name in NOT_TOLD.get(StatementKind(message.kind), ())):
            yield message.debate_id, f"Its message {message.number} has what is none of its kind."
    yield from _seated_otherwise(runs)


def _stands(turn: DebateTurn) -> bool:
    said = getattr(turn, "message", None)
    if said:
        return (turn.state, turn.closed, turn.reason_skipped) == (MemberStatus.SPOKEN, said.made, "")
    open_ = (turn.state, turn.closed, turn.reason_skipped) == (MemberStatus.OPEN, None, "")
    return open_ or (turn.state == MemberStatus.SKIPPED and turn.closed is not None)


def _differs(message: DebateMessage, name: str) -> bool:
    field: Any = next(one for one in message._meta.concrete_fields if one.attname == name)
    return bool(getattr(message, name) != field.get_default())


def _seated_otherwise(runs: Sequence[UUID]) -> Wrong:
    """Yield seats whose turns were asked of another account than the seat's, unless that account is gone."""
    asked = Gate.objects.filter(run__in=runs, step__startswith="turn-", asked_account__startswith="account ")
    by_turn = {(gate.run_id, gate.step): gate.asked_account for gate in asked}
    for member in DebateMember.objects.filter(debate__in=runs).exclude(user=None).prefetch_related("turns"):
        accounts = {by_turn.get((member.debate_id, turn.step)) for turn in member.turns.all()} - {None}
        if not member.user_name or not accounts <= {f"account {member.user_id}"}:
            yield member.debate_id, f"Somebody else sits on seat {member.seat} than is told."
