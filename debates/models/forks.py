"""Forks of debates: rows up to a message of another debate are copied to a new one.

Why so: runs/DESIGN.md, Forks.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.utils import timezone

from engine.ledger.entries import AuditEntry
from engine.models import Fork, record_name

from ..rules import state as rules
from .constants import is_named
from .debates import Debate
from .messages import DebateMessage, DebateTurn, FirstVerdict, MessagePoint, SteeringAction

TOLD = ("debate.message", "debate.note", "debate.spoken")  # kinds of entries that contain a message
ENDING = (rules.SteeringKind.CLOSE, rules.SteeringKind.CLOSE_AT_ONCE, rules.SteeringKind.END)
MESSAGE = (
    *("number", "clock", "kind", "by_id", "by_name", "note", "after", "facts", "speaking_to", "expects_answer"),
    *("content", "artifact", "reasoning", "abstained", "moved_by", "withdrawn", "continues", "heard", "cut"),
    "names_option",
)
POINT = ("number", "claim", "option", "side", "document", "line", "answers")
TURN = ("why", "after", "asked_by", "weights", "ticket", "state", "reason_skipped")
STEER = ("by_id", "by_name", "act", "amount", "after", "text", "reasoning", "abstained")


@dataclass(frozen=True)
class DebateMoment:
    """A debate, read with `with_members()`, at the moment when message `number` was the newest."""

    debate: Debate
    number: int

    @cached_property
    def all(self) -> list[DebateMessage]:
        """All messages except last words."""
        said = [one for one in self.debate.messages.all() if one.kind != rules.StatementKind.CLOSING]
        return sorted(said, key=lambda one: one.number)

    @property
    def message(self) -> DebateMessage:
        return self.all[self.number - 1]

    @property
    def at(self) -> datetime:
        return self.message.made

    @property
    def messages(self) -> list[DebateMessage]:
        return self.all[: self.number]

    @property
    def later(self) -> list[DebateMessage]:
        return [one for one in self.debate.messages.all() if one.number > self.number]

    @cached_property
    def turns(self) -> list[DebateTurn]:
        """Turns that had ended. A turn that was open starts again."""
        made = sorted(self.debate.turns.all(), key=lambda one: one.number)
        return [one for one in made if one.why != rules.TurnReason.CLOSING and one.closed and one.closed <= self.at]

    @cached_property
    def steers(self) -> list[SteeringAction]:
        """Acts so far, without those that end the debate: a fork has to continue."""
        made = sorted(self.debate.steers.all(), key=lambda one: one.number)
        return [one for one in made if one.made <= self.at and one.act not in ENDING]

    def entry(self) -> AuditEntry | None:
        for entry in AuditEntry.objects.filter(run=self.debate.pk, kind__in=TOLD).order_by("seq"):
            if json.loads(entry.line)["facts"]["number"] == self.number:
                return entry
        return None


def bring_along(moment: DebateMoment, debate: Debate, words: str, user: Any) -> None:
    """Copy the rows to the new debate, in the transaction that submits it. `words`: a first message of the chair,
    who is the user who forks."""
    entry = moment.entry()
    if entry is None:
        raise ValueError("The message is not in the record.")
    at = {"number": moment.number, "entry": entry.seq, "hash": entry.hash}
    Fork.objects.create(run=debate.run, origin=moment.debate.run, **at)
    rows = _Rows(moment, debate)
    rows.firsts()
    numbers = rows.steers()
    turns = rows.turns(numbers)
    rows.messages(turns)
    if words:
        named = any(is_named(option.word, words) for option in debate.options.all())
        said = {"kind": rules.StatementKind.CHAIR, "by": user, "by_name": record_name(user) or "the command line"}
        DebateMessage.objects.create(debate=debate, number=moment.number + 1, content=words, names_option=named, **said)


class _Rows:
    def __init__(self, moment: DebateMoment, debate: Debate) -> None:
        self._moment, self._debate = moment, debate
        self._seats = {one.pk: one.seat for one in moment.debate.members.all()}
        self._members = {one.seat: one for one in debate.members.all()}
        self._options = {one.word: one for one in debate.options.all()}

    def _member(self, pk: int | None) -> Any:
        return self._members[self._seats[pk]] if pk else None

    def _verdict(self, row: Any) -> Any:
        return self._options.get(self._moment.debate.words.get(row.verdict_id or 0, ""))

    def firsts(self) -> None:
        names = ("abstained", "reasoning", "confidence", "missing")
        for member in self._moment.debate.seated:
            if first := getattr(member, "first", None):
                told = {name: getattr(first, name) for name in names}
                FirstVerdict.objects.create(member=self._member(member.pk), verdict=self._verdict(first), **told)

    def steers(self) -> dict[int, int]:
        """Copy the acts and return the new number of each."""
        numbers = dict[int, int]()
        done = {turn.steer for turn in self._moment.turns}
        for number, one in enumerate(self._moment.steers, 1):
            numbers[one.number] = number
            told: dict[str, Any] = {name: getattr(one, name) for name in STEER}
            honoured = one.done if one.act != rules.SteeringKind.ASK or one.number in done else None
            told |= {"member": self._member(one.member_id), "verdict": self._verdict(one), "done": honoured}
            SteeringAction.objects.create(debate=self._debate, number=number, **told)
        return numbers

    def turns(self, steers: dict[int, int]) -> dict[int, DebateTurn]:
        """Copy the turns and return them by the primary keys of the originals."""
        made = dict[int, DebateTurn]()
        for number, one in enumerate(self._moment.turns, 1):
            now = timezone.now()  # the time at which it enters the record of the fork
            told = {name: getattr(one, name) for name in TURN} | {"number": number, "made": now, "closed": now}
            told |= {"member": self._member(one.member_id), "steer": steers.get(one.steer or 0)}
            made[one.pk] = DebateTurn.objects.create(debate=self._debate, **told)
        return made

    def messages(self, turns: dict[int, DebateTurn]) -> None:
        for one in self._moment.messages:
            told = {name: getattr(one, name) for name in MESSAGE}
            told |= {"member": self._member(one.member_id), "verdict": self._verdict(one)}
            turn = turns.get(one.turn_id or 0)
            told |= {"made": turn.closed} if turn else {}  # the message ended the turn
            made = DebateMessage.objects.create(debate=self._debate, turn=turn, **told)
            points = [{name: getattr(point, name) for name in POINT} for point in one.points.all()]
            rows = [MessagePoint(message=made, **point) for point in points]
            MessagePoint.objects.bulk_create(rows)
