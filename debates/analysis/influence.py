"""Who moved whom, as far as it can be seen: what each stood by alone and since, and what was named as a reason."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..prompt_context import PromptContext
from ..rules.outcome import DebateOutcome, outcome_of
from ..rules.state import ABSTAIN, MOVING, SPAN, DebateState, VerdictChange

FOLLOW_WINDOW = 3  # messages of members in which a change follows another message
MIN_CHANGES = 10  # changes of which a percentage says anything


@dataclass(frozen=True)
class PositionStage:
    """What each seat stood by when the clock stood at `clock`; the last is the end, after all last words."""

    clock: int
    stood: Mapping[int, str]


@dataclass(frozen=True)
class FirstPositions:
    """What the verdicts that members gave alone, before the debate, would have come to by the same rule. `swayed` are
    the seats that ended elsewhere than they began, `missing` those that gave none."""

    verdicts: Mapping[int, str]
    outcome: DebateOutcome
    swayed: Sequence[int]
    missing: Sequence[int]
    differs: bool


@dataclass(frozen=True)
class PositionChange:
    """A change with what its member had heard since it spoke last: the messages, and the points in them.

    `joined`: to what most of the others stood by, and with no reason: it named nothing, or had heard nothing new.
    """

    change: VerdictChange
    heard: Sequence[int]
    points: Sequence[str]
    to_majority: bool
    joined: bool


@dataclass(frozen=True)
class ConformityShare:
    """So many of so many. Of few, a percentage would say more than is known."""

    part: int
    whole: int

    @property
    def percent(self) -> int | None:
        return round(100 * self.part / self.whole) if self.whole >= MIN_CHANGES else None


@dataclass(frozen=True)
class MemberInfluence:
    """Of one seat, in two numbers that are never added: how often its messages were named as a reason, which is a
    statement, and how many changes of others came right after them, which may be coincidence. Each change by its
    message; one that names two of a seat's messages counts twice."""

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
    """At each deadline, and at the end."""
    ends = {one.clock: one.number for one in course.messages if one.clock and one.clock % SPAN == 0}
    return [*(PositionStage(clock, course.verdict_at(number)) for clock, number in ends.items()), _last(course)]


def _last(course: DebateState) -> PositionStage:
    return PositionStage(course.clock, course.verdict_of)


def first_positions(course: DebateState) -> FirstPositions | None:
    """None where nobody was asked alone."""
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
    """What others said after its own last message, as far as it was there when its member was given the floor."""
    said = next((one for one in course.messages if one.number == change.number and one.seat == change.seat), None)
    turn = next((turn for turn in course.turns if said and turn.number == said.turn), None)
    until = turn.after if turn else change.number
    own = [one.number for one in course.messages if one.seat == change.seat and one.number < change.number]
    for message in course.messages:
        after = max(own, default=0) < message.number <= until
        if after and message.seat != change.seat and message.sort in MOVING:
            yield message.number


def majority(course: DebateState, change: VerdictChange) -> str:
    """What more of the others stood by than by anything else just before; empty where nothing was ahead."""
    before = course.verdict_at(change.number - 1)
    stood = Counter(verdict for seat, verdict in before.items() if seat != change.seat and verdict != ABSTAIN)
    [(first, most), (_, next_most)] = [*stood.most_common(2), ("", 0), ("", 0)][:2]
    return first if most > next_most else ""


def conformity(changes: Sequence[PositionChange]) -> ConformityShare:
    """How many of all changes joined the majority without a reason."""
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
    """Who spoke right before a change, its own member apart."""
    earlier = [one.seat for one in course.messages_said if one.number < change.number and one.seat != change.seat]
    return set(earlier[-FOLLOW_WINDOW:])
