"""Two debates side by side: where each member stood at the end."""

from collections.abc import Iterator, Sequence

from runs.compared import Compared, Differs, Pairs, Side, paired

from .display import Display
from .parts import Seat


def compared(a: Display, b: Display, erased: bool) -> Compared:
    pairs = paired(_stood(a), _stood(b), erased)
    turned = [pair.name for pair in pairs if pair.a and pair.b and pair.a.word != pair.b.word]
    both = sum(bool(pair.a and pair.b) for pair in pairs)
    alone = [pair.name for pair in pairs if not (pair.a and pair.b)]
    others = list(_others(a, b, erased))
    return Compared(
        differs=[*_differs(turned, both), *_members(alone, others, erased)],
        same=[
            *([] if alone or others or erased else ["members"]),
            *([] if turned or not both else ["verdicts"]),
            *_same(a, b),
        ],
        pairs=[Pairs("Final positions", pairs)],
    )


def _stood(display: Display) -> Iterator[tuple[str, Side]]:
    for seat in display.seats:
        yield seat.name, Side(seat.look.word, seat.look.state, seat.line)


def _others(a: Display, b: Display, erased: bool) -> Iterator[str]:
    """Who has the name of a member of the other one and is somebody else."""
    known = {seat.name: _made_of(seat, erased) for seat in a.seats}
    for seat in b.seats:
        if seat.name in known and _made_of(seat, erased) != known[seat.name]:
            yield seat.name


def _made_of(seat: Seat, erased: bool) -> tuple[str, ...]:
    return seat.models if erased else (*seat.models, seat.who)


def _differs(turned: Sequence[str], both: int) -> Iterator[Differs]:
    if turned:
        yield Differs("check", f"{len(turned)} of {both} verdicts.", f"Otherwise in B: {', '.join(turned)}.")


def _members(alone: Sequence[str], others: Sequence[str], erased: bool) -> Iterator[Differs]:
    said = [f"In one of the two alone: {', '.join(alone)}."] if alone else []
    if others:
        said.append(f"Of another model{'' if erased else ' or description'} in B: {', '.join(others)}.")
    if said:
        yield Differs("person", "The members.", " ".join(said))


def _same(a: Display, b: Display) -> Iterator[str]:
    if a.panel and a.panel == b.panel:
        yield "panel"
    if [row.look.word for row in a.stand.rows] == [row.look.word for row in b.stand.rows]:
        yield "options"
