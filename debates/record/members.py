"""Members and options in the record."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from ..models import DebateMember, DebateMessage
from ..page.context import DebatePageContext
from ..page.sentences import acts_in_words, addressee_text, sentence_of_leaving
from ..page.view_model import OptionStyle
from ..rules.state import StatementKind


@dataclass(frozen=True)
class RecordedOption:
    look: OptionStyle
    meaning: str


@dataclass(frozen=True)
class RecordedMember:
    """`speaks`: the model or the person."""

    seat: int
    name: str
    speaks: str
    who: str


def recorded_options(scene: DebatePageContext) -> Iterator[RecordedOption]:
    for option in sorted(scene.debate.options.all(), key=lambda one: one.number):
        yield RecordedOption(scene.option_style(option.word), "Erased." if scene.run.redacted else option.meaning)


def recorded_members(scene: DebatePageContext) -> Iterator[RecordedMember]:
    for member in scene.members.values():
        who = "Erased." if scene.run.redacted and member.seat else member.who
        called = [scene.called[member.seat]] if member.seat in scene.called else []
        yield RecordedMember(member.seat, member.name, ", ".join([*called, _speaks(member)]), who)


def _speaks(member: DebateMember) -> str:
    if member.is_person:
        return f"a person: {member.user_name}"
    if not member.model:
        return "stated sentences"
    return f"{member.model}, fallback {member.fallback}" if member.fallback else member.model


@dataclass(frozen=True)
class ModerationLine:
    """A line about the chair. `message`: the number of its message, or `act`: the number of its act. `flag`: a
    remark on it."""

    at: datetime
    who: str
    text: str
    message: int | None = None
    act: int | None = None
    flag: str = ""


def moderation_lines(scene: DebatePageContext) -> list[ModerationLine]:
    return sorted([*_said(scene), *_steered(scene)], key=lambda one: one.at)


def _said(scene: DebatePageContext) -> Iterator[ModerationLine]:
    for message in scene.messages:
        if message.kind == StatementKind.CHAIR:
            yield _words(scene, message)
        elif message.kind == StatementKind.LEAVING:
            yield _left(scene, message)


def _words(scene: DebatePageContext, message: DebateMessage) -> ModerationLine:
    to = addressee_text(scene, scene.messages_by_number[message.number].to)
    text = "Erased." if scene.run.redacted else f"“{message.content}”"
    flag = "It names an option." if message.names_option else ""
    return ModerationLine(message.made, message.by_name, f"to {to}: {text}", message.number, flag=flag)


def _left(scene: DebatePageContext, message: DebateMessage) -> ModerationLine:
    sentence = sentence_of_leaving(message.said_in(scene.debate))
    return ModerationLine(
        message.made, message.by_name, _with_reason(scene, sentence, message.reasoning), message.number
    )


def _steered(scene: DebatePageContext) -> Iterator[ModerationLine]:
    for steer, _, text in acts_in_words(scene):
        yield ModerationLine(steer.made, steer.by_name, _with_reason(scene, text, steer.reasoning), act=steer.number)


def _with_reason(scene: DebatePageContext, sentence: str, reasoning: str) -> str:
    sentence = f"{sentence[0].upper()}{sentence[1:]}"
    reason = "" if scene.run.redacted else reasoning
    return f"{sentence} “{reason}”" if reason else sentence
