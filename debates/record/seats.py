"""Who sat at the table, and between what they could choose."""

from collections.abc import Iterator
from dataclasses import dataclass

from ..models import Member
from ..parts import Look
from ..scene import Scene


@dataclass(frozen=True)
class Choice:
    look: Look
    meaning: str


@dataclass(frozen=True)
class Seated:
    """`speaks`: by which model, or as which person."""

    seat: int
    name: str
    speaks: str
    who: str


def choices_of(scene: Scene) -> Iterator[Choice]:
    for option in sorted(scene.debate.options.all(), key=lambda one: one.number):
        yield Choice(scene.look(option.word), "Erased." if scene.run.redacted else option.meaning)


def seated_of(scene: Scene) -> Iterator[Seated]:
    for member in scene.members.values():
        who = "Erased." if scene.run.redacted and member.seat else member.who
        called = [scene.called[member.seat]] if member.seat in scene.called else []
        yield Seated(member.seat, member.name, ", ".join([*called, _speaks(member)]), who)


def _speaks(member: Member) -> str:
    if member.is_person:
        return f"a person: {member.user_name}"
    if not member.model:
        return "stated sentences"
    return f"{member.model}, fallback {member.fallback}" if member.fallback else member.model
