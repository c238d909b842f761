"""The parts of an inquiry's live page that change."""

from collections.abc import Iterator
from functools import partial

from runs.fragments import Fragment, fragment_of, only

from .display import Display

fragment = partial(fragment_of, "inquiries")


def fragments(display: Display) -> Iterator[Fragment]:
    """Every fragment, the socket last: when nothing can change any more it goes, and with it the way for any other."""
    yield fragment("plate", only(display, "state", "word", "stamp"))
    yield fragment("stamp", {"display": display})
    yield fragment("wait", {"display": display})
    times = ("id", "over", "started", "worked", "waited")
    counts = ("cells", "retries", "errors", "last_one", "retry_limit", "used")
    yield fragment("budget", only(display, "small", *counts, *times))
    said = ("answer", "worded", "beside", "claims", "unapproved", "quotes", "state", "why")
    yield fragment("answer", only(display, "id", "over", *said))
    for station in display.stations:
        yield fragment("station", {"station": station, "place": station.place}, (station.place,))
    for place in display.slots:
        yield fragment("station", {"station": None, "place": place}, (place,))
    moves = only(display, "at_work", "task", "feedback", "moves", "growing", "meter", "id")
    yield fragment("moves", moves, steps=display.coming)
    yield fragment("sources", only(display, "id", "sources", "unread", "read"))
    yield fragment("before", only(display, "id", "events", "trace", "worded", "over"))
    yield fragment("actions", only(display, "id", "over", "final", "state", "sayable", "is_followable"), replayed=False)
    yield fragment("announcer", only(display, "announcement"), replayed=False)
    if display.final:
        yield fragment("socket", {"display": display}, replayed=False)
