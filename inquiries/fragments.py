"""The parts of an inquiry's live page that change."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from runs.fragments import Fragment

from .display import Display

SHARED = ("plate", "stamp", "wait", "kept", "announcer", "socket")  # drawn alike for every run


def fragment(name: str, *args: Any, **more: Any) -> Fragment:
    return Fragment("runs/fragments" if name in SHARED else "inquiries/fragments", name, *args, **more)


def _of(display: Display, *fields: str) -> dict[str, Any]:
    """So much of it as a template shows, and no more: what shows the same as before is not drawn again."""
    return {"display": SimpleNamespace(**{name: getattr(display, name) for name in fields})}


def fragments(display: Display) -> Iterator[Fragment]:
    """Every fragment, the socket last: when nothing can change any more it goes, and with it the way for any other."""
    yield fragment("plate", _of(display, "state", "word", "stamp"))
    yield fragment("stamp", {"display": display})
    yield fragment("wait", {"display": display})
    yield fragment("budget", _of(display, "small", "cells", "retries", "retry_limit", "used"))
    yield fragment("answer", _of(display, "id", "over", "answer", "claims", "quotes", "state", "why"))
    for station in display.stations:
        yield fragment("station", {"station": station, "place": station.place}, (station.place,))
    for place in display.slots:
        yield fragment("station", {"station": None, "place": place}, (place,))
    yield fragment("moves", _of(display, "at_work", "task", "feedback", "moves", "growing", "moves_most"))
    yield fragment("sources", _of(display, "id", "sources"))
    yield fragment("before", _of(display, "events", "trace"))
    yield fragment("actions", _of(display, "id", "over", "final"), replayed=False)
    yield fragment("announcer", _of(display, "announcement"), replayed=False)
    if display.final:
        yield fragment("socket", {"display": display}, replayed=False)
