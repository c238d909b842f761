"""The parts of a plan's live page that change. A step that is settled is drawn once."""

from collections.abc import Iterator
from functools import partial

from runs.fragments import Fragment, fragment_of, only

from .display import Display

fragment = partial(fragment_of, "plans")


def fragments(display: Display) -> Iterator[Fragment]:
    """Every fragment, the socket last: when nothing can change any more it goes, and with it the way for any other."""
    yield fragment("plate", only(display, "state", "word", "stamp"))
    yield fragment("stamp", {"display": display})
    yield fragment("wait", {"display": display})
    shown = only(display, "trouble", "small", "first", "progress", "used", "thought", "planning", "lamps")
    yield fragment("sub", shown, steps=display.coming)
    yield fragment("asked", only(display, "asked", "bar"))
    yield fragment("ending", only(display, "summary", "figures", "claims"))
    yield fragment("thread", only(display, "thread"))
    yield fragment("hearers", only(display, "hearers", "planner_hears"), replayed=False)
    for step in display.steps:
        yield fragment("step", {"step": step}, (step.place,), step.coming)
    for place in display.places:
        yield fragment("step", {"step": None, "place": place}, (place,))
    yield fragment("actions", only(display, "id", "over", "final", "worked"), replayed=False)
    yield fragment("announcer", only(display, "announcement"), replayed=False)
    if display.final:
        yield fragment("socket", {"display": display}, replayed=False)
