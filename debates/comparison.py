"""Comparison of two debates: the positions of their members at the end."""

from collections.abc import Iterator, Sequence

from runs.procedure.comparison_parts import ComparedPairs, ComparedRun, ComparisonResult, Difference, pair_texts

from .page.display import DebateDisplay
from .page.view_model import MemberView


def compare_debates(a: DebateDisplay, b: DebateDisplay, erased: bool) -> ComparisonResult:
    pairs = pair_texts(_stood(a), _stood(b), erased)
    turned = [pair.name for pair in pairs if pair.a and pair.b and pair.a.word != pair.b.word]
    both = sum(bool(pair.a and pair.b) for pair in pairs)
    alone = [pair.name for pair in pairs if not (pair.a and pair.b)]
    others = list(_others(a, b, erased))
    return ComparisonResult(
        differs=[*_differs(turned, both), *_members(alone, others, erased)],
        same=[
            *([] if alone or others or erased else ["members"]),
            *([] if turned or not both else ["verdicts"]),
            *_same(a, b),
        ],
        pairs=[ComparedPairs("Final positions", pairs)],
    )


def _stood(display: DebateDisplay) -> Iterator[tuple[str, ComparedRun]]:
    for seat in display.seats:
        yield seat.name, ComparedRun(seat.look.word, seat.look.state, seat.line)


def _others(a: DebateDisplay, b: DebateDisplay, erased: bool) -> Iterator[str]:
    """Yield the names that belong to different members in the two debates."""
    known = {seat.name: _made_of(seat, erased) for seat in a.seats}
    for seat in b.seats:
        if seat.name in known and _made_of(seat, erased) != known[seat.name]:
            yield seat.name


def _made_of(seat: MemberView, erased: bool) -> tuple[str, ...]:
    return seat.models if erased else (*seat.models, seat.who)


def _differs(turned: Sequence[str], both: int) -> Iterator[Difference]:
    if turned:
        yield Difference("check", f"{len(turned)} of {both} verdicts.", f"Otherwise in B: {', '.join(turned)}.")


def _members(alone: Sequence[str], others: Sequence[str], erased: bool) -> Iterator[Difference]:
    said = [f"In one of the two alone: {', '.join(alone)}."] if alone else []
    if others:
        said.append(f"Of another model{'' if erased else ' or description'} in B: {', '.join(others)}.")
    if said:
        yield Difference("person", "The members.", " ".join(said))


def _same(a: DebateDisplay, b: DebateDisplay) -> Iterator[str]:
    if a.panel and a.panel == b.panel:
        yield "panel"
    if [row.look.word for row in a.stand.rows] == [row.look.word for row in b.stand.rows]:
        yield "options"
