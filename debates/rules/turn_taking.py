"""The next step of a debate: every state has exactly one, and it follows from the rows alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from . import lottery
from .state import (
    REMINDER_EVERY,
    SPAN,
    DebateState,
    MemberStatus,
    NoteKind,
    StatementKind,
    SteeringKind,
    SteeringState,
    TurnReason,
    TurnState,
)

REPLIES_IN_A_ROW = 2
TURNS_ALONE = 2
VERDICT_CALL_INTERVAL = 2  # messages for each active member


class EndReason(StrEnum):
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
class CollectFirstVerdicts:
    seats: Sequence[int]


@dataclass(frozen=True)
class AddTimekeeperNote:
    """A note is due after message `after`, by the clock."""

    note: NoteKind
    after: int


@dataclass(frozen=True)
class GiveTurn:
    """A turn is given; a draw has been made."""

    turn: TurnState


@dataclass(frozen=True)
class AwaitAnswer:
    """`continues`: the message that this one is part two of."""

    turn: TurnState
    continues: int | None = None


@dataclass(frozen=True)
class SkipTurn:
    turn: TurnState
    reason: str


@dataclass(frozen=True)
class WaitUntil:
    pass


@dataclass(frozen=True)
class BeginClosing:
    because: EndReason
    turns: Sequence[TurnState]


@dataclass(frozen=True)
class CollectClosing:
    turns: Sequence[TurnState]


@dataclass(frozen=True)
class EndDebate:
    because: str


@dataclass(frozen=True)
class EndForLackOfMembers:
    """Fewer than two members can speak, so the debate cannot reach a result."""


NextStep = (
    CollectFirstVerdicts
    | AddTimekeeperNote
    | GiveTurn
    | AwaitAnswer
    | SkipTurn
    | WaitUntil
    | BeginClosing
    | CollectClosing
    | EndDebate
    | EndForLackOfMembers
)


def next_step(course: DebateState) -> NextStep:
    for due in _IN_ORDER:
        if step := due(course):
            return step
    return _draw(course)


def _closing(course: DebateState) -> NextStep | None:
    if not course.because:
        return None
    waiting = [turn for turn in course.closings if turn.state == MemberStatus.OPEN]
    if waiting and course.acts(SteeringKind.END):
        return SkipTurn(waiting[0], "The chair ended the debate without a closing.")
    return CollectClosing(waiting) if waiting else EndDebate(course.because)


def _first_verdicts(course: DebateState) -> NextStep | None:
    """Collect the first verdicts of models; persons are not asked for one."""
    if not course.settings.first or course.notes:
        return None
    asked = {first.seat for first in course.firsts}
    missing = [one.seat for one in course.voters if not one.person and one.seat not in asked]
    return CollectFirstVerdicts(missing) if missing else None


def _open_turn(course: DebateState) -> NextStep | None:
    turn = course.open_turn
    if not turn:
        return None
    if course.acts(SteeringKind.CLOSE_AT_ONCE, SteeringKind.END):
        return SkipTurn(turn, "The chair closed the debate.")
    if turn.seat in course.silent:
        return SkipTurn(turn, "The chair gave up on this member.")
    if turn.seat in course.withdrawn and not _recalls(course, turn):
        return SkipTurn(turn, "This member has withdrawn.")
    return AwaitAnswer(turn, continues_message(course, turn))


def _recalls(course: DebateState, turn: TurnState) -> bool:
    return any(steer.number == turn.steer for steer in course.acts(SteeringKind.ASK, SteeringKind.RECALL))


def continues_message(course: DebateState, turn: TurnState) -> int | None:
    """Return the message that this turn continues, or None: a member that is drawn twice in a row continues its
    message, once."""
    last = next((one for one in reversed(course.messages) if one.number <= turn.after), None)
    if turn.why != TurnReason.DRAW or not course.settings.free_floor or not last or turn.after != last.number:
        return None
    goes_on = last.sort == StatementKind.SAID and last.seat == turn.seat and last.continues is None
    return last.number if goes_on and len(turn.weights) > 1 else None


def _note(course: DebateState) -> NextStep | None:
    if not course.notes:
        return AddTimekeeperNote(NoteKind.OPENING, 0)
    due = course.clock and course.clock % REMINDER_EVERY == 0
    if not due or any(note.after == course.clock for note in course.notes):
        return None
    return AddTimekeeperNote(NoteKind.REMINDER if course.clock % SPAN else NoteKind.DEADLINE, course.clock)


def _rest(course: DebateState) -> NextStep | None:
    """Wait once at each deadline: the note has the claim of the run that wrote it."""
    return WaitUntil() if course.deadline and course.deadline.claim == course.claim else None


def _end(course: DebateState) -> NextStep | None:
    if _nobody_left(course):
        return EndDebate(EndReason.ALL_WITHDRAWN)
    if course.acts(SteeringKind.END):
        return EndDebate(EndReason.CLOSED)
    because = next((because for because, holds in _ENDS if holds(course)), None)
    return begin_closing(course, because) if because else None


def _nobody_left(course: DebateState) -> bool:
    """Return whether all members have withdrawn, except those who cannot speak."""
    return not course.active_voters and not _too_few(course)


def begin_closing(course: DebateState, because: EndReason) -> NextStep:
    """Give every member that has not withdrawn a last word, all at once."""
    first = len(course.turns) + 1
    seats = enumerate(course.active_voters, first)
    turns = [TurnState(number, seat, TurnReason.CLOSING, course.newest, series=course.series) for number, seat in seats]
    return BeginClosing(because, turns)


def _too_few(course: DebateState) -> NextStep | None:
    able = [one for one in course.voters if one.seat in course.withdrawn or one.seat not in course.silent]
    return EndForLackOfMembers() if len(able) < 2 else None


def _closed(course: DebateState) -> bool:
    return bool(course.acts(SteeringKind.CLOSE, SteeringKind.CLOSE_AT_ONCE))


def unanimous_option(course: DebateState) -> str:
    """Return the option that all active members support after each has spoken; empty if there is none."""
    stood = {course.verdict_of.get(seat, "") for seat in course.active_voters}
    spoken = all(course.counts[seat] for seat in course.active_voters)
    [one, *others] = stood or {""}
    return one if one in course.settings.options and not others and spoken else ""


def _agreed(course: DebateState) -> bool:
    if len(course.active_voters) < 2 or not unanimous_option(course):
        return False
    return not course.settings.challenge or _spoken_since(course, _settled(course))


def _settled(course: DebateState) -> int | None:
    """Return the message since which nothing has changed after the challenge; None if there was no challenge."""
    turn = course.challenged
    if not turn or turn.state == MemberStatus.OPEN:
        return None
    spoken = next((one.number for one in course.messages_said if one.turn == turn.number), turn.after)
    return max([spoken, *(change.number for change in course.changes)])


def _spoken_since(course: DebateState, number: int | None) -> bool:
    if number is None:
        return False
    return {one.seat for one in course.messages_said if one.number > number} >= set(course.active_voters)


def _stalemate(course: DebateState) -> bool:
    at_deadline = course.deadline is not None and course.deadline.after == course.clock
    return at_deadline and not course.undecided and not course.moved_since(course.clock - SPAN)


def _alone(course: DebateState) -> bool:
    last = [turn.seat for turn in course.given[-TURNS_ALONE:]]
    return len(course.active) == 1 and last == course.active * TURNS_ALONE


_ENDS: Sequence[tuple[EndReason, Callable[[DebateState], bool]]] = (
    (EndReason.CLOSED, _closed),
    (EndReason.AGREED, _agreed),
    (EndReason.STALEMATE, _stalemate),
    (EndReason.MOST, lambda course: course.clock >= course.most),
    (EndReason.SPEND, lambda course: not course.affords),
    (EndReason.UNTIL, lambda course: course.late),
    (EndReason.ALONE, _alone),
)


# ---- who has the floor ------------------------------------------------------------------------------------


def _asked(course: DebateState) -> NextStep | None:
    for steer in course.acts(SteeringKind.ASK, SteeringKind.RECALL):
        if not steer.done and steer.seat is not None and _may_be_asked(course, steer):
            return _give(course, steer.seat, TurnReason.ASKED, steer=steer.number)
    return None


def _may_be_asked(course: DebateState, steer: SteeringState) -> bool:
    return steer.seat not in course.silent and steer.seat in {one.seat for one in course.speakers}


def _reply(course: DebateState) -> NextStep | None:
    """Give the floor to the one active member that was asked. Limited in a row, otherwise two members would keep
    it."""
    last = course.messages_said[-1] if course.messages_said else None
    if not course.settings.reply or not last or course.given[-1].number != last.turn or not last.wants_answer:
        return None
    if len(last.to) != 1 or last.to[0] not in course.active or last.to[0] == last.seat:
        return None
    if [turn.why for turn in course.given[-REPLIES_IN_A_ROW:]] == [TurnReason.REPLY] * REPLIES_IN_A_ROW:
        return None
    return _give(course, last.to[0], TurnReason.REPLY, asked_by=last.number)


def _roll_call(course: DebateState) -> NextStep | None:
    if not course.deadline:
        return None
    since = course.deadline.number
    called = {turn.seat for turn in course.given if turn.why == TurnReason.ROLL_CALL and turn.after >= since}
    waiting = [seat for seat in course.undecided if seat not in called]
    return _give(course, waiting[0], TurnReason.ROLL_CALL) if waiting else None


def _challenge(course: DebateState) -> NextStep | None:
    """When all agree for the first time, let one of them make the strongest case against it."""
    due = (
        course.settings.challenge
        and not course.challenged
        and len(course.active_voters) > 1
        and unanimous_option(course)
    )
    return _drawn(course, TurnReason.CHALLENGE, _without_last(course, course.active_voters)) if due else None


def _call(course: DebateState) -> NextStep | None:
    if not course.settings.call:
        return None
    longest = max(course.active, key=lambda seat: (course.silent_for(seat), -seat), default=None)
    if longest is None or course.silent_for(longest) < VERDICT_CALL_INTERVAL * len(course.active):
        return None
    return _give(course, longest, TurnReason.CALL)


def _draw(course: DebateState) -> NextStep:
    seats = course.active if course.settings.free_floor else _without_last(course, course.active)
    return _drawn(course, TurnReason.DRAW, seats)


def _without_last(course: DebateState, seats: Sequence[int]) -> Sequence[int]:
    """Return the seats without the one that had the floor last, if another one remains."""
    last = course.given[-1].seat if course.given else None
    return [seat for seat in seats if seat != last] or seats


def _drawn(course: DebateState, why: TurnReason, seats: Sequence[int]) -> NextStep:
    weights = lottery.draw_weights(course, seats)
    drawn = lottery.ticket(course.settings.seed, len(course.turns) + 1, sum(share for _, share in weights))
    return _give(course, lottery.draw(drawn, weights), why, weights=weights, ticket=drawn)


def _give(course: DebateState, seat: int, why: TurnReason, **known: object) -> NextStep:
    number = len(course.turns) + 1
    return GiveTurn(TurnState(number, seat, why, course.newest, series=course.series, **known))  # type: ignore[arg-type]


_IN_ORDER: Sequence[Callable[[DebateState], NextStep | None]] = (
    *(_closing, _first_verdicts, _open_turn, _note, _rest, _end, _too_few),
    *(_asked, _reply, _roll_call, _challenge, _call),
)
