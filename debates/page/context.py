"""All that the parts of the display are made from: the rows, what the rules make of them, and what grows right now."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Protocol, TypeVar

from engine.models import Gate, ModelCall, Run
from runs.attempts import Retry, retries_of
from runs.procedure.spec import RunSnapshot
from runs.questions import OpenQuestion, by_step

from ..human_turns import turn_gates
from ..models import Debate, DebateMember, DebateMessage, DebateTurn, FirstVerdict
from ..models.visibility import hidden_steps, hides_first_verdicts
from ..prompt_context import PromptView, letters_of
from ..rules import state as rules
from ..rules.state import DebateState
from .view_model import OptionStyle, option_styles


@dataclass(frozen=True)
class DebatePageContext:
    debate: Debate
    run: Run
    course: DebateState
    latest: Mapping[str, ModelCall]  # by step; what failed before the run was tried again says nothing any more
    retries: Mapping[str, Retry]  # that go on or come next, by step
    texts: Mapping[str, str]
    questions: Mapping[str, OpenQuestion]  # that models are asked now, by step
    gates: Sequence[Gate] = ()  # those where a person has the floor and may speak

    @cached_property
    def looks(self) -> Mapping[str, OptionStyle]:
        return option_styles(sorted(self.debate.options.all(), key=lambda one: one.number))

    @cached_property
    def members(self) -> Mapping[int, DebateMember]:
        """By their seats, the timekeeper among them."""
        return {member.seat: member for member in self.debate.members_by_seat}

    @cached_property
    def seats(self) -> Mapping[int, int]:
        """By the keys of the members."""
        return {member.pk: member.seat for member in self.members.values()}

    @cached_property
    def seated(self) -> Sequence[DebateMember]:
        return self.debate.seated

    @cached_property
    def names(self) -> Mapping[int, str]:
        return {seat: member.name for seat, member in self.members.items()}

    @cached_property
    def called(self) -> Mapping[int, str]:
        """As members speak of one another where they are told letters; empty where they are told names."""
        return letters_of(self.course) if self.debate.view == PromptView.MINUTES else {}

    @cached_property
    def places(self) -> Mapping[int, int]:
        """How far from the first each seat is."""
        return {member.seat: place for place, member in enumerate(self.seated)}

    @cached_property
    def messages(self) -> Sequence[DebateMessage]:
        return sorted(self.debate.messages.all(), key=lambda one: one.number)

    @cached_property
    def repeated(self) -> Mapping[int, int]:
        return self.debate.repeated

    @cached_property
    def messages_by_number(self) -> Mapping[int, rules.MessageState]:
        """What the rules see of each message, by its number."""
        return {message.number: message for message in self.course.messages}

    @cached_property
    def said_by(self) -> Mapping[int | None, Sequence[rules.MessageState]]:
        """Members' own messages, by their seats."""
        return _by_seat(self.course.messages_said)

    @cached_property
    def stated_by(self) -> Mapping[int | None, Sequence[rules.VerdictStatement]]:
        """Verdicts, by the seats of who stated them."""
        return _by_seat(self.course.statements)

    @cached_property
    def turns(self) -> Mapping[int, DebateTurn]:
        """By their keys."""
        return {turn.pk: turn for turn in self.debate.turns.all()}

    @cached_property
    def firsts(self) -> Mapping[int, FirstVerdict]:
        """What each said alone; while somebody may still be swayed by it, nobody sees it."""
        if self.firsts_hidden:
            return {}
        return {one.seat: one.first for one in self.seated if hasattr(one, "first")}

    @property
    def firsts_hidden(self) -> bool:
        return hides_first_verdicts(self.debate)

    @cached_property
    def hidden(self) -> frozenset[str]:
        """The steps whose answers nobody sees yet."""
        return hidden_steps(self.debate)

    @property
    def over(self) -> bool:
        return self.run.is_ended

    @property
    def going_on(self) -> bool:
        return self.run.status == Run.Status.RUNNING

    @property
    def closing(self) -> bool:
        return bool(self.course.because) and not self.over

    @cached_property
    def changes(self) -> Mapping[int, rules.VerdictChange]:
        """By the message that made them: an act of an older debate has none."""
        known = self.messages_by_number
        return {one.number: one for one in self.course.changes if known[one.number].seat == one.seat}

    @cached_property
    def before_closing(self) -> int | None:
        """The newest message before the last words; None while none is awaited."""
        if not self.closing_turns:
            return None
        return max((one.number for one in self.course.messages if one.sort != rules.StatementKind.CLOSING), default=0)

    @cached_property
    def challenges(self) -> frozenset[int]:
        """The turns whose verdict is nobody's own."""
        return frozenset(turn.number for turn in self.course.turns if turn.why == rules.TurnReason.CHALLENGE)

    @cached_property
    def _stood(self) -> Mapping[int, str]:
        stood: dict[int | None, str] = {}
        found = {}
        for message in self.course.messages:
            if message.verdict and message.turn not in self.challenges:
                stood[message.seat] = message.verdict
            found[message.number] = stood.get(message.seat, "")
        return found

    @cached_property
    def _clocks(self) -> Sequence[int]:
        """By the numbers of the messages, from 0 on."""
        clocks = [0]
        for message in self.course.messages:
            clocks.append(message.clock or clocks[-1])
        return clocks

    def clock_at(self, number: int) -> int:
        """How far the clock was when that was the newest message."""
        return self._clocks[min(number, len(self._clocks) - 1)]

    def verdict_at(self, number: int) -> str:
        """What the speaker of a message has stood by since."""
        return self._stood[number]

    @cached_property
    def open_turn(self) -> rules.TurnState | None:
        """Who has the floor; nobody while it is queued, and in the closing all have it."""
        return None if self.over else self.course.open_turn

    @cached_property
    def cut_turn(self) -> rules.TurnState | None:
        """Who had the floor when it was cancelled."""
        return self.course.open_turn if self.run.status == Run.Status.CANCELLED else None

    @cached_property
    def closing_turns(self) -> Sequence[rules.TurnState]:
        """Those whose last word is still awaited."""
        return [turn for turn in self.course.closings if turn.state == rules.MemberStatus.OPEN and not self.over]

    @cached_property
    def asked(self) -> Sequence[rules.TurnState]:
        """The turns of persons who may speak now."""
        steps = {gate.step for gate in self.gates}
        turns = [*([self.open_turn] if self.open_turn else []), *self.closing_turns]
        return [turn for turn in turns if f"turn-{turn.number}" in steps]

    @property
    def asked_until(self) -> Sequence[datetime]:
        """When it goes on without the first of them; nothing where it waits as long as it takes."""
        return sorted(gate.expires for gate in self.gates if gate.expires)[:1]

    def option_style(self, verdict: str) -> OptionStyle:
        return self.looks[verdict]

    def name(self, seat: int | None) -> str:
        return self.names.get(seat or 0, "")

    def is_speaking(self, step: str) -> bool:
        call = self.latest.get(step)
        return self.going_on and call is not None and call.status == ModelCall.Status.OPEN and not call.waits

    def retried(self, step: str) -> ModelCall | None:
        """The attempt that has failed, or found its provider away, where another one follows."""
        call = self.latest.get(step)
        again = call is not None and call.retry_at is not None
        return call if again and self.going_on else None


def page_context(seen: RunSnapshot[Debate]) -> DebatePageContext:
    own = [call for call in seen.calls if call.series == seen.run.retries]
    latest = {call.step: call for call in own}
    hidden = hidden_steps(seen.row)
    texts = {step: text for step, text in seen.texts.items() if step not in hidden}
    questions = by_step(seen.questions, seen.texts)
    return DebatePageContext(
        seen.row, seen.run, seen.row.shown_state, latest, retries_of(own), texts, questions, turn_gates(seen.gates)
    )


class _HasSeat(Protocol):
    @property
    def seat(self) -> int | None: ...


One = TypeVar("One", bound=_HasSeat)


def _by_seat(all_of_them: Iterable[One]) -> Mapping[int | None, Sequence[One]]:
    found: dict[int | None, list[One]] = {}
    for one in all_of_them:
        found.setdefault(one.seat, []).append(one)
    return found
