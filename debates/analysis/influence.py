"""Influence among members, as far as it is visible: changes of verdicts, and the messages named as their reasons."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..prompt_context import PromptContext
from ..rules.outcome import DebateOutcome, outcome_of
from ..rules.state import ABSTAIN, MOVING, SPAN, DebateState, VerdictChange

FOLLOW_WINDOW = 3  # members' messages in which a change follows another message
MIN_CHANGES = 10  # changes needed for a meaningful percentage


@dataclass(frozen=True)
class PositionStage:
    """Verdicts of all seats at `clock`; the last stage is the end, after all last words."""

    clock: int
    stood: Mapping[int, str]


@dataclass(frozen=True)
class FirstPositions:
    """The outcome that the first verdicts would have had by the same rule. `swayed`: seats that ended with another
    verdict; `missing`: seats that gave none."""

    verdicts: Mapping[int, str]
    outcome: DebateOutcome
    swayed: Sequence[int]
    missing: Sequence[int]
    differs: bool


@dataclass(frozen=True)
class PositionChange:
    """A change, with the messages and points that its member had heard since it spoke last.

    `joined`: it went to the majority of the others without a reason: it named nothing, or had heard nothing new.
    """

    change: VerdictChange
    heard: Sequence[int]
    points: Sequence[str]
    to_majority: bool
    joined: bool


@dataclass(frozen=True)
class ConformityShare:
    """A part of a whole. With few changes there is no percentage, as it would claim too much."""

    part: int
    whole: int

    @property
    def percent(self) -> int | None:
        return round(100 * self.part / self.whole) if self.whole >= MIN_CHANGES else None


@dataclass(frozen=True)
class MemberInfluence:
    """Influence of one seat, in two numbers that are never added: changes that named its messages as a reason,
    which is a statement, and changes of others right after them, which may be coincidence. Each change is given
    by its message; one that names two of a seat's messages counts twice."""

    seat: int
    named_in: Sequence[int]
    followed_by: Sequence[int]

    @property
    def named(self) -> int:
        return len(self.named_in)

    @property
    def followed(self) -> int:
        return len(self.followed_by)


def stages(course: DebateState) -> list[PositionStage]:
    """Return the verdicts at each deadline and at the end."""
    ends = {one.clock: one.number for one in course.messages if one.clock and one.clock % SPAN == 0}
    return [*(PositionStage(clock, course.verdict_at(number)) for clock, number in ends.items()), _last(course)]


def _last(course: DebateState) -> PositionStage:
    return PositionStage(course.clock, course.verdict_of)


def first_positions(course: DebateState) -> FirstPositions | None:
    """Return the first verdicts and their outcome, or None if no member gave one."""
    stated = {first.seat: first.verdict for first in course.firsts}
    verdicts = {one.seat: stated.get(one.seat, "") for one in course.voters}
    if not any(verdicts.values()):
        return None
    outcome = _outcome(course, verdicts)
    return FirstPositions(
        verdicts=verdicts,
        outcome=outcome,
        swayed=[seat for seat, verdict in verdicts.items() if _swayed(verdict, course.verdict_of.get(seat, ""))],
        missing=[seat for seat, verdict in verdicts.items() if not verdict],
        differs=outcome.word != _outcome(course, course.verdict_of).word,
    )


def _outcome(course: DebateState, verdicts: Mapping[int, str]) -> DebateOutcome:
    in_order = [verdicts.get(one.seat, "") for one in course.voters]
    return outcome_of(course.settings.rule, course.settings.options, in_order)


def _swayed(before: str, after: str) -> bool:
    return bool(before and after) and before != after


# ---- changes ----------------------------------------------------------------------------------------------


def position_changes(table: PromptContext) -> list[PositionChange]:
    return [_moved(table, change) for change in table.course.changes]


def _moved(table: PromptContext, change: VerdictChange) -> PositionChange:
    heard = list(_heard(table.course, change))
    points = [number for number in table.points if int(number.partition(".")[0]) in heard]
    to_majority = change.verdict == majority(table.course, change)
    joined = to_majority and not (change.moved_by and points)
    return PositionChange(change, heard, points, to_majority, joined)


def _heard(course: DebateState, change: VerdictChange) -> Iterator[int]:
    """Yield the messages of others after the member's last one that it had read when it got the floor."""
    said = next((one for one in course.messages if one.number == change.number and one.seat == change.seat), None)
    turn = next((turn for turn in course.turns if said and turn.number == said.turn), None)
    until = turn.after if turn else change.number
    own = [one.number for one in course.messages if one.seat == change.seat and one.number < change.number]
    for message in course.messages:
        after = max(own, default=0) < message.number <= until
        if after and message.seat != change.seat and message.sort in MOVING:
            yield message.number


def majority(course: DebateState, change: VerdictChange) -> str:
    """Return the verdict that most of the others supported just before the change; empty for a tie."""
    before = course.verdict_at(change.number - 1)
    stood = Counter(verdict for seat, verdict in before.items() if seat != change.seat and verdict != ABSTAIN)
    [(first, most), (_, next_most)] = [*stood.most_common(2), ("", 0), ("", 0)][:2]
    return first if most > next_most else ""


def conformity(changes: Sequence[PositionChange]) -> ConformityShare:
    """Return how many of all changes joined the majority without a reason."""
    return ConformityShare(sum(change.joined for change in changes), len(changes))


# ---- influence --------------------------------------------------------------------------------------------


def influence(course: DebateState) -> list[MemberInfluence]:
    return [
        MemberInfluence(one.seat, _named_in(course, one.seat), _followed_by(course, one.seat))
        for one in course.speakers
    ]


def _named_in(course: DebateState, seat: int) -> list[int]:
    own = {message.number for message in course.messages if message.seat == seat}
    return [change.number for change in course.changes for number in change.moved_by if number in own]


def _followed_by(course: DebateState, seat: int) -> list[int]:
    return [change.number for change in course.changes if seat in _before(course, change)]


def _before(course: DebateState, change: VerdictChange) -> set[int | None]:
    """Return the seats that spoke right before a change, except the changing member."""
    earlier = [one.seat for one in course.messages_said if one.number < change.number and one.seat != change.seat]
    return set(earlier[-FOLLOW_WINDOW:])
