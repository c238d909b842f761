"""Debates on paper: the rules say what comes next, and whoever has the floor says what it was given to say."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from debates.prompts import facts_in
from debates.rules import course as rules
from debates.rules import floor
from debates.rules.course import Act, Course, First, Kind, Message, Seat, Settings, Sort, Standing, Steer, Turn
from debates.table import Facts

OPTIONS = ("HIRE", "LATER", "DECLINE")
SEED = bytes(range(32))

Answer = Callable[[Course, Turn], "dict[str, Any] | None"]
"""The fields of the message that is said in a turn; None where its member could not speak."""


def seats(members: int, *, kinds: Sequence[str] = ()) -> list[Seat]:
    others = [Seat(members + n, f"Other {n}", kind) for n, kind in enumerate(kinds, 1)]
    named = [Seat(n, f"Member {n}") for n in range(1, members + 1)]
    return [Seat(0, "Timekeeper", Kind.TIMEKEEPER), *named, *others]


def course(members: int = 3, *, rule: str = "majority", seed: bytes = SEED, **settings: Any) -> Course:
    settings = {"first": False, "most": 20} | settings
    return Course(Settings(settings.pop("options", OPTIONS), rule, seed, **settings), seats(members))


def silence(course: Course, turn: Turn) -> None:
    """Nobody ever answers."""


def talk(course: Course, turn: Turn) -> dict[str, Any]:
    """Everybody stands by an option of its own from its first message on."""
    return {"verdict": OPTIONS[turn.seat % len(OPTIONS)]}


def agree(course: Course, turn: Turn) -> dict[str, Any]:
    return {"verdict": OPTIONS[0]}


def mumble(course: Course, turn: Turn) -> dict[str, Any]:
    """Nobody decides before it has to."""
    return {"verdict": rules.ABSTAIN} if turn.why in (rules.Why.ROLL_CALL, rules.Why.CLOSING) else {}


def ask_on(course: Course, turn: Turn) -> dict[str, Any]:
    """Everybody asks the next one at the table."""
    around = course.active
    return talk(course, turn) | {"to": (around[around.index(turn.seat) - 1],), "wants_answer": True}


class Play:
    """A debate as its rows would stand, and the steps that were taken. `act` may do something before each of them, and
    `race` after it was decided, before it is written."""

    def __init__(
        self, course: Course, answer: Answer = talk, act: "Interfering | None" = None, race: "Interfering | None" = None
    ) -> None:
        self.course, self.answer = course, answer
        self.act, self.race = act or _nothing, race or _nothing
        self.steps: list[floor.Step] = []
        self.facts: dict[int, Facts] = {}  # of notes, by their numbers, as they were when the note was decided

    def on(self) -> Iterator[floor.Step]:
        while not (self.steps and isinstance(self.steps[-1], floor.End | floor.TooFew)):
            self.act(self)
            step, facts = floor.next_step(self.course), facts_in(self.course)
            self.race(self)
            self.take(step)
            if isinstance(step, floor.KeepTime):
                self.facts[self.course.newest] = facts
            self.steps.append(step)
            yield step

    def to_the_end(self) -> "Play":
        for _ in self.on():
            assert len(self.steps) < 5_000, self.steps[-20:]
        return self

    def until(self, clock: int) -> "Play":
        """As far as so many messages and the note after them."""
        for _ in self.on():
            if self.course.clock == clock and not isinstance(floor.next_step(self.course), floor.KeepTime):
                return self
        raise AssertionError(f"it ended after {self.course.clock} messages")

    def take(self, step: floor.Step) -> None:
        match step:
            case floor.FirstVerdicts(found):
                self._add(firsts=[*self.course.firsts, *(First(seat, OPTIONS[0]) for seat in found)])
            case floor.KeepTime(note, after):
                self.say(sort=Sort.NOTE, note=note, after=after, claim=self.course.claim)
            case floor.Rest():
                self._add(claim=self.course.claim + 1)
            case floor.BeginClosing(because, turns):
                self._add(because=because, turns=[*self.course.turns, *turns])
            case _:
                self._give_or_hear(step)

    def _give_or_hear(self, step: floor.Step) -> None:
        match step:
            case floor.Give(turn):
                self._add(turns=[*self.course.turns, turn], steers=[_honoured(one, turn) for one in self.course.steers])
            case floor.Hear(turn, continues):
                self._hear(turn, continues)
            case floor.Skip(turn):
                self._close(turn, Standing.SKIPPED)
            case floor.Closing(turns):
                for turn in turns:
                    self._hear(turn, None)

    def say(self, **message: Any) -> None:
        self._add(messages=[*self.course.messages, Message(self.course.newest + 1, **message)])

    def steer(self, act: Act, **said: Any) -> None:
        number = len(self.course.steers) + 1
        self._add(steers=[*self.course.steers, Steer(number, act, after=self.course.newest, **said)])

    @property
    def whys(self) -> list[str]:
        return [turn.why for turn in self.course.given]

    @property
    def end(self) -> floor.Step:
        return self.steps[-1]

    def _hear(self, turn: Turn, continues: int | None) -> None:
        said = self.answer(self.course, turn)
        if said is None:
            return self._close(turn, Standing.SKIPPED)
        closing = turn.why == rules.Why.CLOSING
        kind = next(one.turns for one in self.course.seats if one.seat == turn.seat)
        counts = kind.counts and not closing and continues is None
        self.say(
            sort=Sort.CLOSING if closing else Sort.SAID,
            seat=turn.seat,
            clock=self.course.clock + 1 if counts else None,
            turn=turn.number,
            continues=continues,
            **said,
        )
        return self._close(turn, Standing.SPOKEN)

    def _close(self, turn: Turn, state: Standing) -> None:
        closed = [replace(one, state=state) if one.number == turn.number else one for one in self.course.turns]
        self._add(turns=closed)

    def _add(self, **rows: Any) -> None:
        self.course = replace(self.course, **rows)


Interfering = Callable[[Play], None]


def _nothing(play: Play) -> None: ...


def _honoured(steer: Steer, turn: Turn) -> Steer:
    return replace(steer, done=True) if steer.number == turn.steer else steer


# ---- at random --------------------------------------------------------------------------------------------


def at_random(die: Random, *, failing: float = 0.05, leaving: float = 0.1) -> Answer:
    """Anything that a member may say; what is failing fails so often."""

    def answer(course: Course, turn: Turn) -> dict[str, Any] | None:
        if die.random() < failing:
            return None
        due = turn.why in (rules.Why.ROLL_CALL, rules.Why.CLOSING) and turn.seat not in course.stands_by
        verdict = die.choice([*OPTIONS, rules.ABSTAIN, *([] if due else [""] * 4)])
        stands = verdict or turn.seat in course.stands_by
        names = [one.seat for one in course.speakers if one.seat != turn.seat]
        return {
            "to": tuple(die.sample(names, die.randrange(min(3, len(names) + 1)))),
            "wants_answer": die.random() < 0.5,
            "verdict": verdict,
            "withdrawn": bool(stands) and die.random() < leaving,
        }

    return answer


ACTS: Sequence[Callable[[Play, int, Random], None]] = (
    *[lambda play, seat, die: play.say(sort=Sort.CHAIR)] * 4,
    *[lambda play, seat, die: play.steer(Act.ASK, seat=seat)] * 3,
    *[lambda play, seat, die: play.steer(Act.RECALL, seat=seat)] * 2,
    lambda play, seat, die: play.steer(Act.EXTEND, amount=20),
    lambda play, seat, die: play.steer(Act.GIVE_UP, seat=seat),
    lambda play, seat, die: play.steer(Act.WITHDRAW, seat=seat, verdict=die.choice(OPTIONS)),
    lambda play, seat, die: play.say(sort=Sort.LEAVING, seat=seat, verdict=die.choice(OPTIONS), withdrawn=True),
    lambda play, seat, die: die.random() < 0.2 and play.steer(die.choice([Act.CLOSE, Act.CLOSE_AT_ONCE, Act.END])),
)


def chair(die: Random, often: float) -> Interfering:
    """Somebody who talks, asks, gives up, recalls and now and then ends it, at any moment."""

    def act(play: Play) -> None:
        if die.random() < often:
            die.choice(ACTS)(play, die.choice(play.course.speakers).seat, die)

    return act


def admitted(die: Random, often: float) -> Interfering:
    """The same as far as its doors admit it: not in the closing, and nobody leaves for somebody else."""
    interfere = chair(die, often)

    def act(play: Play) -> None:
        before = play.course
        interfere(play)
        left = {one.seat for one in play.course.steers[len(before.steers) :] if one.act == Act.WITHDRAW}
        left |= {one.seat for one in play.course.messages[len(before.messages) :] if one.sort == Sort.LEAVING}
        persons = {one.seat for one in before.seats if one.person}
        if before.because or left - (persons - before.withdrawn):
            play.course = before

    return act
