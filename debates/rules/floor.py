"""What comes next in a debate. Every course has exactly one next step, and it follows from the rows alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from . import draw
from .course import (
    REMINDER_EVERY,
    SPAN,
    Act,
    Course,
    Note,
    Sort,
    Standing,
    Steer,
    Turn,
    Why,
)

REPLIES_IN_A_ROW = 2
TURNS_ALONE = 2
CALL_AFTER = 2  # messages for each active member


class Because(StrEnum):
    """Why a debate ended."""

    ALL_WITHDRAWN = "all_withdrawn"
    AGREED = "agreed"
    STALEMATE = "stalemate"
    MOST = "most"
    SPEND = "spend"
    UNTIL = "until"
    CLOSED = "closed"
    ALONE = "alone"  # one member was left, and has had its two turns


@dataclass(frozen=True)
class FirstVerdicts:
    seats: Sequence[int]


@dataclass(frozen=True)
class KeepTime:
    """A note is due, by the clock after message `after`."""

    note: Note
    after: int


@dataclass(frozen=True)
class Give:
    """The floor is given; whoever is drawn is drawn here."""

    turn: Turn


@dataclass(frozen=True)
class Hear:
    """`continues`: the message that this one is part two of."""

    turn: Turn
    continues: int | None = None


@dataclass(frozen=True)
class Skip:
    turn: Turn
    reason: str


@dataclass(frozen=True)
class Rest:
    pass


@dataclass(frozen=True)
class BeginClosing:
    because: Because
    turns: Sequence[Turn]


@dataclass(frozen=True)
class Closing:
    turns: Sequence[Turn]


@dataclass(frozen=True)
class End:
    because: str


@dataclass(frozen=True)
class TooFew:
    """Fewer than two members can speak: nothing can come of it as it is."""


Step = FirstVerdicts | KeepTime | Give | Hear | Skip | Rest | BeginClosing | Closing | End | TooFew


def next_step(course: Course) -> Step:
    for due in _IN_ORDER:
        if step := due(course):
            return step
    return _draw(course)


def _closing(course: Course) -> Step | None:
    if not course.because:
        return None
    waiting = [turn for turn in course.closings if turn.state == Standing.OPEN]
    if waiting and course.acts(Act.END):
        return Skip(waiting[0], "The chair ended the debate without a closing.")
    return Closing(waiting) if waiting else End(course.because)


def _first_verdicts(course: Course) -> Step | None:
    """Of models alone: persons make up their minds as they like."""
    if not course.settings.first or course.notes:
        return None
    asked = {first.seat for first in course.firsts}
    missing = [one.seat for one in course.voters if not one.person and one.seat not in asked]
    return FirstVerdicts(missing) if missing else None


def _open_turn(course: Course) -> Step | None:
    turn = course.open_turn
    if not turn:
        return None
    if course.acts(Act.CLOSE_AT_ONCE, Act.END):
        return Skip(turn, "The chair closed the debate.")
    if turn.seat in course.silent:
        return Skip(turn, "The chair gave up on this member.")
    if turn.seat in course.withdrawn and not _recalls(course, turn):
        return Skip(turn, "This member has withdrawn.")
    return Hear(turn, continues(course, turn))


def _recalls(course: Course, turn: Turn) -> bool:
    return any(steer.number == turn.steer for steer in course.acts(Act.ASK, Act.RECALL))


def continues(course: Course, turn: Turn) -> int | None:
    """The message that one in this turn is part two of: who is drawn again with nothing between goes on, once."""
    last = next((one for one in reversed(course.messages) if one.number <= turn.after), None)
    if turn.why != Why.DRAW or not course.settings.free_floor or not last or turn.after != last.number:
        return None
    goes_on = last.sort == Sort.SAID and last.seat == turn.seat and last.continues is None
    return last.number if goes_on and len(turn.weights) > 1 else None


def _note(course: Course) -> Step | None:
    if not course.notes:
        return KeepTime(Note.OPENING, 0)
    due = course.clock and course.clock % REMINDER_EVERY == 0
    if not due or any(note.after == course.clock for note in course.notes):
        return None
    return KeepTime(Note.REMINDER if course.clock % SPAN else Note.DEADLINE, course.clock)


def _rest(course: Course) -> Step | None:
    """Once at each deadline: the note tells by which claim of the run it was written."""
    return Rest() if course.deadline and course.deadline.claim == course.claim else None


def _end(course: Course) -> Step | None:
    if _nobody_left(course):
        return End(Because.ALL_WITHDRAWN)
    if course.acts(Act.END):
        return End(Because.CLOSED)
    because = next((because for because, holds in _ENDS if holds(course)), None)
    return begin_closing(course, because) if because else None


def _nobody_left(course: Course) -> bool:
    """All have withdrawn but for those who cannot speak."""
    return not course.active_voters and not _too_few(course)


def begin_closing(course: Course, because: Because) -> Step:
    """Everybody that has not withdrawn says a last word, all at once."""
    first = len(course.turns) + 1
    seats = enumerate(course.active_voters, first)
    turns = [Turn(number, seat, Why.CLOSING, course.newest, series=course.series) for number, seat in seats]
    return BeginClosing(because, turns)


def _too_few(course: Course) -> Step | None:
    able = [one for one in course.voters if one.seat in course.withdrawn or one.seat not in course.silent]
    return TooFew() if len(able) < 2 else None


def _closed(course: Course) -> bool:
    return bool(course.acts(Act.CLOSE, Act.CLOSE_AT_ONCE))


def united(course: Course) -> str:
    """The option that all active members stand by, having spoken; empty where there is none."""
    stood = {course.stands_by.get(seat, "") for seat in course.active_voters}
    spoken = all(course.counts[seat] for seat in course.active_voters)
    [one, *others] = stood or {""}
    return one if one in course.settings.options and not others and spoken else ""


def _agreed(course: Course) -> bool:
    if len(course.active_voters) < 2 or not united(course):
        return False
    return not course.settings.challenge or _spoken_since(course, _settled(course))


def _settled(course: Course) -> int | None:
    """The message since which nothing moved after the challenge; None while there was none."""
    turn = course.challenged
    if not turn or turn.state == Standing.OPEN:
        return None
    spoken = next((one.number for one in course.said if one.turn == turn.number), turn.after)
    return max([spoken, *(change.number for change in course.changes)])


def _spoken_since(course: Course, number: int | None) -> bool:
    if number is None:
        return False
    return {one.seat for one in course.said if one.number > number} >= set(course.active_voters)


def _stalemate(course: Course) -> bool:
    at_deadline = course.deadline is not None and course.deadline.after == course.clock
    return at_deadline and not course.undecided and not course.moved_since(course.clock - SPAN)


def _alone(course: Course) -> bool:
    last = [turn.seat for turn in course.given[-TURNS_ALONE:]]
    return len(course.active) == 1 and last == course.active * TURNS_ALONE


_ENDS: Sequence[tuple[Because, Callable[[Course], bool]]] = (
    (Because.CLOSED, _closed),
    (Because.AGREED, _agreed),
    (Because.STALEMATE, _stalemate),
    (Because.MOST, lambda course: course.clock >= course.most),
    (Because.SPEND, lambda course: not course.affords),
    (Because.UNTIL, lambda course: course.late),
    (Because.ALONE, _alone),
)


# ---- who has the floor ------------------------------------------------------------------------------------


def _asked(course: Course) -> Step | None:
    for steer in course.acts(Act.ASK, Act.RECALL):
        if not steer.done and steer.seat is not None and _may_be_asked(course, steer):
            return _give(course, steer.seat, Why.ASKED, steer=steer.number)
    return None


def _may_be_asked(course: Course, steer: Steer) -> bool:
    return steer.seat not in course.silent and steer.seat in {one.seat for one in course.speakers}


def _reply(course: Course) -> Step | None:
    """To whoever asked exactly one active member; not for ever, else two would keep the floor."""
    last = course.said[-1] if course.said else None
    if not course.settings.reply or not last or course.given[-1].number != last.turn or not last.wants_answer:
        return None
    if len(last.to) != 1 or last.to[0] not in course.active or last.to[0] == last.seat:
        return None
    if [turn.why for turn in course.given[-REPLIES_IN_A_ROW:]] == [Why.REPLY] * REPLIES_IN_A_ROW:
        return None
    return _give(course, last.to[0], Why.REPLY, asked_by=last.number)


def _roll_call(course: Course) -> Step | None:
    if not course.deadline:
        return None
    since = course.deadline.number
    called = {turn.seat for turn in course.given if turn.why == Why.ROLL_CALL and turn.after >= since}
    waiting = [seat for seat in course.undecided if seat not in called]
    return _give(course, waiting[0], Why.ROLL_CALL) if waiting else None


def _challenge(course: Course) -> Step | None:
    """When all first agree, one of them puts the strongest case against what all believe."""
    due = course.settings.challenge and not course.challenged and len(course.active_voters) > 1 and united(course)
    return _drawn(course, Why.CHALLENGE, _without_last(course, course.active_voters)) if due else None


def _call(course: Course) -> Step | None:
    if not course.settings.call:
        return None
    longest = max(course.active, key=lambda seat: (course.silent_for(seat), -seat), default=None)
    if longest is None or course.silent_for(longest) < CALL_AFTER * len(course.active):
        return None
    return _give(course, longest, Why.CALL)


def _draw(course: Course) -> Step:
    seats = course.active if course.settings.free_floor else _without_last(course, course.active)
    return _drawn(course, Why.DRAW, seats)


def _without_last(course: Course, seats: Sequence[int]) -> Sequence[int]:
    """Whoever had the floor last pauses, where there is somebody else."""
    last = course.given[-1].seat if course.given else None
    return [seat for seat in seats if seat != last] or seats


def _drawn(course: Course, why: Why, seats: Sequence[int]) -> Step:
    weights = draw.weights(course, seats)
    drawn = draw.ticket(course.settings.seed, len(course.turns) + 1, sum(share for _, share in weights))
    return _give(course, draw.drawn(drawn, weights), why, weights=weights, ticket=drawn)


def _give(course: Course, seat: int, why: Why, **known: object) -> Step:
    number = len(course.turns) + 1
    return Give(Turn(number, seat, why, course.newest, series=course.series, **known))  # type: ignore[arg-type]


_IN_ORDER: Sequence[Callable[[Course], Step | None]] = (
    *(_closing, _first_verdicts, _open_turn, _note, _rest, _end, _too_few),
    *(_asked, _reply, _roll_call, _challenge, _call),
)
