"""Map of arguments: each point below the one that it answers, who answered it, and which points nobody answered."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from ..prompt_context import PointSide, PromptContext, PromptPoint
from ..rules.state import ABSTAIN, SteeringKind

MIN_WORD_LENGTH = 4  # letters of a word that may show the source of a claim
_WORD = re.compile(r"\w+")


class ArgumentState(StrEnum):
    """State of a point. A member that repeats the point does not answer it."""

    ANSWERED = "answered"
    OPEN = "not_answered"
    TAKEN_BACK = "taken_back"


class ArgumentSource(StrEnum):
    """Whether the named line exists and shares a word with the claim; nothing more is checked."""

    FOUND = "found"
    NOT_FOUND = "not_found"
    OWN = "own_knowledge"


@dataclass(frozen=True)
class Argument:
    """A point, with those that answer or extend it. `id` as in "12.1"."""

    id: str
    seat: int | None
    point: PromptPoint
    state: ArgumentState
    source: ArgumentSource
    under: "Sequence[Argument]"

    @property
    def message(self) -> int:
        return _place(self.id)[0]


@dataclass(frozen=True)
class OptionArguments:
    """Arguments on one option; points that answer another one are below that one, not here."""

    option: str
    for_it: Sequence[Argument]
    against: Sequence[Argument]


@dataclass(frozen=True)
class DissentingOpinion:
    """A verdict that differs from the outcome: whose, the message that stated it last, its words, and the member's
    points that nobody answered. `message` is None if it was stated out of turn or not at all."""

    seat: int
    verdict: str
    message: int | None
    words: str
    unanswered: Sequence[Argument]


class ArgumentMap:
    """All points of a debate, arranged by what they answer."""

    def __init__(self, table: PromptContext) -> None:
        self.table = table
        self.seats = {message.number: message.seat for message in table.course.messages}

    @cached_property
    def answers_to(self) -> Mapping[str, list[str]]:
        """Points that answer another one, by the id of that one, which must be older."""
        found = defaultdict(list)
        for id, point in self.table.points.items():
            if point.answers in self.table.points and _place(point.answers) < _place(id):
                found[point.answers].append(id)
        return found

    def argument(self, id: str) -> Argument:
        point, under = self.table.points[id], [self.argument(other) for other in self.answers_to.get(id, ())]
        return Argument(id, self._seat(id), point, self._state(id), argument_source(self.table, point), under)

    def _seat(self, id: str) -> int | None:
        return self.seats.get(_place(id)[0])

    def _state(self, id: str) -> ArgumentState:
        countered = {self._seat(other) for other in self.answers_to.get(id, ()) if self._counters(other, id)}
        if self._seat(id) in countered:
            return ArgumentState.TAKEN_BACK
        return ArgumentState.ANSWERED if countered else ArgumentState.OPEN

    def _counters(self, id: str, other: str) -> bool:
        one, answered = self.table.points[id], self.table.points[other]
        return (one.option, one.side) != (answered.option, answered.side)

    def of_each_option(self) -> Iterator[OptionArguments]:
        below = {id for ids in self.answers_to.values() for id in ids}
        first = [self.argument(id) for id in self.table.points if id not in below]
        for word in self.table.words_of_options:
            own = [argument for argument in first if argument.point.option == word]
            for_it = [argument for argument in own if argument.point.side == PointSide.FOR]
            yield OptionArguments(
                word, for_it, [argument for argument in own if argument.point.side == PointSide.AGAINST]
            )

    def unanswered(self, seat: int, verdict: str) -> list[Argument]:
        """Return this member's unanswered points for its verdict or against another one."""
        own = [self.argument(id) for id in self.table.points if self._seat(id) == seat]
        return [one for one in own if one.state == ArgumentState.OPEN and _supports(one.point, verdict)]


def _place(id: str) -> tuple[int, int]:
    message, _, number = id.partition(".")
    return int(message), int(number)


def _supports(point: PromptPoint, verdict: str) -> bool:
    return (point.option == verdict) == (point.side == PointSide.FOR)


def argument_source(table: PromptContext, point: PromptPoint) -> ArgumentSource:
    if not point.document:
        return ArgumentSource.OWN
    lines = next((document.lines for document in table.documents if document.id == point.document), ())
    line = lines[point.line - 1] if 0 < point.line <= len(lines) else ""
    return ArgumentSource.FOUND if _words(point.claim) & _words(line) else ArgumentSource.NOT_FOUND


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.casefold()) if len(word) >= MIN_WORD_LENGTH or word.isdecimal()}


# ---- minority ---------------------------------------------------------------------------------------------


def dissenting_opinions(table: PromptContext, outcome: str, leaving: Mapping[int, str]) -> list[DissentingOpinion]:
    """Return every verdict that differs from the outcome; without an outcome, every verdict.

    `leaving`: the reasons of members that withdrew out of turn, by seat.
    """
    arguments = ArgumentMap(table)
    stood = ((one.seat, table.course.verdict_of.get(one.seat, ABSTAIN)) for one in table.course.voters)
    return [_dissent(arguments, *one, leaving) for one in stood if one[1] not in (outcome, ABSTAIN)]


def _dissent(arguments: ArgumentMap, seat: int, verdict: str, leaving: Mapping[int, str]) -> DissentingOpinion:
    number, words = _last_words(arguments.table, seat, leaving)
    return DissentingOpinion(seat, verdict, number, words, arguments.unanswered(seat, verdict))


def _last_words(table: PromptContext, seat: int, leaving: Mapping[int, str]) -> tuple[int | None, str]:
    """Return the message of a member's last verdict and its reasons, or else its text. Messages of a challenge are
    left out, as the member need not believe them."""
    stated = [message for message in table.course.messages if message.seat == seat and table.stated_verdicts(message)]
    left = next((steer for steer in table.course.acts(SteeringKind.WITHDRAW) if steer.seat == seat), None)
    if left and not any(message.number > left.after for message in stated):
        return None, leaving.get(seat, "")
    if not stated:
        return None, ""
    words = table.words[stated[-1].number]
    return stated[-1].number, words.reasoning or words.content
