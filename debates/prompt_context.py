"""All of a debate that its prompts look at: its course, as the rules know it, and the words beside.

Made from rows in one place, and of nothing else: what stands in neither a course nor a table is in no prompt.
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
    """How members see the debate: each its own words as its own, or all the same minutes, where nobody has a name."""

    PERSPECTIVE = "perspective"
    MINUTES = "minutes"


class PointSide(StrEnum):
    FOR = "for"
    AGAINST = "against"


class AnswerShape(StrEnum):
    """What an artifact is: a text, a table, or a table that is also drawn as bars."""

    TEXT = "text"
    TABLE = "table"
    BARS = "bars"


@dataclass(frozen=True)
class PromptOption:
    """`direction` is for the look alone."""

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
    """One claim, and what it speaks for or against. `line` is 0 where none is named; `answers` is the number of another
    point, such as "12.1": the first of message 12."""

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
    """What a note tells; members by their seats. `left`: messages to the deadline. `minutes`: until the moment at which
    the debate ends, None where there is none. `decided` and `none`: who has an option and who has no verdict at all,
    whether or not they can still speak; None in older debates, which told neither."""

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
        """As it is kept: without what older debates did not tell."""
        older = ("decided", "none") if self.decided is None else ()
        return {name: value for name, value in vars(self).items() if name not in older}


@dataclass(frozen=True)
class MessageWords:
    """What a message has beside what the rules know of it. A note has its facts, and as content what a model made of
    them, if one was asked."""

    at: datetime
    content: str = ""
    points: Sequence[PromptPoint] = ()
    artifact: PromptArtifact | None = None
    reasoning: str = ""
    facts: NoteFacts | None = None


def letters_of(course: DebateState) -> Mapping[int, str]:
    """What members are called where nobody has a name."""
    return {one.seat: f"Member {chr(ord('A') + place)}" for place, one in enumerate(course.speakers)}


@dataclass(frozen=True)
class PromptContext:
    """`who`: what each seat is, in its panel's words. `words`: of each message, by its number. `run`: the first eight
    signs of its id. `boundary`: drawn once for the debate, so that a request begins as the one before did."""

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
        """Of all that may be spoken to, as they are called in this view."""
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
        """The turns whose verdict is nobody's own."""
        return frozenset(turn.number for turn in self.course.turns if turn.why == TurnReason.CHALLENGE)

    def read_messages(self, turn: TurnState) -> Sequence[MessageState]:
        """For a closing what all had heard when it began; nobody hears another's last word."""
        if turn.why != TurnReason.CLOSING:
            return self.course.messages
        return [one for one in self.course.messages if one.number <= turn.after and one.sort != StatementKind.CLOSING]

    def stated_verdicts(self, message: MessageState) -> str:
        """The verdict that a message states for good; empty for "as before"."""
        return "" if message.turn in self.challenges else message.verdict

    @cached_property
    def changed_verdict(self) -> frozenset[int]:
        """The messages since which a member stands by something else than before, or by something at all."""
        stood: dict[int | None, str] = {}
        found = set()
        for message in self.course.messages:
            if (verdict := self.stated_verdicts(message)) and stood.get(message.seat) != verdict:
                found.add(message.number)
                stood[message.seat] = verdict
        return frozenset(found)

    @cached_property
    def points(self) -> Mapping[str, PromptPoint]:
        """By their numbers."""
        said = ((number, words.points) for number, words in sorted(self.words.items()))
        return {f"{number}.{place}": point for number, points in said for place, point in enumerate(points, 1)}

    def speaker(self, message: MessageState) -> str:
        return CHAIR if message.seat is None else self.names.get(message.seat, self.timekeeper)
