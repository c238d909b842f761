"""Two debates side by side: where each member stood at the end."""

from collections.abc import Iterator

from runs.compared import Compared, Differs, Pairs, Side, paired

from .display import Display


def compared(a: Display, b: Display) -> Compared:
    pairs = paired(_stood(a), _stood(b))
    turned = [pair.name for pair in pairs if pair.a and pair.b and pair.a.word != pair.b.word]
    both = sum(bool(pair.a and pair.b) for pair in pairs)
    alone = [pair.name for pair in pairs if not (pair.a and pair.b)]
    return Compared(
        differs=list(_differs(alone, turned, both)),
        same=[*([] if alone else ["members"]), *([] if turned or not both else ["verdicts"]), *_same(a, b)],
        pairs=[Pairs("Where they stood", pairs)],
    )


def _stood(display: Display) -> Iterator[tuple[str, Side]]:
    for seat in display.seats:
        yield seat.name, Side(seat.look.word, seat.look.state, seat.line)


def _differs(alone: list[str], turned: list[str], both: int) -> Iterator[Differs]:
    if turned:
        yield Differs("check", f"{len(turned)} of {both} verdicts.", f"Otherwise in B: {', '.join(turned)}.")
    if alone:
        yield Differs("person", "The members.", f"In one of the two alone: {', '.join(alone)}.")


def _same(a: Display, b: Display) -> Iterator[str]:
    if a.panel and a.panel == b.panel:
        yield "panel"
    if [row.look.word for row in a.stand.rows] == [row.look.word for row in b.stand.rows]:
        yield "options"
