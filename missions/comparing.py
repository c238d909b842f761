"""Two missions side by side: what came of them, and what stands in their files."""

from collections.abc import Iterator

from runs.compared import Compared, Differs, Pair, Pairs, Side, paired

from .display import Display

Crew = list[tuple[str, ...]]


def compared(a: Display, b: Display, erased: bool) -> Compared:
    files = [] if erased else paired(_files(a), _files(b))
    otherwise = sum(pair.differs for pair in files)
    same_crew = _crew(a, erased) == _crew(b, erased)
    return Compared(
        differs=list(_differs(a, b, otherwise, same_crew)),
        same=[*(["changed files"] if files and not otherwise else []), *(["crew"] if same_crew and not erased else [])],
        pairs=[
            Pairs("What came of it", [Pair("Result", _result(a), _result(b), erased=erased)]),
            *([Pairs("Files", files)] if files else []),
        ],
    )


def _crew(display: Display, erased: bool) -> Crew:
    """By name, model and what is written of each, where that is still there."""
    return [(one.name, one.model, *([] if erased else [one.description])) for one in display.agents]


def _result(display: Display) -> Side:
    said = (display.ending.result or display.ending.unproven) if display.ending else ""
    return Side(display.word, display.state, display.first, said)


def _files(display: Display) -> Iterator[tuple[str, Side]]:
    for file in display.files:
        yield file.path, Side(file.word, file.state, f"+{file.added} −{file.removed}", digest=file.digest)


def _differs(a: Display, b: Display, otherwise: int, same_crew: bool) -> Iterator[Differs]:
    if otherwise:
        yield Differs("writes", "The files.", f"Changed otherwise, or in one of the two alone: {otherwise}.")
    if a.commands != b.commands:
        yield Differs("out", "The commands.", f"{a.commands} in A, {b.commands} in B.")
    if not same_crew:
        yield Differs("person", "The crew.", "Other agents, or other models or descriptions.")
