"""The parts of a mission's live page that change."""

from collections.abc import Iterator
from functools import partial

from runs.fragments import Fragment, fragment_of, only

from .display import Display

fragment = partial(fragment_of, "missions")


def fragments(display: Display) -> Iterator[Fragment]:
    """Every fragment, the socket last: when nothing can change any more it goes, and with it the way for any other."""
    yield fragment("plate", only(display, "state", "word", "stamp"))
    yield fragment("stamp", {"display": display})
    yield fragment("wait", {"display": display})
    yield fragment("gauges", only(display, "small", "gauges", "used"))
    yield fragment(
        "result",
        only(display, "id", "over", "result", "why", "state", "check", "check_state", "check_word", "check_output"),
    )
    yield fragment("crew", only(display, "crew"))
    yield fragment("messages", only(display, "messages"))
    yield fragment("steps", only(display, "steps", "earlier", "growing", "over"))
    yield fragment("terminals", only(display, "id", "terminals"))
    yield fragment("files", only(display, "id", "files"))
    yield fragment("actions", only(display, "id", "over", "final", "paused"), replayed=False)
    yield fragment("announcer", only(display, "announcement"), replayed=False)
    if display.final:
        yield fragment("socket", {"display": display}, replayed=False)
