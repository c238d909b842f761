"""Everything that the prompts of a debate use: its state, as the rules see it, and the texts.

It is built from rows in one place (`models/context_builder.py`): what is in neither the state nor the context is in
no prompt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any

from .rules.state import DebateState, MessageKind, MessageState, SeatState, StatementKind, TurnReason, TurnState

CHAIR = "Chair"
TIMEKEEPER = "Timekeeper"
EVERYONE = "everyone"


class PromptView(StrEnum):
    """How members see the debate: their own messages as answers, or minutes for all, with letters for names."""

    PERSPECTIVE = "perspective"
    MINUTES = "minutes"


class PointSide(StrEnum):
    FOR = "for"
    AGAINST = "against"


class AnswerShape(StrEnum):
    """Kinds of artifacts: a text, a table, or a table that is also drawn as bars."""

    TEXT = "text"
    TABLE = "table"
    BARS = "bars"


@dataclass(frozen=True)
class PromptOption:
    """`direction` is for the display only."""

    word: str
    meaning: str = ""
    direction: str = ""


@dataclass(frozen=True)
class PromptDocument:
    """`id` is "A1", "A2" and so on; its lines are numbered from 1."""

    id: str
    title: str
    lines: Sequence[str]


@dataclass(frozen=True)
class PromptPoint:
    """A claim for or against an option. `line` is 0 if none is named; `answers` is the number of another point,
    such as "12.1": the first of message 12."""

    claim: str
    option: str
    side: str
    document: str = ""
    line: int = 0
    answers: str = ""


@dataclass(frozen=True)
class PromptArtifact:
    """`text` of a text; `columns` and `rows` of a table."""

    title: str
    kind: str
    text: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class NoteFacts:
    """Facts of a note; members by their seats.

    `left`: messages until the deadline. `minutes`: until the debate's end time, None if there is none. `decided` and
    `none`: members with an option and without a verdict, whether or not they can still speak; None in older debates,
    which had neither.
    """

    said: int
    most: int
    left: int
    undecided: tuple[int, ...] = ()
    abstaining: tuple[int, ...] = ()
    withdrawn: tuple[int, ...] = ()
    silent: tuple[int, ...] = ()
    minutes: int | None = None
    decided: tuple[int, ...] | None = None
    none: tuple[int, ...] | None = None

    @property
    def told(self) -> dict[str, Any]:
        """Facts in the stored form: without those that older debates did not have."""
        older = ("decided", "none") if self.decided is None else ()
        return {name: value for name, value in vars(self).items() if name not in older}


@dataclass(frozen=True)
class MessageWords:
    """Parts of a message that the rules do not use. A note has its facts; its content is a model's wording of them,
    if one was asked."""

    at: datetime
    content: str = ""
    points: Sequence[PromptPoint] = ()
    artifact: PromptArtifact | None = None
    reasoning: str = ""
    facts: NoteFacts | None = None


def letters_of(course: DebateState) -> Mapping[int, str]:
    """Return the letters that replace members' names in the minutes view."""
    return {one.seat: f"Member {chr(ord('A') + place)}" for place, one in enumerate(course.speakers)}


@dataclass(frozen=True)
class PromptContext:
    """Everything that prompts use.

    `who`: the description of each seat. `words`: the texts of each message, by number. `run`: the first eight
    characters of its id. `boundary`: drawn once per debate, so that requests share their beginning.
    """

    course: DebateState
    question: str
    options: Sequence[PromptOption]
    documents: Sequence[PromptDocument]
    who: Mapping[int, str]
    words: Mapping[int, MessageWords]
    run: str
    boundary: str
    view: str = PromptView.PERSPECTIVE

    @cached_property
    def seats(self) -> Mapping[int, SeatState]:
        return {seat.seat: seat for seat in self.course.seats}

    @cached_property
    def names(self) -> Mapping[int, str]:
        """Names of all members that can be addressed, as this view shows them."""
        if self.view == PromptView.PERSPECTIVE:
            return {one.seat: one.name for one in self.course.speakers}
        return letters_of(self.course)

    @cached_property
    def timekeeper(self) -> str:
        return next((seat.name for seat in self.course.seats if seat.kind == MessageKind.TIMEKEEPER), TIMEKEEPER)

    @cached_property
    def words_of_options(self) -> tuple[str, ...]:
        return tuple(option.word for option in self.options)

    @cached_property
    def challenges(self) -> frozenset[int]:
        """Turns whose verdict is not the member's own."""
        return frozenset(turn.number for turn in self.course.turns if turn.why == TurnReason.CHALLENGE)

    def read_messages(self, turn: TurnState) -> Sequence[MessageState]:
        """Return the messages that the member with this turn reads: in a closing, those from before it began,
        without last words."""
        if turn.why != TurnReason.CLOSING:
            return self.course.messages
        return [one for one in self.course.messages if one.number <= turn.after and one.sort != StatementKind.CLOSING]

    def stated_verdicts(self, message: MessageState) -> str:
        """Return the verdict that a message states as its member's own; empty for "as before"."""
        return "" if message.turn in self.challenges else message.verdict

    @cached_property
    def changed_verdict(self) -> frozenset[int]:
        """Messages that state a new or changed verdict."""
        stood: dict[int | None, str] = {}
        found = set()
        for message in self.course.messages:
            if (verdict := self.stated_verdicts(message)) and stood.get(message.seat) != verdict:
                found.add(message.number)
                stood[message.seat] = verdict
        return frozenset(found)

    @cached_property
    def points(self) -> Mapping[str, PromptPoint]:
        """Points by number, such as "12.1"."""
        said = ((number, words.points) for number, words in sorted(self.words.items()))
        return {f"{number}.{place}": point for number, points in said for place, point in enumerate(points, 1)}

    def speaker(self, message: MessageState) -> str:
        return CHAIR if message.seat is None else self.names.get(message.seat, self.timekeeper)
