"""Two missions side by side: what came of them, and what stands in their files."""

from collections.abc import Iterator

from runs.compared import Compared, Differs, Pair, Pairs, Side, paired

from .display import Display


def compared(a: Display, b: Display) -> Compared:
    files = paired(_files(a), _files(b))
    otherwise = [pair.name for pair in files if pair.differs]
    crews = [[(one.name, one.model) for one in display.crew] for display in (a, b)]
    return Compared(
        differs=list(_differs(a, b, otherwise, crews[0] == crews[1])),
        same=[*([] if otherwise or not files else ["files"]), *(["crew"] if crews[0] == crews[1] else [])],
        pairs=[
            Pairs("What came of it", [Pair("Result", _result(a), _result(b))]),
            *([Pairs("Files", files)] if files else []),
        ],
    )


def _result(display: Display) -> Side:
    said = (display.ending.result or display.ending.unproven) if display.ending else ""
    return Side(display.word, display.state, display.first, said)


def _files(display: Display) -> Iterator[tuple[str, Side]]:
    for file in display.files:
        yield file.path, Side(f"{file.word}, +{file.added} −{file.removed}", file.state)


def _differs(a: Display, b: Display, otherwise: list[str], crew: bool) -> Iterator[Differs]:
    if otherwise:
        yield Differs("writes", "The files.", f"Changed otherwise, or in one of the two alone: {len(otherwise)}.")
    if a.commands != b.commands:
        yield Differs("out", "The commands.", f"{a.commands} in A, {b.commands} in B.")
    if not crew:
        yield Differs("person", "The crew.", "Other agents, or other models.")
