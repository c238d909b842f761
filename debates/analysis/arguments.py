"""What speaks for what: every point under the one that it answers, who answered it, and what nobody answered."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from ..rules.course import ABSTAIN, Act
from ..table import Point, Side, Table

LONG = 4  # letters of a word that may show where a claim is from
_WORD = re.compile(r"\w+")


class State(StrEnum):
    """What became of a point. Another member that says the same again has not answered it."""

    ANSWERED = "answered"
    OPEN = "not_answered"
    TAKEN_BACK = "taken_back"


class Source(StrEnum):
    """Whether the line that a claim names is there and has a word in common with it: no more than that was checked."""

    FOUND = "found"
    NOT_FOUND = "not_found"
    OWN = "own_knowledge"


@dataclass(frozen=True)
class Argument:
    """A point, and under it those that answer it or say more. `id` as in "12.1"."""

    id: str
    seat: int | None
    point: Point
    state: State
    source: Source
    under: "Sequence[Argument]"

    @property
    def message(self) -> int:
        return _place(self.id)[0]


@dataclass(frozen=True)
class Sides:
    """Of one option; points that answer another stand under it and not here."""

    option: str
    for_it: Sequence[Argument]
    against: Sequence[Argument]


@dataclass(frozen=True)
class Dissent:
    """A verdict that is not the outcome: whose, in which message it was said last, in its own words, and which of its
    member's points nobody answered. `message` is None where it was said out of turn or not at all."""

    seat: int
    verdict: str
    message: int | None
    words: str
    unanswered: Sequence[Argument]


class Arguments:
    """All points of a debate."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.seats = {message.number: message.seat for message in table.course.messages}

    @cached_property
    def under(self) -> Mapping[str, list[str]]:
        """The points that name another one, by that one; what is named has to be older."""
        found = defaultdict(list)
        for id, point in self.table.points.items():
            if point.answers in self.table.points and _place(point.answers) < _place(id):
                found[point.answers].append(id)
        return found

    def argument(self, id: str) -> Argument:
        point, under = self.table.points[id], [self.argument(other) for other in self.under.get(id, ())]
        return Argument(id, self._seat(id), point, self._state(id), source(self.table, point), under)

    def _seat(self, id: str) -> int | None:
        return self.seats.get(_place(id)[0])

    def _state(self, id: str) -> State:
        countered = {self._seat(other) for other in self.under.get(id, ()) if self._counters(other, id)}
        if self._seat(id) in countered:
            return State.TAKEN_BACK
        return State.ANSWERED if countered else State.OPEN

    def _counters(self, id: str, other: str) -> bool:
        one, answered = self.table.points[id], self.table.points[other]
        return (one.option, one.side) != (answered.option, answered.side)

    def of_each_option(self) -> Iterator[Sides]:
        below = {id for ids in self.under.values() for id in ids}
        first = [self.argument(id) for id in self.table.points if id not in below]
        for word in self.table.words_of_options:
            own = [argument for argument in first if argument.point.option == word]
            for_it = [argument for argument in own if argument.point.side == Side.FOR]
            yield Sides(word, for_it, [argument for argument in own if argument.point.side == Side.AGAINST])

    def unanswered(self, seat: int, verdict: str) -> list[Argument]:
        """Of this member, as far as they speak for its verdict or against another."""
        own = [self.argument(id) for id in self.table.points if self._seat(id) == seat]
        return [one for one in own if one.state == State.OPEN and _supports(one.point, verdict)]


def _place(id: str) -> tuple[int, int]:
    message, _, number = id.partition(".")
    return int(message), int(number)


def _supports(point: Point, verdict: str) -> bool:
    return (point.option == verdict) == (point.side == Side.FOR)


def source(table: Table, point: Point) -> Source:
    if not point.document:
        return Source.OWN
    lines = next((document.lines for document in table.documents if document.id == point.document), ())
    line = lines[point.line - 1] if 0 < point.line <= len(lines) else ""
    return Source.FOUND if _words(point.claim) & _words(line) else Source.NOT_FOUND


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.casefold()) if len(word) >= LONG or word.isdecimal()}


# ---- the minority -----------------------------------------------------------------------------------------


def minority(table: Table, outcome: str, leaving: Mapping[int, str]) -> list[Dissent]:
    """Every verdict that is not the outcome, of whatever is the outcome; where there is none, every verdict.

    `leaving`: what those said who left out of turn, by their seats.
    """
    arguments = Arguments(table)
    stood = ((one.seat, table.course.stands_by.get(one.seat, ABSTAIN)) for one in table.course.voters)
    return [_dissent(arguments, *one, leaving) for one in stood if one[1] not in (outcome, ABSTAIN)]


def _dissent(arguments: Arguments, seat: int, verdict: str, leaving: Mapping[int, str]) -> Dissent:
    number, words = _last_words(arguments.table, seat, leaving)
    return Dissent(seat, verdict, number, words, arguments.unanswered(seat, verdict))


def _last_words(table: Table, seat: int, leaving: Mapping[int, str]) -> tuple[int | None, str]:
    """Its last reasons, or else what it said with its verdict. What it said as a challenge it need not believe."""
    stated = [message for message in table.course.messages if message.seat == seat and table.stated(message)]
    left = next((steer for steer in table.course.acts(Act.WITHDRAW) if steer.seat == seat), None)
    if left and not any(message.number > left.after for message in stated):
        return None, leaving.get(seat, "")
    if not stated:
        return None, ""
    words = table.words[stated[-1].number]
    return stated[-1].number, words.reasoning or words.content
