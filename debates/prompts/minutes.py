"""What was said longer ago, on one line for each message and by rule: nobody sums up anybody's words."""

from collections.abc import Sequence

from .. import scaffold
from ..scaffold import inside, number_of
from ..table import Point

LINE = 150  # characters that a line has, where its numbers and names leave room for claims
NAME, OPTION, CLAIM = 30, 20, 12  # characters of a name and an option at most, of a claim at least
MOVED = 4


def line(shown: scaffold.Message | scaffold.Note, changed: bool) -> str:
    if isinstance(shown, scaffold.Note):
        return f"{shown.number} {_cut(shown.speaker, NAME)}: {shown.kind}"
    head = f"{shown.number} {_cut(shown.speaker, NAME)}: "
    tail = "".join(_tail(shown, changed))
    return head + _said(shown, LINE - len(head) - len(tail)) + tail


def _tail(shown: scaffold.Message, changed: bool) -> Sequence[str]:
    moved = " ".join(map(str, shown.moved_by[:MOVED])) + (" …" if len(shown.moved_by) > MOVED else "")
    now = f" | now {_cut(shown.verdict, OPTION)}{f', moved by {moved}' if moved else ''}" if changed else ""
    return [now, " | withdraws" if shown.withdrawn else ""]


def _said(shown: scaffold.Message, room: int) -> str:
    if not shown.points:
        return _cut(shown.content, max(CLAIM, room))
    heads = [_head(point, number_of(shown.number, place)) for place, point in enumerate(shown.points, 1)]
    each = (room - sum(map(len, heads)) - 2 * (len(heads) - 1)) // len(heads)
    points = zip(heads, shown.points, strict=True)
    return "; ".join(f"{head}{_cut(point.claim, max(CLAIM, each))}" for head, point in points)


def _head(point: Point, number: str) -> str:
    source = f" ({point.document}{f':{point.line}' if point.line else ''})" if point.document else ""
    answers = f" re {point.answers}" if point.answers else ""
    return f"{number}{answers} {point.side} {_cut(point.option, OPTION)}{source} "


def _cut(text: str, room: int) -> str:
    """As it stands in an element, and no longer than that; one sign for what is left out."""
    shown = inside(text[:room])
    if len(text) <= room and len(shown) <= room:
        return shown
    kept = next(length for length in range(min(room, len(text)), -1, -1) if len(inside(text[:length])) < room)
    return f"{inside(text[:kept]).rstrip()}…"
