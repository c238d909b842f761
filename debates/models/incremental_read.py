"""A debate as whoever performs it sees it unfold: what was read once is not read again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from engine.db.cached_sql import fetch, fetch_after, freeze_row, group_by_column, select

from ..prompt_context import MessageWords, PromptContext
from ..rules import state as rules
from .context_builder import build_prompt_context, message_words
from .debates import Debate, DebateKeys, Member
from .messages import Message, Point, Steer, Turn

Row = TypeVar("Row", Turn, Message, Steer)
KnownRows = TypeVar("KnownRows", rules.TurnState, rules.MessageState, rules.SteeringState)


@dataclass(frozen=True)
class DebateSnapshot:
    """One look at a debate. `debate` is what it was at the first, and stays so but for what happens in it."""

    debate: Debate
    table: PromptContext

    @property
    def course(self) -> rules.DebateState:
        return self.table.course

    def member(self, seat: int) -> Member:
        return self.debate.at_seat(seat)


class IncrementalDebate:
    """The looks of one claim. What is said never changes, and of turns and acts only those that stand open do, so each
    look after the first reads those and what is new: as much at the end of a long debate as at its beginning."""

    def __init__(self, pk: UUID) -> None:
        self._pk = pk
        self._first: DebateSnapshot | None = None
        self._messages: dict[int, rules.MessageState] = {}
        self._words: dict[int, MessageWords] = {}
        self._turns: dict[int, rules.TurnState] = {}
        self._steers: dict[int, rules.SteeringState] = {}

    def read(self, claim: int, now: datetime) -> DebateSnapshot:
        """Called again where a connection was dropped: what it has read by then is whole."""
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
        if self._turns:  # until then first verdicts are on their way, whatever the chair has said
            self._first = seen
        return seen

    def _go_on(self, first: DebateSnapshot) -> DebateSnapshot:
        [(because,)] = select(Debate, "pk", [self._pk], ["ended_because"])
        keys = self._keep_turns(first.debate.keys)
        self._keep_messages(keys)
        for steer in self._new(Steer, self._steers, lambda one: not one.done):
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
        """With the numbers of those that a message may be said in."""
        turns = dict(keys.turns)
        for turn in self._new(Turn, self._turns, lambda one: one.state == rules.MemberStatus.OPEN):
            self._turns[turn.number] = turn.seen(keys)
            turns[turn.pk] = turn.number
        return replace(keys, turns=turns)

    def _keep_messages(self, keys: DebateKeys) -> None:
        before = {number: one for number, one in self._messages.items() if one.sort != rules.StatementKind.CLOSING}
        messages = self._new(Message, before, lambda one: False)  # last words come in any order
        points = group_by_column(fetch(Point, "message", [one.pk for one in messages], "number"), "message_id")
        for message in messages:
            freeze_row(message, points=points[message.pk])
            self._messages[message.number] = message.seen(keys)
            self._words[message.number] = message_words(message)

    def _new(self, model: type[Row], known: Mapping[int, KnownRows], is_open: Callable[[KnownRows], bool]) -> list[Row]:
        """Those from the first that stood open when it was read on, or after all that were read."""
        still = (number - 1 for number, one in known.items() if is_open(one))
        return fetch_after(model, "debate", self._pk, "number", min(still, default=max(known, default=0)))
