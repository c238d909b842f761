"""What spoke for what, as a record lists it: each point with its source, and under it those that answer it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..analysis import Analysis, Argument, Source, State
from ..ending import source_of
from ..parts import Look
from ..scene import Scene

DEEPEST = 3  # what lies deeper stands beside what it answers

CHECKED = {
    Source.FOUND: "source checked",
    Source.NOT_FOUND: "source not found",
    Source.OWN: "own knowledge",
}


@dataclass(frozen=True)
class Line:
    """`speaks`: for or against what and to which point, of one that answers another. `checked`: whether the line that
    it names is there. `became`: what came of it, where that is to be said."""

    id: str
    message: int
    claim: str
    who: str
    speaks: str
    source: str
    checked: str
    became: str
    under: "tuple[Line, ...]"


@dataclass(frozen=True)
class Case:
    """For and against one option."""

    look: Look
    for_it: tuple[Line, ...]
    against: tuple[Line, ...]


def cases_of(scene: Scene, found: Analysis) -> Iterator[Case]:
    for sides in found.arguments:
        if sides.for_it or sides.against:
            yield Case(scene.look(sides.option), _lines(scene, sides.for_it), _lines(scene, sides.against))


def _lines(scene: Scene, arguments: Sequence[Argument], depth: int = 1) -> tuple[Line, ...]:
    return tuple(line for one in arguments for line in _with_those_under(scene, one, depth))


def _with_those_under(scene: Scene, one: Argument, depth: int) -> Iterator[Line]:
    if depth < DEEPEST:
        yield _line(scene, one, depth, _lines(scene, one.under, depth + 1))
        return
    waiting = [one]
    while waiting:
        next_one = waiting.pop(0)
        yield _line(scene, next_one, depth, ())
        waiting = [*next_one.under, *waiting]


def _line(scene: Scene, one: Argument, depth: int, under: tuple[Line, ...]) -> Line:
    return Line(
        id=one.id,
        message=one.message,
        claim="Erased." if scene.run.redacted else one.point.claim,
        who=scene.name(one.seat),
        speaks=f"{one.point.side} {one.point.option}, to {one.point.answers}" if depth > 1 else "",
        source=source_of(one),
        checked="" if scene.run.redacted else CHECKED[one.source],
        became=_became(one, depth),
        under=under,
    )


def _became(one: Argument, depth: int) -> str:
    if one.state == State.TAKEN_BACK:
        return "Taken back."
    return "Not answered." if one.state == State.OPEN and depth == 1 else ""
