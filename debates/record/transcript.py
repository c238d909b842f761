"""All that was said, in its order, each message with how its speaker got the floor and what its model was asked."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from engine.models import Gate, ModelCall
from runs.procedure.spec import RunSnapshot
from runs.record.document import attempt_text, moment_in_words

from ..models import Debate, DebateMessage, DebateTurn
from ..page.context import DebatePageContext
from ..page.display import DebateDisplay
from ..page.transcript import FirstVerdictView, TranscriptSlot
from ..rules.state import StatementKind
from .turns import turn_reason


@dataclass(frozen=True)
class RecordedPrompt:
    """One attempt: what is told of it, and what came back. The whole prompt has a page of its own, `number`."""

    number: int
    heading: str
    error: str
    facts: str
    answer: str


@dataclass(frozen=True)
class RecordedMessage:
    """A message, or what a member said alone. `why`: how its speaker got the floor. `asked`: every attempt."""

    slot: TranscriptSlot | None
    alone: FirstVerdictView | None
    why: str
    asked: tuple[RecordedPrompt, ...]

    @property
    def plain(self) -> bool:
        """Asked once, and answered."""
        return len(self.asked) == 1 and not self.asked[0].error


@dataclass(frozen=True)
class RecordedTranscript:
    """`unsaid`: the turns that brought no message though a model was asked."""

    lines: tuple[RecordedMessage, ...]
    unsaid: tuple[RecordedMessage, ...]


def recorded_transcript(
    scene: DebatePageContext, display: DebateDisplay, seen: RunSnapshot[Debate]
) -> RecordedTranscript:
    by_step: dict[str, list[ModelCall]] = defaultdict(list)
    for call in seen.calls:
        by_step[call.step].append(call)
    alone = [
        RecordedMessage(None, one, "", _asked(scene, by_step[f"first-{one.seat}"]))
        for one in display.alone
        if one.look is not None
    ]
    gates = {gate.step: gate for gate in seen.gates}
    said = [_line(scene, slot, by_step, gates) for slot in display.slots if not slot.hidden]
    return RecordedTranscript((*alone, *said), tuple(_unsaid(scene, by_step)))


def _unsaid(scene: DebatePageContext, by_step: Mapping[str, Sequence[ModelCall]]) -> Iterator[RecordedMessage]:
    spoken = {message.turn_id for message in scene.messages}
    for turn in sorted(scene.turns.values(), key=lambda one: one.number):
        if turn.pk not in spoken and (calls := by_step.get(turn.step)):
            why = f"Turn {turn.number} of {scene.name(scene.seats[turn.member_id])}: {turn_reason(turn)}."
            yield RecordedMessage(None, None, why, _asked(scene, calls))


def _line(
    scene: DebatePageContext,
    slot: TranscriptSlot,
    by_step: Mapping[str, Sequence[ModelCall]],
    gates: Mapping[str, Gate],
) -> RecordedMessage:
    if slot.message is None:
        return RecordedMessage(slot, None, "", ())
    turn = scene.turns.get(slot.message.turn_id or 0)
    asked = _asked(scene, by_step.get(_step(slot.message, turn), ()))
    why = _why(scene, slot.message, turn)
    gate = gates.get(turn.step) if turn else None
    return RecordedMessage(slot, None, f"{why} {_waited(gate)}" if gate else why, asked)


def _waited(gate: Gate) -> str:
    """Of a person, who was waited for."""
    last = gate.last_decision
    answered = f"; {last.by} answered {moment_in_words(last.made)}" if last and last.by else ""
    return f"A person was asked {moment_in_words(gate.made)}{answered}."


def _step(message: DebateMessage, turn: DebateTurn | None) -> str:
    if turn:
        return turn.step
    return f"note-{message.after}" if message.kind == StatementKind.NOTE else ""


def _why(scene: DebatePageContext, message: DebateMessage, turn: DebateTurn | None) -> str:
    """Also what was not known to its speaker, where somebody spoke meanwhile."""
    if turn is None:
        return ""
    meanwhile = [one.number for one in scene.messages if message.heard < one.number < message.number]
    late = "" if not meanwhile or message.kind == StatementKind.CLOSING else f"; had not heard {_numbers(meanwhile)}"
    return f"Turn {turn.number}: {turn_reason(turn)}{late}."


def _numbers(numbers: Sequence[int]) -> str:
    return f"message{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers))}"


def _asked(scene: DebatePageContext, calls: Sequence[ModelCall]) -> tuple[RecordedPrompt, ...]:
    return tuple(
        RecordedPrompt(call.pk, *attempt_text(call), "" if scene.run.redacted else call.answer) for call in calls
    )
