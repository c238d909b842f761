"""The parts of a mission's live page that change. What somebody types stands in none of them."""

from collections.abc import Iterator
from functools import partial

from runs.fragments import Fragment, fragment_of, only

from .display import Display
from .display.terminals import key_of

fragment = partial(fragment_of, "missions")


def fragments(display: Display) -> Iterator[Fragment]:
    """Every fragment, the socket last: when nothing can change any more it goes, and with it the way for any other."""
    yield fragment("plate", only(display, "state", "word", "stamp"))
    yield fragment("stamp", {"display": display})
    yield fragment("sub", only(display, "first", "rest", "used"))
    yield fragment("wait", {"display": display})
    yield fragment("asked", only(display, "asked"))
    yield fragment("gauges", only(display, "gauges"))
    yield fragment("ending", only(display, "id", "ending", "files", "rehearsal"))
    answering = frozenset[str]().union(*(agent.coming for agent in display.agents))
    yield fragment("crew", only(display, "crew", "number"), steps=answering)
    yield fragment("messages", only(display, "id", "messages", "letters"))
    for agent in display.agents:
        yield fragment("agent", {"agent": agent, "number": agent.number}, (agent.number,), agent.coming)
    for number in display.places:
        yield fragment("agent", {"agent": None, "number": number}, (number,))
    yield from _terminals(display)
    yield fragment("files", only(display, "id", "files", "over"))
    yield fragment("actions", only(display, "id", "over", "final", "paused", "is_followable"), replayed=False)
    yield fragment("announcer", only(display, "announcement"), replayed=False)
    if display.final:
        yield fragment("socket", {"display": display}, replayed=False)


def _terminals(display: Display) -> Iterator[Fragment]:
    yield fragment("terminals", only(display, "id", "commands"))
    for place, one in enumerate(display.slots, 1):
        growing = frozenset({key_of(one.number)}) if one and one.living else frozenset[str]()
        yield fragment("terminal", {"one": one, "place": place, **only(display, "id")}, (place,), growing)
