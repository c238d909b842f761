"""The parts of a plan's live page that change. A step that is settled is drawn once."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from runs.fragments import Fragment

from .display import Display

SHARED = ("plate", "stamp", "wait", "kept", "announcer", "socket")  # drawn alike for every run


def fragment(name: str, *args: Any, **more: Any) -> Fragment:
    return Fragment("runs/fragments" if name in SHARED else "plans/fragments", name, *args, **more)


def _of(display: Display, *fields: str) -> dict[str, Any]:
    """So much of it as a template shows, and no more: what shows the same as before is not drawn again."""
    return {"display": SimpleNamespace(**{name: getattr(display, name) for name in fields})}


def fragments(display: Display) -> Iterator[Fragment]:
    """Every fragment, the socket last: when nothing can change any more it goes, and with it the way for any other."""
    yield fragment("plate", _of(display, "state", "word", "stamp"))
    yield fragment("stamp", {"display": display})
    yield fragment("wait", {"display": display})
    yield fragment("sub", _of(display, "trouble", "small", "first", "progress", "used", "thought", "planning", "lamps"))
    yield fragment("asked", _of(display, "asked", "bar"))
    yield fragment("ending", _of(display, "summary"))
    yield fragment("thread", _of(display, "thread"))
    for step in display.steps:
        yield fragment("step", {"step": step}, (step.place,))
    for place in display.places:
        yield fragment("step", {"step": None, "place": place}, (place,))
    yield fragment("actions", _of(display, "id", "over", "final"), replayed=False)
    yield fragment("announcer", _of(display, "announcement"), replayed=False)
    if display.final:
        yield fragment("socket", {"display": display}, replayed=False)
