"""Drawing of the table: who speaks to whom, and the marks of the clock. The styles place the seats at the same
points."""

from dataclasses import dataclass
from math import cos, hypot, pi, sin

from ..rules import state as rules
from ..rules.state import MessageState, TurnReason
from .context import DebatePageContext
from .sentences import ORDINALS
from .view_model import ClockView

UNIT = 1000  # half of the distance between the outermost seats
ROUND_CLOCK = 520  # minimum distance of a line from the middle
ARROW_LENGTH = 52
SHOWN_BEFORE = 2  # exchanges before the current one


@dataclass(frozen=True)
class SpeechLine:
    """A line between two seats; `tip` is an arrow in its middle."""

    path: str
    tip: str = ""


@dataclass(frozen=True)
class SpeechLines:
    now: tuple[SpeechLine, ...]
    before: tuple[SpeechLine, ...]


def speech_lines(scene: DebatePageContext) -> SpeechLines:
    talks = [] if scene.course.because else scene.course.messages_said[-SHOWN_BEFORE - 1 :]
    if scene.over:
        return SpeechLines((), tuple(_wires(scene, scene.course.messages_said[-SHOWN_BEFORE:])))
    now = _now(scene, talks[-1] if talks else None)
    return SpeechLines(now, tuple(_wires(scene, talks[-SHOWN_BEFORE:] if not now else talks[-SHOWN_BEFORE - 1 : -1])))


def _now(scene: DebatePageContext, last: MessageState | None) -> tuple[SpeechLine, ...]:
    """Return the line from the answering member to the one that asked."""
    turn = scene.open_turn
    if not turn or turn.why != TurnReason.REPLY or not last or last.seat is None:
        return ()
    return (_wire(scene, turn.seat, last.seat, pointed=True),)


def _wires(scene: DebatePageContext, messages: list[MessageState]) -> list[SpeechLine]:
    spoken = ((one.seat, to) for one in messages for to in one.to if one.seat and to != one.seat)
    return [_wire(scene, seat, to) for seat, to in dict.fromkeys(spoken)]


def _wire(scene: DebatePageContext, seat: int, to: int, *, pointed: bool = False) -> SpeechLine:
    """Return a curve around the clock."""
    (x1, y1), (x2, y2) = _place(scene, seat), _place(scene, to)
    cx, cy = _bend(x1, y1, x2, y2)
    path = f"M{_point(x1, y1)}Q{_point(cx, cy)} {_point(x2, y2)}"
    return SpeechLine(path, _tip((x1 + 2 * cx + x2) / 4, (y1 + 2 * cy + y2) / 4, x2 - x1, y2 - y1) if pointed else "")


def _place(scene: DebatePageContext, seat: int) -> tuple[float, float]:
    """Return the point of a seat, clockwise from the top in seat order."""
    angle = 2 * pi * scene.places[seat] / len(scene.seated)
    return UNIT * sin(angle), -UNIT * cos(angle)


def _bend(x1: float, y1: float, x2: float, y2: float) -> tuple[float, float]:
    """Return the control point that keeps the curve's middle away from the clock."""
    mx, my = (x1 + x2) / 2, (y1 + y2) / 2
    away = hypot(mx, my)
    ux, uy = (mx / away, my / away) if away > 1 else ((y2 - y1) / (2 * UNIT), (x1 - x2) / (2 * UNIT))
    pulled = 2 * max(away * 1.06, ROUND_CLOCK) - away
    return ux * pulled, uy * pulled


def _tip(x: float, y: float, dx: float, dy: float) -> str:
    """Return an arrowhead at this point, in this direction."""
    length = hypot(dx, dy) or 1
    ux, uy = ARROW_LENGTH * dx / length, ARROW_LENGTH * dy / length
    one, other = (x - ux - uy / 1.6, y - uy + ux / 1.6), (x - ux + uy / 1.6, y - uy - ux / 1.6)
    return f"M{_point(*one)}L{_point(x, y)}L{_point(*other)}"


def _point(x: float, y: float) -> str:
    return f"{x:.0f} {y:.0f}"


# ---- the clock --------------------------------------------------------------------------------------------


def _mark(number: int) -> str:
    """Return one mark of the clock; longer where a note is due."""
    angle = 2 * pi * number / rules.SPAN
    ends = (78, 96) if number % rules.REMINDER_EVERY == 0 else (82, 96)
    inner, outer = (_point(100 + away * sin(angle), 100 - away * cos(angle)) for away in ends)
    return f"M{inner}L{outer}"


MARKS = tuple(map(_mark, range(rules.SPAN)))


def clock_marks(scene: DebatePageContext) -> ClockView:
    said, most = scene.course.clock, scene.course.most
    used = said % rules.SPAN
    if scene.over or scene.course.because:
        return _clock(said, f"of {most} messages", used or (rules.SPAN if said else 0))
    return _clock(scene.course.messages_left, f"to the {_which(said, most)} deadline", used)


def _which(said: int, most: int) -> str:
    number = said // rules.SPAN
    return "last" if (number + 1) * rules.SPAN >= most else ORDINALS[number]


def _clock(number: int, label: str, used: int) -> ClockView:
    return ClockView(number, label, "".join(MARKS[:used]), "".join(MARKS[used:]))
