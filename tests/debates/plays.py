"""Debates on paper: the rules say what comes next, and whoever has the floor says what it was given to say."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from debates.prompt_context import NoteFacts
from debates.prompts import facts_in
from debates.rules import state as rules
from debates.rules import turn_taking
from debates.rules.state import (
    DebateSettings,
    DebateState,
    FirstStatement,
    MemberStatus,
    MessageKind,
    MessageState,
    SeatState,
    StatementKind,
    SteeringKind,
    SteeringState,
    TurnState,
)

OPTIONS = ("HIRE", "LATER", "DECLINE")
SEED = bytes(range(32))

Answer = Callable[[DebateState, TurnState], "dict[str, Any] | None"]
"""The fields of the message that is said in a turn; None where its member could not speak."""


def seats(members: int, *, kinds: Sequence[str] = ()) -> list[SeatState]:
    others = [SeatState(members + n, f"Other {n}", kind) for n, kind in enumerate(kinds, 1)]
    named = [SeatState(n, f"Member {n}") for n in range(1, members + 1)]
    return [SeatState(0, "Timekeeper", MessageKind.TIMEKEEPER), *named, *others]


def course(members: int = 3, *, rule: str = "majority", seed: bytes = SEED, **settings: Any) -> DebateState:
    settings = {"first": False, "most": 20} | settings
    return DebateState(DebateSettings(settings.pop("options", OPTIONS), rule, seed, **settings), seats(members))


def silence(course: DebateState, turn: TurnState) -> None:
    """Nobody ever answers."""


def talk(course: DebateState, turn: TurnState) -> dict[str, Any]:
    """Everybody stands by an option of its own from its first message on."""
    return {"verdict": OPTIONS[turn.seat % len(OPTIONS)]}


def agree(course: DebateState, turn: TurnState) -> dict[str, Any]:
    return {"verdict": OPTIONS[0]}


def mumble(course: DebateState, turn: TurnState) -> dict[str, Any]:
    """Nobody decides before it has to."""
    return {"verdict": rules.ABSTAIN} if turn.why in (rules.TurnReason.ROLL_CALL, rules.TurnReason.CLOSING) else {}


def ask_on(course: DebateState, turn: TurnState) -> dict[str, Any]:
    """Everybody asks the next one at the table."""
    around = course.active
    return talk(course, turn) | {"to": (around[around.index(turn.seat) - 1],), "wants_answer": True}


class DebatePlay:
    """A debate as its rows would stand, and the steps that were taken. `act` may do something before each of them, and
    `race` after it was decided, before it is written."""

    def __init__(
        self,
        course: DebateState,
        answer: Answer = talk,
        act: "Interfering | None" = None,
        race: "Interfering | None" = None,
    ) -> None:
        self.course, self.answer = course, answer
        self.act, self.race = act or _nothing, race or _nothing
        self.steps: list[turn_taking.NextStep] = []
        self.facts: dict[int, NoteFacts] = {}  # of notes, by their numbers, as they were when the note was decided

    def on(self) -> Iterator[turn_taking.NextStep]:
        while not (self.steps and isinstance(self.steps[-1], turn_taking.EndDebate | turn_taking.EndForLackOfMembers)):
            self.act(self)
            step, facts = turn_taking.next_step(self.course), facts_in(self.course)
            self.race(self)
            self.take(step)
            if isinstance(step, turn_taking.AddTimekeeperNote):
                self.facts[self.course.newest] = facts
            self.steps.append(step)
            yield step

    def to_the_end(self) -> "DebatePlay":
        for _ in self.on():
            assert len(self.steps) < 5_000, self.steps[-20:]
        return self

    def until(self, clock: int) -> "DebatePlay":
        """As far as so many messages and the note after them."""
        for _ in self.on():
            if self.course.clock == clock and not isinstance(
                turn_taking.next_step(self.course), turn_taking.AddTimekeeperNote
            ):
                return self
        raise AssertionError(f"it ended after {self.course.clock} messages")

    def take(self, step: turn_taking.NextStep) -> None:
        match step:
            case turn_taking.CollectFirstVerdicts(found):
                self._add(firsts=[*self.course.firsts, *(FirstStatement(seat, OPTIONS[0]) for seat in found)])
            case turn_taking.AddTimekeeperNote(note, after):
                self.say(sort=StatementKind.NOTE, note=note, after=after, claim=self.course.claim)
            case turn_taking.WaitUntil():
                self._add(claim=self.course.claim + 1)
            case turn_taking.BeginClosing(because, turns):
                self._add(because=because, turns=[*self.course.turns, *turns])
            case _:
                self._give_or_hear(step)

    def _give_or_hear(self, step: turn_taking.NextStep) -> None:
        match step:
            case turn_taking.GiveTurn(turn):
                self._add(turns=[*self.course.turns, turn], steers=[_honoured(one, turn) for one in self.course.steers])
            case turn_taking.AwaitAnswer(turn, continues):
                self._hear(turn, continues)
            case turn_taking.SkipTurn(turn):
                self._close(turn, MemberStatus.SKIPPED)
            case turn_taking.CollectClosing(turns):
                for turn in turns:
                    self._hear(turn, None)

    def say(self, **message: Any) -> None:
        self._add(messages=[*self.course.messages, MessageState(self.course.newest + 1, **message)])

    def steer(self, act: SteeringKind, **said: Any) -> None:
        number = len(self.course.steers) + 1
        self._add(steers=[*self.course.steers, SteeringState(number, act, after=self.course.newest, **said)])

    @property
    def whys(self) -> list[str]:
        return [turn.why for turn in self.course.given]

    @property
    def end(self) -> turn_taking.NextStep:
        return self.steps[-1]

    def _hear(self, turn: TurnState, continues: int | None) -> None:
        said = self.answer(self.course, turn)
        if said is None:
            return self._close(turn, MemberStatus.SKIPPED)
        closing = turn.why == rules.TurnReason.CLOSING
        kind = next(one.turns for one in self.course.seats if one.seat == turn.seat)
        counts = kind.counts and not closing and continues is None
        self.say(
            sort=StatementKind.CLOSING if closing else StatementKind.SAID,
            seat=turn.seat,
            clock=self.course.clock + 1 if counts else None,
            turn=turn.number,
            continues=continues,
            **said,
        )
        return self._close(turn, MemberStatus.SPOKEN)

    def _close(self, turn: TurnState, state: MemberStatus) -> None:
        closed = [replace(one, state=state) if one.number == turn.number else one for one in self.course.turns]
        self._add(turns=closed)

    def _add(self, **rows: Any) -> None:
        self.course = replace(self.course, **rows)


Interfering = Callable[[DebatePlay], None]


def _nothing(play: DebatePlay) -> None: ...


def _honoured(steer: SteeringState, turn: TurnState) -> SteeringState:
    return replace(steer, done=True) if steer.number == turn.steer else steer


# ---- at random --------------------------------------------------------------------------------------------


def at_random(die: Random, *, failing: float = 0.05, leaving: float = 0.1) -> Answer:
    """Anything that a member may say; what is failing fails so often."""

    def answer(course: DebateState, turn: TurnState) -> dict[str, Any] | None:
        if die.random() < failing:
            return None
        due = turn.why in (rules.TurnReason.ROLL_CALL, rules.TurnReason.CLOSING) and turn.seat not in course.verdict_of
        verdict = die.choice([*OPTIONS, rules.ABSTAIN, *([] if due else [""] * 4)])
        stands = verdict or turn.seat in course.verdict_of
        names = [one.seat for one in course.speakers if one.seat != turn.seat]
        return {
            "to": tuple(die.sample(names, die.randrange(min(3, len(names) + 1)))),
            "wants_answer": die.random() < 0.5,
            "verdict": verdict,
            "withdrawn": bool(stands) and die.random() < leaving,
        }

    return answer


ACTS: Sequence[Callable[[DebatePlay, int, Random], None]] = (
    *[lambda play, seat, die: play.say(sort=StatementKind.CHAIR)] * 4,
    *[lambda play, seat, die: play.steer(SteeringKind.ASK, seat=seat)] * 3,
    *[lambda play, seat, die: play.steer(SteeringKind.RECALL, seat=seat)] * 2,
    lambda play, seat, die: play.steer(SteeringKind.EXTEND, amount=20),
    lambda play, seat, die: play.steer(SteeringKind.GIVE_UP, seat=seat),
    lambda play, seat, die: play.steer(SteeringKind.WITHDRAW, seat=seat, verdict=die.choice(OPTIONS)),
    lambda play, seat, die: play.say(
        sort=StatementKind.LEAVING, seat=seat, verdict=die.choice(OPTIONS), withdrawn=True
    ),
    lambda play, seat, die: (
        die.random() < 0.2
        and play.steer(die.choice([SteeringKind.CLOSE, SteeringKind.CLOSE_AT_ONCE, SteeringKind.END]))
    ),
)


def chair(die: Random, often: float) -> Interfering:
    """Somebody who talks, asks, gives up, recalls and now and then ends it, at any moment."""

    def act(play: DebatePlay) -> None:
        if die.random() < often:
            die.choice(ACTS)(play, die.choice(play.course.speakers).seat, die)

    return act


def admitted(die: Random, often: float) -> Interfering:
    """The same as far as its doors admit it: not in the closing, and nobody leaves for somebody else."""
    interfere = chair(die, often)

    def act(play: DebatePlay) -> None:
        before = play.course
        interfere(play)
        left = {one.seat for one in play.course.steers[len(before.steers) :] if one.act == SteeringKind.WITHDRAW}
        left |= {one.seat for one in play.course.messages[len(before.messages) :] if one.sort == StatementKind.LEAVING}
        persons = {one.seat for one in before.seats if one.person}
        if before.because or left - (persons - before.withdrawn):
            play.course = before

    return act
