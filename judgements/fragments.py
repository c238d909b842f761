"""The parts of a judgement's live page that change."""

from collections.abc import Iterator
from functools import partial

from runs.fragments import Fragment, fragment_of

from . import rules
from .display import Display
from .parts import Cell

OF_JUDGEMENT = ("plate", "stamp", "chips", "verdict_sub", "verdict_meta", "matrix", "decided", "tr_empty")
NOT_REPLAYED = ("actions", "kept", "replay", "announcer")
OF_AGENT = ("agent_state", "agent_tally", "agent_dstate", "agent_sum")
WITH_TEXT = ("agent_reason", "agent_rounds")

fragment = partial(fragment_of, "judgements")


def fragments(display: Display) -> Iterator[Fragment]:
    """Every fragment, the socket last: when nothing can change any more it goes, and with it the way for any other."""
    shown = {"display": display}
    yield from (fragment(name, shown) for name in OF_JUDGEMENT)
    yield from (fragment(name, shown, replayed=False) for name in NOT_REPLAYED)
    for seat in display.seats:
        growing = _growing(seat.cells)
        for name in (*OF_AGENT, *WITH_TEXT):
            steps = growing if name in WITH_TEXT else frozenset()
            yield fragment(name, {"seat": seat}, (seat.number,), steps)
    for cell in (cell for number in display.rounds for cell in number.cells):
        yield fragment("cell", {"cell": cell}, (cell.round, cell.number), _growing([cell]))
    if display.final:
        yield fragment("socket", shown, replayed=False)


def _growing(cells: "Iterator[Cell] | tuple[Cell, ...] | list[Cell]") -> frozenset[str]:
    """Whose reasons are growing right now, as steps of the run."""
    return frozenset(f"{rules.SEATS[cell.number - 1]}{cell.round}" for cell in cells if cell.running)
