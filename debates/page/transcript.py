"""The transcript: what was said, noted and done, line by line, and what is being said right now.

A slot is the place of one message, by its number: first what happened since the one before, then the message itself.
The slot after the newest message belongs to whoever has the floor. What a slot shows is worked out when it is drawn,
for of a long debate all but the last are drawn only once.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from runs.attempts import WAITED_FOR

from ..models import DebateMember, DebateMessage, FirstVerdict, MessagePoint
from ..prompts import cited_number
from ..rules import state as rules
from ..rules.state import MemberStatus, StatementKind, TurnState
from .context import DebatePageContext
from .member_view import step_of
from .sentences import (
    acts_in_words,
    addressee_text,
    asking_member,
    join_names,
    messages_named,
    note_lead,
    retry_in_words,
    sentence_of_because,
    sentence_of_end,
    sentence_of_note,
)
from .view_model import (
    MISSING,
    ArgumentClaimView,
    ArtifactView,
    MessageView,
    OptionStyle,
    PartialMessage,
    ShareBar,
    StatedView,
    TranscriptEvent,
)

MOST_NOTES = rules.MOST // rules.REMINDER_EVERY + 1
MOST_OF_CHAIR = 40
_TO = {StatementKind.CLOSING: "last word", StatementKind.LEAVING: "out of turn"}
EVENT_ICONS = {"for": "+", "against": "−"}

AGAIN = "It is asked again; after the last retry its turn is skipped."


@dataclass(frozen=True)
class TranscriptSlot:
    """`events`: since the message before. `message` never changes, once it is there."""

    number: int
    message: DebateMessage | None
    events: tuple[TranscriptEvent, ...]
    growing: PartialMessage | None
    scene: DebatePageContext = field(compare=False, repr=False)

    @property
    def hidden(self) -> bool:
        return not (self.message or self.events or self.growing)

    @property
    def settled(self) -> bool:
        """What is told beside the newest message may still come, and last words come in any order."""
        return self.number < (self.scene.before_closing or self.scene.course.newest)

    @property
    def spoken(self) -> bool:
        return self.message is not None and self.message.kind != StatementKind.NOTE

    @property
    def forks(self) -> bool:
        """Whether another debate can go on from here: last words end one."""
        return self.spoken and self.message is not None and self.message.kind != StatementKind.CLOSING

    @property
    def person(self) -> bool:
        return self.message is not None and self.message.kind == StatementKind.CHAIR

    @cached_property
    def note(self) -> TranscriptEvent | None:
        if self.message is None or self.message.kind != StatementKind.NOTE:
            return None
        lead, called = note_lead(self.message.note), f"message {self.message.number}"
        return TranscriptEvent("clock", lead, sentence_of_note(self.scene, self.message), called=called)

    @cached_property
    def said(self) -> MessageView | None:
        return message_view(self.scene, self.message) if self.message and self.spoken else None


def transcript_slots(scene: DebatePageContext) -> tuple[TranscriptSlot, ...]:
    """Those with anything in them, and the one of the floor."""
    events = _events_by_slot(scene)
    numbers = range(1, scene.course.newest + 2)
    messages = {message.number: message for message in scene.messages}
    floor = _growing(scene)
    last = scene.course.newest + 1
    if scene.asked:
        events = {**events, last: [*events.get(last, ()), _waiting(scene)]}
    return tuple(
        TranscriptSlot(n, messages.get(n), tuple(events.get(n, ())), floor if n == last else None, scene)
        for n in numbers
    )


def slot_count(scene: DebatePageContext) -> int:
    """How many there may come to be; of one that is over for good, how many there are."""
    members = len(scene.seated)
    parts = rules.MOST if scene.debate.free_floor else 0
    return rules.MOST + parts + MOST_NOTES + MOST_OF_CHAIR + members + 1


# ---- a message --------------------------------------------------------------------------------------------


def message_view(scene: DebatePageContext, message: DebateMessage) -> MessageView:
    known = scene.messages_by_number[message.number]
    person = message.kind == StatementKind.CHAIR
    member = scene.members.get(known.seat or 0)
    return MessageView(
        number=message.number,
        name=f"{message.by_name}, chair" if person else _known_as(scene, member) if member else "",
        to=_TO.get(StatementKind(message.kind), f"to {addressee_text(scene, known.to)}"),
        at=message.made,
        words="Erased." if scene.run.redacted else message.content,
        look=None if person else scene.option_style(scene.verdict_at(message.number)),
        claims=tuple(_claim(scene, message, point) for point in message.points.all()),
        artifact=artifact_of(message.artifact),
        stated=_stated(scene, message, known),
        withdraws=message.withdrawn,
        person=person,
        part_two=message.continues,
        marks=tuple(_marks(scene, message)),
        reason=message.reasoning,
    )


def _known_as(scene: DebatePageContext, member: DebateMember) -> str:
    called = scene.called.get(member.seat)
    return f"{member.name} ({called})" if called else member.name


def _claim(scene: DebatePageContext, message: DebateMessage, point: MessagePoint) -> ArgumentClaimView:
    source = f"{point.document}:{point.line}" if point.document and point.line else point.document
    answered = int(point.answers.split(".")[0]) if point.answers else None
    number = f"{message.number}.{point.number}"
    claim = "Erased." if scene.run.redacted else point.claim
    return ArgumentClaimView(
        number, EVENT_ICONS[point.side], point.option, point.side, claim, source, point.answers, answered
    )


def _stated(scene: DebatePageContext, message: DebateMessage, known: rules.MessageState) -> StatedView | None:
    if not known.verdict or known.turn in scene.challenges:
        return None
    change = scene.changes.get(message.number)
    named = messages_named(scene, change.moved_by) if change and change.moved_by else ""
    before = scene.option_style(change.before) if change else None
    return StatedView(scene.option_style(known.verdict), before, message.reasoning, named)


def _marks(scene: DebatePageContext, message: DebateMessage) -> Iterator[str]:
    """How it came about, where that is not as usual."""
    if scene.messages_by_number[message.number].turn in scene.challenges:
        yield "a challenge: not its own verdict"
    if len(message.calls) > 1:
        yield f"in {len(message.calls)} answers" if len(message.calls) > 2 else "in two answers"
    if message.cut:
        yield "cut"
    if first := scene.repeated.get(message.number):
        yield f"repeats message {first}, word for word"


# ---- artifacts --------------------------------------------------------------------------------------------


def artifact_of(kept: str) -> ArtifactView | None:
    """As it was checked when it was kept: title, kind, text, columns and rows."""
    if not kept:
        return None
    told = json.loads(kept)
    columns = tuple(map(str, told.get("columns") or ()))
    rows = tuple(tuple(map(str, row)) for row in told.get("rows") or ())
    bars = _bars(rows) if told.get("kind") == "bars" else ()
    return ArtifactView(told.get("title", ""), told.get("kind", "text"), told.get("text", ""), columns, rows, bars)


def _bars(rows: Sequence[tuple[str, ...]]) -> tuple[ShareBar, ...]:
    """The first column names them, the last one that holds a number says how long they are."""
    numbers = [(row[0], row[-1], cited_number(row[-1])) for row in rows if len(row) > 1]
    longest = max((abs(number) for _, _, number in numbers if number is not None), default=0)
    return tuple(
        ShareBar(label, value, round(100 * abs(number) / longest) if longest else 0)
        for label, value, number in numbers
        if number is not None
    )


# ---- what grows -------------------------------------------------------------------------------------------


def _growing(scene: DebatePageContext) -> PartialMessage | None:
    """What whoever has the floor is saying."""
    turn = scene.open_turn or scene.cut_turn
    return partial_message(scene, turn) if turn else None


def partial_message(scene: DebatePageContext, turn: TurnState) -> PartialMessage | None:
    step = step_of(turn)
    member, call = scene.members[turn.seat], scene.latest.get(step)
    text = scene.texts.get(step, "")
    to = f"to {asking_member(scene, turn)}" if turn.why == rules.TurnReason.REPLY else ""
    look = scene.option_style(scene.course.verdict_of.get(turn.seat, ""))
    if scene.over:
        return PartialMessage(step, member.name, to, look, text, cut="Not said: it was cancelled.") if text else None
    if failed := scene.retried(step):
        why = "Its answer could not be used." if step in scene.hidden else failed.error
        again = f"{why} {WAITED_FOR if failed.waits else AGAIN}"
        retry = retry_in_words(scene, failed)
        return PartialMessage(step, member.name, to, look, again, retry=retry, until=failed.retry_at)
    if not scene.is_speaking(step):
        return None
    return PartialMessage(step, member.name, to, look, text, since=call.started if call else None)


@dataclass(frozen=True)
class FirstVerdictView:
    """What a member said before the debate, or is saying."""

    seat: int
    name: str
    look: OptionStyle | None
    words: str
    confidence: int | None = None
    growing: bool = False
    since: datetime | None = None

    @property
    def hidden(self) -> bool:
        return self.look is None and not self.growing


def first_verdict_view(scene: DebatePageContext, member: DebateMember) -> FirstVerdictView:
    first: FirstVerdict | None = scene.firsts.get(member.seat)
    if first:
        return _alone_said(scene, member, first)
    step = f"first-{member.seat}"
    if scene.firsts_hidden or not scene.is_speaking(step):
        return FirstVerdictView(member.seat, member.name, None, "")
    call = scene.latest[step]
    return FirstVerdictView(member.seat, member.name, None, scene.texts.get(step, ""), growing=True, since=call.started)


def first_verdict_views(scene: DebatePageContext) -> list[FirstVerdictView]:
    """All that was said alone, also where nobody is shown it: for who has looked on record."""
    return [_alone_said(scene, one, one.first) for one in scene.seated if hasattr(one, "first")]


def _alone_said(scene: DebatePageContext, member: DebateMember, first: FirstVerdict) -> FirstVerdictView:
    if first.missing:
        return FirstVerdictView(member.seat, member.name, MISSING, "Could not be asked.")
    words = "Erased." if scene.run.redacted else first.reasoning
    verdict = first.said_in(scene.debate)
    return FirstVerdictView(member.seat, member.name, scene.option_style(verdict), words, first.confidence)


# ---- what is no message -----------------------------------------------------------------------------------


def _events_by_slot(scene: DebatePageContext) -> Mapping[int, Sequence[TranscriptEvent]]:
    """By the number of the message before which they happened."""
    found: dict[int, list[TranscriptEvent]] = {}
    for made, event in sorted(_events(scene), key=lambda one: one[0]):
        found.setdefault(_slot_at(scene, made), []).append(event)
    return found


def _slot_at(scene: DebatePageContext, made: datetime) -> int:
    return next((one.number for one in scene.messages if one.made > made), scene.course.newest + 1)


def _events(scene: DebatePageContext) -> Iterator[tuple[datetime, TranscriptEvent]]:
    yield from _skipped(scene)
    yield from _steered(scene)
    if scene.debate.ended_because and (
        closings := [t for t in scene.turns.values() if t.why == rules.TurnReason.CLOSING]
    ):
        yield min(turn.made for turn in closings), _closing_begins(scene, len(closings))
    if scene.run.outcome and scene.run.ended:
        yield scene.run.ended, TranscriptEvent("clock", "Ended.", sentence_of_end(scene))


def _skipped(scene: DebatePageContext) -> Iterator[tuple[datetime, TranscriptEvent]]:
    for turn in scene.turns.values():
        if turn.state == MemberStatus.SKIPPED and turn.closed:
            name = scene.name(scene.seats[turn.member_id])
            reason = "" if scene.run.redacted else turn.reason_skipped
            struck = scene.texts.get(turn.step, "")
            yield turn.closed, TranscriptEvent("dash", f"{name}: turn skipped.", reason, struck)


def _steered(scene: DebatePageContext) -> Iterator[tuple[datetime, TranscriptEvent]]:
    for steer, lead, text in acts_in_words(scene):
        yield steer.made, TranscriptEvent("person", lead, text, called=f"act {steer.number}")


def _waiting(scene: DebatePageContext) -> TranscriptEvent:
    """For whoever has the floor and is a person."""
    until = [f"until {ends:%-d %b, %H:%M} UTC." for ends in scene.asked_until]
    return TranscriptEvent(
        "pause", f"Waiting for {join_names(scene.name(turn.seat) for turn in scene.asked)}", " ".join(until)
    )


def _closing_begins(scene: DebatePageContext, asked: int) -> TranscriptEvent:
    at_once = f"{asked} last words are asked for at once; nobody sees another's."
    at_once = "One last word is asked for." if asked == 1 else at_once
    return TranscriptEvent("clock", "Timekeeper, closing.", f"{sentence_of_because(scene)} {at_once}")
