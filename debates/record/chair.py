"""What people did to a debate while it went on: the chair's words and acts, and who left a seat out of turn."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from ..models import Message, Steer
from ..rules.course import MOST, Act, Sort
from ..scene import Scene
from ..sentences import sentence_of_leaving, sentence_of_steer, to_whom


@dataclass(frozen=True)
class Deed:
    """`message`: its number, where something was said. `flag`: what is to be known of it."""

    at: datetime
    who: str
    text: str
    message: int | None = None
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
    return Deed(message.made, message.by_name, f"to {to}: {text}", message.number, flag)


def _left(scene: Scene, message: Message) -> Deed:
    sentence = sentence_of_leaving(message.said_in(scene.debate))
    return Deed(message.made, message.by_name, _with_reason(scene, sentence, message.reasoning), message.number)


def _steered(scene: Scene) -> Iterator[Deed]:
    most = scene.course.settings.most
    for steer in sorted(scene.debate.steers.all(), key=lambda one: one.number):
        most += steer.amount if steer.act == Act.EXTEND else 0
        yield Deed(steer.made, steer.by_name, _act(scene, steer, min(most, MOST)))


def _act(scene: Scene, steer: Steer, most: int) -> str:
    return _with_reason(scene, sentence_of_steer(scene, steer, most), steer.reasoning)


def _with_reason(scene: Scene, sentence: str, reasoning: str) -> str:
    sentence = f"{sentence[0].upper()}{sentence[1:]}"
    reason = "" if scene.run.redacted else reasoning
    return f"{sentence} “{reason}”" if reason else sentence
