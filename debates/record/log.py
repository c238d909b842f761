"""All that was said, in its order, each message with how its speaker got the floor and what its model was asked."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from engine.models import Gate, ModelCall
from runs.face import Snapshot
from runs.record import attempt_told, moment_in_words

from ..display import Display
from ..models import Debate, Message, Turn
from ..rules.course import Sort
from ..scene import Scene
from ..transcript import Alone, Slot
from .floor import why_of


@dataclass(frozen=True)
class Asked:
    """One attempt: what is told of it, and what came back. The whole prompt has a page of its own, `number`."""

    number: int
    heading: str
    error: str
    facts: str
    answer: str


@dataclass(frozen=True)
class Line:
    """A message, or what a member said alone. `why`: how its speaker got the floor. `asked`: every attempt."""

    slot: Slot | None
    alone: Alone | None
    why: str
    asked: tuple[Asked, ...]

    @property
    def plain(self) -> bool:
        """Asked once, and answered."""
        return len(self.asked) == 1 and not self.asked[0].error


@dataclass(frozen=True)
class Log:
    """`unsaid`: the turns that brought no message though a model was asked."""

    lines: tuple[Line, ...]
    unsaid: tuple[Line, ...]


def log_of(scene: Scene, display: Display, seen: Snapshot[Debate]) -> Log:
    by_step: dict[str, list[ModelCall]] = defaultdict(list)
    for call in seen.calls:
        by_step[call.step].append(call)
    alone = [
        Line(None, one, "", _asked(scene, by_step[f"first-{one.seat}"]))
        for one in display.alone
        if one.look is not None
    ]
    gates = {gate.step: gate for gate in seen.gates}
    said = [_line(scene, slot, by_step, gates) for slot in display.slots if not slot.hidden]
    return Log((*alone, *said), tuple(_unsaid(scene, by_step)))


def _unsaid(scene: Scene, by_step: Mapping[str, Sequence[ModelCall]]) -> Iterator[Line]:
    spoken = {message.turn_id for message in scene.messages}
    for turn in sorted(scene.turns.values(), key=lambda one: one.number):
        if turn.pk not in spoken and (calls := by_step.get(turn.step)):
            why = f"Turn {turn.number} of {scene.name(scene.seats[turn.member_id])}: {why_of(turn)}."
            yield Line(None, None, why, _asked(scene, calls))


def _line(scene: Scene, slot: Slot, by_step: Mapping[str, Sequence[ModelCall]], gates: Mapping[str, Gate]) -> Line:
    if slot.message is None:
        return Line(slot, None, "", ())
    turn = scene.turns.get(slot.message.turn_id or 0)
    asked = _asked(scene, by_step.get(_step(slot.message, turn), ()))
    why = _why(scene, slot.message, turn)
    gate = gates.get(turn.step) if turn else None
    return Line(slot, None, f"{why} {_waited(gate)}" if gate else why, asked)


def _waited(gate: Gate) -> str:
    """Of a person, who was waited for."""
    last = gate.last
    answered = f"; {last.by} answered {moment_in_words(last.made)}" if last and last.by else ""
    return f"A person was asked {moment_in_words(gate.made)}{answered}."


def _step(message: Message, turn: Turn | None) -> str:
    if turn:
        return turn.step
    return f"note-{message.after}" if message.kind == Sort.NOTE else ""


def _why(scene: Scene, message: Message, turn: Turn | None) -> str:
    """Also what was not known to its speaker, where somebody spoke meanwhile."""
    if turn is None:
        return ""
    meanwhile = [one.number for one in scene.messages if message.heard < one.number < message.number]
    late = "" if not meanwhile or message.kind == Sort.CLOSING else f"; had not heard {_numbers(meanwhile)}"
    return f"Turn {turn.number}: {why_of(turn)}{late}."


def _numbers(numbers: Sequence[int]) -> str:
    return f"message{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers))}"


def _asked(scene: Scene, calls: Sequence[ModelCall]) -> tuple[Asked, ...]:
    return tuple(Asked(call.pk, *attempt_told(call), "" if scene.run.redacted else call.answer) for call in calls)
