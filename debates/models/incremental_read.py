"""Reads a debate while it is performed; rows that were read once are not read again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from engine.db.cached_sql import fetch, fetch_after, freeze_row, group_by_column, select

from ..prompt_context import MessageWords, PromptContext
from ..rules import state as rules
from .context_builder import build_prompt_context, message_words
from .debates import Debate, DebateKeys, DebateMember
from .messages import DebateMessage, DebateTurn, MessagePoint, SteeringAction

Row = TypeVar("Row", DebateTurn, DebateMessage, SteeringAction)
KnownRows = TypeVar("KnownRows", rules.TurnState, rules.MessageState, rules.SteeringState)


@dataclass(frozen=True)
class DebateSnapshot:
    """One read of a debate. `debate` has the values of the first read, plus what has happened since."""

    debate: Debate
    table: PromptContext

    @property
    def course(self) -> rules.DebateState:
        return self.table.course

    def member(self, seat: int) -> DebateMember:
        return self.debate.at_seat(seat)


class IncrementalDebate:
    """The reads of one claim. Messages never change, and only open turns and acts do. So each read after the first
    loads those and the new rows: the same effort at the end of a long debate as at its beginning."""

    def __init__(self, pk: UUID) -> None:
        self._pk = pk
        self._first: DebateSnapshot | None = None
        self._messages: dict[int, rules.MessageState] = {}
        self._words: dict[int, MessageWords] = {}
        self._turns: dict[int, rules.TurnState] = {}
        self._steers: dict[int, rules.SteeringState] = {}

    def read(self, claim: int, now: datetime) -> DebateSnapshot:
        """Return the current state. May be called again after a lost connection: what was read is complete."""
        seen = self._go_on(self._first) if self._first else self._begin()
        late = seen.debate.until is not None and now >= seen.debate.until
        course = replace(seen.course, claim=claim, late=late)
        return replace(seen, table=replace(seen.table, course=course))

    def _begin(self) -> DebateSnapshot:
        debate = Debate.objects.with_messages().get(pk=self._pk)
        seen = DebateSnapshot(debate, build_prompt_context(debate, debate.state()))
        self._messages = {one.number: one for one in seen.course.messages}
        self._words = dict(seen.table.words)
        self._turns = {one.number: one for one in seen.course.turns}
        self._steers = {one.number: one for one in seen.course.steers}
        if self._turns:  # before that, first verdicts are still arriving, whatever the chair has said
            self._first = seen
        return seen

    def _go_on(self, first: DebateSnapshot) -> DebateSnapshot:
        [(because,)] = select(Debate, "pk", [self._pk], ["ended_because"])
        keys = self._keep_turns(first.debate.keys)
        self._keep_messages(keys)
        for steer in self._new(SteeringAction, self._steers, lambda one: not one.done):
            self._steers[steer.number] = steer.seen(keys)
        course = replace(
            first.course,
            turns=list(self._turns.values()),
            messages=[self._messages[number] for number in sorted(self._messages)],
            steers=list(self._steers.values()),
            because=because,
        )
        return replace(first, table=replace(first.table, course=course, words=dict(self._words)))

    def _keep_turns(self, keys: DebateKeys) -> DebateKeys:
        """Read new turns; return the keys with the numbers of the turns that messages may belong to."""
        turns = dict(keys.turns)
        for turn in self._new(DebateTurn, self._turns, lambda one: one.state == rules.MemberStatus.OPEN):
            self._turns[turn.number] = turn.seen(keys)
            turns[turn.pk] = turn.number
        return replace(keys, turns=turns)

    def _keep_messages(self, keys: DebateKeys) -> None:
        before = {number: one for number, one in self._messages.items() if one.sort != rules.StatementKind.CLOSING}
        messages = self._new(DebateMessage, before, lambda one: False)  # last words come in any order
        points = group_by_column(fetch(MessagePoint, "message", [one.pk for one in messages], "number"), "message_id")
        for message in messages:
            freeze_row(message, points=points[message.pk])
            self._messages[message.number] = message.seen(keys)
            self._words[message.number] = message_words(message)

    def _new(self, model: type[Row], known: Mapping[int, KnownRows], is_open: Callable[[KnownRows], bool]) -> list[Row]:
        """Return the rows from the first one that was open at the last read, or after all that were read."""
        still = (number - 1 for number, one in known.items() if is_open(one))
        return fetch_after(model, "debate", self._pk, "number", min(still, default=max(known, default=0)))
