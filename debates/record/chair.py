"""What people did to a debate while it went on: the chair's words and acts, and who left a seat out of turn."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from ..models import Message
from ..rules.course import Sort
from ..scene import Scene
from ..sentences import acts_in_words, sentence_of_leaving, to_whom


@dataclass(frozen=True)
class Deed:
    """`message`: its number, where something was said; else `act`, its number among the acts. `flag`: what is to be
    known of it."""

    at: datetime
    who: str
    text: str
    message: int | None = None
    act: int | None = None
    flag: str = ""


def acts_of(scene: Scene) -> list[Deed]:
    return sorted([*_said(scene), *_steered(scene)], key=lambda one: one.at)


def _said(scene: Scene) -> Iterator[Deed]:
    for message in scene.messages:
        if message.kind == Sort.CHAIR:
            yield _words(scene, message)
        elif message.kind == Sort.LEAVING:
            yield _left(scene, message)


def _words(scene: Scene, message: Message) -> Deed:
    to = to_whom(scene, scene.known[message.number].to)
    text = "Erased." if scene.run.redacted else f"“{message.content}”"
    flag = "It names an option." if message.names_option else ""
    return Deed(message.made, message.by_name, f"to {to}: {text}", message.number, flag=flag)


def _left(scene: Scene, message: Message) -> Deed:
    sentence = sentence_of_leaving(message.said_in(scene.debate))
    return Deed(message.made, message.by_name, _with_reason(scene, sentence, message.reasoning), message.number)


def _steered(scene: Scene) -> Iterator[Deed]:
    for steer, _, text in acts_in_words(scene):
        yield Deed(steer.made, steer.by_name, _with_reason(scene, text, steer.reasoning), act=steer.number)


def _with_reason(scene: Scene, sentence: str, reasoning: str) -> str:
    sentence = f"{sentence[0].upper()}{sentence[1:]}"
    reason = "" if scene.run.redacted else reasoning
    return f"{sentence} “{reason}”" if reason else sentence
