"""Chart of the members' verdicts over the messages: one bar each, with messages, changes and named reasons."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..models import DebateMember
from ..rules import state as rules
from ..rules.state import VerdictChange
from .context import DebatePageContext
from .sentences import sentence_of_named
from .view_model import MISSING, OptionStyle

BEGIN, END = 168, 562  # of the axis, in a drawing 576 wide
HEAD, HIGH, FOOT = 24, 30, 12
MIDDLE, DOTS = 14, 25  # y of a rail's bar, and of the dots below
NAME_LENGTH = 18
RADIUS = 11


@dataclass(frozen=True)
class ChartMark:
    """A verdict on a rail, where it was first stated or changed."""

    x: str
    look: OptionStyle
    y: int = MIDDLE


@dataclass(frozen=True)
class ChartStretch:
    """A bar from where a verdict was stated to its change, or to the end of the axis."""

    x: str
    width: str
    state: str
    pattern: str


@dataclass(frozen=True)
class MemberRail:
    seat: int
    name: str
    alone: OptionStyle | None
    stretches: tuple[ChartStretch, ...]
    marks: tuple[ChartMark, ...]
    dots: str


@dataclass(frozen=True)
class ChartTick:
    x: str
    at: int


@dataclass(frozen=True)
class InfluenceCurve:
    """A curve from the named message to the change."""

    path: str
    x: str
    y: int


@dataclass(frozen=True)
class ChartCurves:
    """The layer above the rails. The part right of `now` is in the future, and is covered except for the `lines`."""

    height: int
    bottom: int
    ticks: tuple[ChartTick, ...]
    lines: str
    now: str
    ahead: str
    curves: tuple[InfluenceCurve, ...]
    newest: tuple[ChartMark, ...]  # those so near to now that they would be covered
    text: str


@dataclass(frozen=True)
class ChartChange:
    """A change in words."""

    number: int
    name: str
    before: OptionStyle
    look: OptionStyle
    sentence: str


def x_of(scene: DebatePageContext, clock: int) -> float:
    return _x(clock, scene.course.most)


def _x(clock: int, most: int) -> float:
    return BEGIN + (END - BEGIN) * clock / most


def _place(number: float) -> str:
    """Format a coordinate as short as possible: it is sent at every update."""
    return f"{number:.1f}".removesuffix(".0")


def rails_of(scene: DebatePageContext) -> tuple[MemberRail, ...]:
    return tuple(_rail(scene, member) for member in scene.seated)


def _rail(scene: DebatePageContext, member: DebateMember) -> MemberRail:
    stood = list(_stood(scene, member.seat))
    ends = [clock for clock, _ in stood[1:]] + [scene.course.most]
    spans = zip(stood, ends, strict=False)
    return MemberRail(
        seat=member.seat,
        name=shortened(member.name),
        alone=_alone(scene, member),
        stretches=tuple(_stretch(scene, begin, end, look) for (begin, look), end in spans),
        marks=tuple(ChartMark(_place(x_of(scene, clock)), look) for clock, look in stood),
        dots="".join(_dot(one.clock, scene.course.most) for one in scene.said_by.get(member.seat, ()) if one.clock),
    )


def shortened(name: str) -> str:
    return name if len(name) <= NAME_LENGTH else f"{name[: NAME_LENGTH - 1].rstrip()}…"


def _stood(scene: DebatePageContext, seat: int) -> Iterator[tuple[int, OptionStyle]]:
    """Yield clock and verdict of each change, without repetitions."""
    before = ""
    for one in scene.stated_by.get(seat, ()):
        if one.verdict != before:
            yield scene.clock_at(one.number), scene.option_style(one.verdict)
            before = one.verdict


def _stretch(scene: DebatePageContext, begin: int, end: int, look: OptionStyle) -> ChartStretch:
    x = x_of(scene, begin)
    return ChartStretch(_place(x), _place(x_of(scene, end) - x), look.state, look.pattern)


@lru_cache(8 * rules.MOST)
def _dot(clock: int, most: int) -> str:
    """Return a path, cached: there is one for every message, at every update."""
    return f"M{_place(_x(clock, most))} {DOTS}h0"


def _alone(scene: DebatePageContext, member: DebateMember) -> OptionStyle | None:
    first = scene.firsts.get(member.seat)
    if first is None:
        return None
    return MISSING if first.missing else scene.option_style(first.said_in(scene.debate))


# ---- the layer above --------------------------------------------------------------------------------------


def curves_of(scene: DebatePageContext) -> ChartCurves:
    number = len(scene.seated)
    bottom = HEAD + HIGH * number
    now = x_of(scene, scene.course.clock)
    return ChartCurves(
        height=bottom + FOOT,
        bottom=bottom,
        ticks=tuple(ChartTick(_place(x_of(scene, clock)), clock) for clock in _deadlines(scene)),
        lines="".join(f"M{_place(now)} {_y(place)}H{END}" for place in range(number)),
        now=_place(now),
        ahead=_place(max(0, END - now) + 2),
        curves=tuple(_curves(scene)),
        newest=tuple(_newest(scene, now)),
        text=_text(scene),
    )


def _newest(scene: DebatePageContext, now: float) -> Iterator[ChartMark]:
    for seat, place in scene.places.items():
        for clock, look in _stood(scene, seat):
            if x_of(scene, clock) > now - RADIUS:
                yield ChartMark(_place(x_of(scene, clock)), look, _y(place))


def _deadlines(scene: DebatePageContext) -> Sequence[int]:
    most = scene.course.most
    return [*range(rules.SPAN, most, rules.SPAN), most]


def _y(place: int) -> int:
    return HEAD + HIGH * place + MIDDLE


def _curves(scene: DebatePageContext) -> Iterator[InfluenceCurve]:
    for change in scene.course.changes:
        for named in change.moved_by:
            message = scene.messages_by_number.get(named)
            if message and message.seat and message.seat in scene.places:
                yield _curve(scene, change, named, message.seat)


def _curve(scene: DebatePageContext, change: VerdictChange, named: int, seat: int) -> InfluenceCurve:
    x1, x2 = x_of(scene, scene.clock_at(named)), x_of(scene, scene.clock_at(change.number))
    begin, end = _y(scene.places[seat]), _y(scene.places[change.seat])
    y1, y2 = begin + DOTS - MIDDLE, end + (-10 if begin < end else 10)
    middle = (y1 + y2) / 2
    points = [(x1, y1), (x1, middle), (x2, middle), (x2, y2)]
    first, *rest = (f"{_place(x)} {_place(y)}" for x, y in points)
    return InfluenceCurve(f"M{first}C{' '.join(rest)}", _place(x1), y1)


def _text(scene: DebatePageContext) -> str:
    said = scene.course.clock
    return f"Verdict of each member over {said} messages. The changes are listed below in words."


# ---- the same in words ------------------------------------------------------------------------------------


def changes_of(scene: DebatePageContext) -> tuple[ChartChange, ...]:
    return tuple(
        ChartChange(
            one.number,
            scene.name(one.seat),
            scene.option_style(one.before),
            scene.option_style(one.verdict),
            sentence_of_named(scene, one),
        )
        for one in scene.course.changes
    )
