"""The parts of a debate's live page that change. What was said is settled: it is drawn once."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from runs.fragments import Fragment, fragment_of, only

from .display import Display

STATUS = {
    "plate": ("state", "word", "stamp"),
    "stamp": ("stamp", "why", "created"),
    "verdict_sub": ("lead", "rest"),
    "verdict_meta": ("id", "over", "took", "started", "used", "unasked"),
}
NOT_REPLAYED = {
    "actions": ("id", "stage", "more", "over", "final", "redacted", "record", "retry"),
    "kept": ("kept",),
    "announcer": ("announcement",),
}


fragment = partial(fragment_of, "debates")


def fragments(display: Display) -> Iterator[Fragment]:
    """Every fragment, the socket last: when nothing can change any more it goes, and with it the way for any other."""
    yield from (fragment(name, only(display, *fields)) for name, fields in STATUS.items())
    yield from (fragment(name, context) for name, context in _drawn(display))
    yield from (fragment(name, only(display, *fields), replayed=False) for name, fields in NOT_REPLAYED.items())
    yield fragment("asked", {"asked": display.asked}, replayed=False)
    for seat in display.seats:
        yield fragment("seat", {"seat": seat}, (seat.number,), frozenset(filter(None, [seat.step])))
    for rail in display.rails:
        yield fragment("rail", {"rail": rail}, (rail.seat,))
    yield from _of_transcript(display)
    if display.final:
        yield fragment("socket", {"display": display}, replayed=False)


def _drawn(display: Display) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each with what it shows and no more: it is drawn again when that has changed."""
    yield "stand", {"stand": display.stand}
    yield "clock", {"clock": display.clock}
    yield "wires", {"wires": display.wires}
    yield "curves", {"curves": display.curves}
    yield "changes", {"changes": display.changes, "over": display.over}
    yield "counts", {"counts": display.counts}
    yield "ending", {"ending": display.ending}


def _of_transcript(display: Display) -> Iterator[Fragment]:
    for alone in display.alone:
        steps = frozenset([f"first-{alone.seat}"]) if alone.growing else frozenset()
        yield fragment("alone", {"alone": alone}, (alone.seat,), steps, settled=alone.look is not None)
    for closing in display.closings:
        steps = frozenset([closing.growing.step]) if closing.growing else frozenset()
        yield fragment("closing", {"closing": closing}, (closing.seat,), steps)
    for slot in display.slots:  # last, for they become more: so all pages are sent everything in one order
        steps = frozenset([slot.growing.step]) if slot.growing else frozenset()
        yield fragment("msg", {"slot": slot}, (slot.number,), steps, settled=slot.settled)
