"""State of a debate as its rules see it, and what follows from that alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from operator import attrgetter

ABSTAIN = "ABSTAIN"
EVERYONE: tuple[int, ...] = ()

REMINDER_EVERY, SPAN = 4, 20
MOST, LEAST_MOST, USUAL_MOST = 200, 4, 60
SILENT_AFTER = 3  # consecutive skipped turns


class MessageKind(StrEnum):
    """Kinds of seats."""

    MEMBER = "member"
    TIMEKEEPER = "timekeeper"


@dataclass(frozen=True)
class TurnSettings:
    """How a kind of member takes part: whether it gets the floor, has a verdict, and moves the clock by its
    messages."""

    floor: bool = False
    votes: bool = False
    counts: bool = False


# a new kind needs a line here, one in `prompts.LAYERS` and one in `prompts.FORMS`
TURNS: dict[str, TurnSettings] = {
    MessageKind.MEMBER: TurnSettings(floor=True, votes=True, counts=True),
    MessageKind.TIMEKEEPER: TurnSettings(),
}


class TurnReason(StrEnum):
    """Why a member has the floor."""

    ASKED = "asked"
    REPLY = "reply"
    ROLL_CALL = "roll_call"
    CHALLENGE = "challenge"
    CALL = "call"
    DRAW = "draw"
    CLOSING = "closing"


DRAWN = (TurnReason.DRAW, TurnReason.CHALLENGE)


class StatementKind(StrEnum):
    """Kinds of messages."""

    SAID = "said"
    NOTE = "note"
    CHAIR = "chair"
    CLOSING = "closing"
    LEAVING = "leaving"  # a person withdraws out of turn: with a verdict and its reason, without a message


AT_ANY_TIME = (StatementKind.CHAIR, StatementKind.LEAVING)  # outside turns: may come while a member is being asked
MOVING = (StatementKind.SAID, StatementKind.CHAIR, StatementKind.LEAVING)  # may be named as a reason for a change


class NoteKind(StrEnum):
    OPENING = "opening"
    REMINDER = "reminder"
    DEADLINE = "deadline"


class MemberStatus(StrEnum):
    """States of a turn."""

    OPEN = "open"
    SPOKEN = "spoken"
    SKIPPED = "skipped"


class SteeringKind(StrEnum):
    """Acts of people: those of the chair, and a logged view of hidden first verdicts, which steers nothing."""

    ASK = "ask"
    EXTEND = "extend"
    CLOSE = "close"  # after this message
    CLOSE_AT_ONCE = "close_at_once"
    END = "end"  # without a closing
    RECALL = "recall"
    GIVE_UP = "give_up"
    WITHDRAW = "withdraw"  # in older debates alone: who leaves today does so in a message
    LOOK = "look"  # at what the members said alone


@dataclass(frozen=True)
class DebateSettings:
    """`options` in order; `seed`: 32 bytes."""

    options: tuple[str, ...]
    rule: str
    seed: bytes
    most: int = USUAL_MOST
    reply: bool = True
    call: bool = True
    challenge: bool = True
    first: bool = True
    free_floor: bool = False


@dataclass(frozen=True)
class SeatState:
    seat: int
    name: str
    kind: str = MessageKind.MEMBER
    person: bool = False

    @property
    def turns(self) -> TurnSettings:
        return TURNS[self.kind]


@dataclass(frozen=True)
class FirstStatement:
    """A member's verdict before the debate. `verdict` is empty if it could not be asked."""

    seat: int
    verdict: str = ""


@dataclass(frozen=True)
class TurnState:
    """`after`: the newest message when it was given. `series`: the retry of the run. `steer`: the act of the chair
    that gave it. `ticket` and `weights` (by seat, in order): of a draw."""

    number: int
    seat: int
    why: str
    after: int = 0
    state: str = MemberStatus.OPEN
    series: int = 0
    steer: int | None = None
    asked_by: int | None = None
    weights: tuple[tuple[int, int], ...] = ()
    ticket: int | None = None


@dataclass(frozen=True)
class MessageState:
    """`clock`: the message's number among those of members, None if it does not count. `to`: seats, empty for
    everyone. `verdict`: an option, ABSTAIN, or empty for "as before". `turn`: the number of its turn. `note`,
    `after` (by the clock) and `claim` (of the run): of a note."""

    number: int
    sort: str
    seat: int | None = None
    clock: int | None = None
    to: tuple[int, ...] = EVERYONE
    wants_answer: bool = False
    verdict: str = ""
    moved_by: tuple[int, ...] = ()
    withdrawn: bool = False
    continues: int | None = None
    turn: int | None = None
    note: str = ""
    after: int | None = None
    claim: int = 0


@dataclass(frozen=True)
class SteeringState:
    """`done`: nothing more is needed. `verdict`: of a member that withdraws out of turn. `after`: the newest
    message."""

    number: int
    act: str
    seat: int | None = None
    amount: int = 0
    verdict: str = ""
    done: bool = False
    after: int = 0


@dataclass(frozen=True)
class VerdictStatement:
    """A verdict stated in message `number`, or, in older debates, after it by a withdrawal out of turn."""

    number: int
    seat: int
    verdict: str
    moved_by: tuple[int, ...] = ()


@dataclass(frozen=True)
class VerdictChange:
    """A member supports another verdict than before, since message `number`."""

    number: int
    seat: int
    before: str
    verdict: str
    moved_by: tuple[int, ...] = ()


def changes_of(statements: Iterable[VerdictStatement]) -> list[VerdictChange]:
    """Return the changes in ordered statements."""
    stood: dict[int, str] = {}
    found = []
    for one in statements:
        if one.seat in stood and stood[one.seat] != one.verdict:
            found.append(VerdictChange(one.number, one.seat, stood[one.seat], one.verdict, one.moved_by))
        stood[one.seat] = one.verdict
    return found


@dataclass(frozen=True)
class DebateState:
    """Everything of a debate that its rules use. `because`: why it is closing, once it is. `claim`: the run's
    current one. `affords`: False if the money does not cover another turn and the closing. `late`: its end time
    has passed."""

    settings: DebateSettings
    seats: Sequence[SeatState]
    firsts: Sequence[FirstStatement] = ()
    turns: Sequence[TurnState] = ()
    messages: Sequence[MessageState] = ()
    steers: Sequence[SteeringState] = ()
    because: str = ""
    claim: int = 1
    series: int = 0
    affords: bool = True
    late: bool = False

    # ---- members -----------------------------------------------------------------------------------------

    @cached_property
    def speakers(self) -> list[SeatState]:
        return [seat for seat in sorted(self.seats, key=lambda one: one.seat) if seat.turns.floor]

    @cached_property
    def voters(self) -> list[SeatState]:
        return [seat for seat in self.speakers if seat.turns.votes]

    @cached_property
    def active(self) -> list[int]:
        """Seats that may be given the floor, in order."""
        return [one.seat for one in self.speakers if one.seat not in self.withdrawn and one.seat not in self.silent]

    @cached_property
    def active_voters(self) -> list[int]:
        return [one.seat for one in self.voters if one.seat in self.active]

    @cached_property
    def withdrawn(self) -> frozenset[int]:
        left = {message.seat for message in self.messages if message.withdrawn and message.seat is not None}
        return frozenset(left | {steer.seat for steer in self.acts(SteeringKind.WITHDRAW) if steer.seat is not None})

    @cached_property
    def silent(self) -> frozenset[int]:
        """Seats that skipped three turns in a row or were given up."""
        given_up = {steer.seat for steer in self.acts(SteeringKind.GIVE_UP) if steer.seat is not None}
        return frozenset(given_up | {one.seat for one in self.speakers if self._lost(one.seat)})

    def _lost(self, seat: int) -> bool:
        own = [turn for turn in self.turns if turn.seat == seat and turn.series == self.series]
        last = [turn.state for turn in own if turn.state != MemberStatus.OPEN][-SILENT_AFTER:]
        return len(last) == SILENT_AFTER and set(last) == {MemberStatus.SKIPPED}

    # ---- messages ----------------------------------------------------------------------------------------

    @cached_property
    def messages_said(self) -> list[MessageState]:
        """Messages of members, without closings."""
        return [message for message in self.messages if message.sort == StatementKind.SAID]

    @cached_property
    def clock(self) -> int:
        return max((message.clock for message in self.messages if message.clock), default=0)

    @cached_property
    def most(self) -> int:
        return min(MOST, self.settings.most + sum(steer.amount for steer in self.acts(SteeringKind.EXTEND)))

    @property
    def messages_left(self) -> int:
        """Messages until the next deadline or the last message, whichever is nearer."""
        return min(SPAN - self.clock % SPAN, self.most - self.clock)

    @cached_property
    def counts(self) -> Mapping[int, int]:
        """Messages by seat; one and its continuation count once."""
        return self._tallied(message.seat for message in self.messages_said if message.clock)

    def _tallied(self, seats: Iterable[int | None]) -> Mapping[int, int]:
        found = {one.seat: 0 for one in self.speakers}
        for seat in seats:
            if seat in found:
                found[seat] += 1
        return found

    def clock_at(self, number: int) -> int:
        """Return the clock when message `number` was the newest."""
        return max((one.clock for one in self.messages if one.clock and one.number <= number), default=0)

    @cached_property
    def newest(self) -> int:
        return self.messages[-1].number if self.messages else 0

    def newest_read(self, turn: TurnState) -> int:
        """Return the newest message that the member with this turn reads: in a closing, no last words of others."""
        return turn.after if turn.why == TurnReason.CLOSING else self.newest

    @cached_property
    def notes(self) -> list[MessageState]:
        return [message for message in self.messages if message.sort == StatementKind.NOTE]

    @cached_property
    def deadline(self) -> MessageState | None:
        """The newest note about a deadline."""
        return next((note for note in reversed(self.notes) if note.note == NoteKind.DEADLINE), None)

    # ---- verdicts ----------------------------------------------------------------------------------------

    @cached_property
    def statements(self) -> list[VerdictStatement]:
        """Stated verdicts in order, without those of challenges, which are not the member's own."""
        challenges = {turn.number for turn in self.turns if turn.why == TurnReason.CHALLENGE}
        stated = [
            VerdictStatement(one.number, one.seat, one.verdict, one.moved_by)
            for one in self.messages
            if one.verdict and one.seat is not None and one.turn not in challenges
        ]
        left = [
            VerdictStatement(one.after, one.seat, one.verdict)
            for one in self.acts(SteeringKind.WITHDRAW)
            if one.verdict and one.seat
        ]
        return sorted([*stated, *left], key=attrgetter("number"))

    @cached_property
    def verdict_of(self) -> Mapping[int, str]:
        """The verdict of each seat that has one: an option or ABSTAIN."""
        return {one.seat: one.verdict for one in self.statements}

    def verdict_at(self, number: int) -> Mapping[int, str]:
        """Return `verdict_of` as it was after message `number`."""
        return {one.seat: one.verdict for one in self.statements if one.number <= number}

    @cached_property
    def changes(self) -> list[VerdictChange]:
        return changes_of(self.statements)

    @property
    def undecided(self) -> list[int]:
        """Active members with neither a verdict nor an abstention."""
        return [seat for seat in self.active_voters if seat not in self.verdict_of]

    def moved_since(self, clock: int) -> bool:
        """Return whether a member stated or changed its verdict after this clock."""
        stood: dict[int, str] = {}
        for one in self.statements:
            if stood.get(one.seat) != one.verdict and self.clock_at(one.number) > clock:
                return True
            stood[one.seat] = one.verdict
        return False

    # ---- turns and acts ----------------------------------------------------------------------------------

    @cached_property
    def given(self) -> list[TurnState]:
        """Turns of the debate without those of its closing."""
        return [turn for turn in self.turns if turn.why != TurnReason.CLOSING]

    @cached_property
    def closings(self) -> list[TurnState]:
        return [turn for turn in self.turns if turn.why == TurnReason.CLOSING]

    @cached_property
    def open_turn(self) -> TurnState | None:
        return next((turn for turn in self.given if turn.state == MemberStatus.OPEN), None)

    @cached_property
    def challenged(self) -> TurnState | None:
        return next((turn for turn in self.given if turn.why == TurnReason.CHALLENGE), None)

    def silent_for(self, seat: int) -> int:
        """Return the number of messages since the seat's last turn, spoken or skipped."""
        last = next((turn for turn in reversed(self.given) if turn.seat == seat), None)
        if not last:
            return self.clock
        spoken = next((one.number for one in self.messages if one.turn == last.number), last.after)
        return self.clock - self.clock_at(spoken)

    @property
    def newest_act(self) -> int:
        return max((steer.number for steer in self.steers), default=0)

    def acts(self, *acts: SteeringKind) -> list[SteeringState]:
        return [steer for steer in self.steers if steer.act in acts]
