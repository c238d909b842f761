"""Two missions side by side: their results and the files that they changed."""

from collections.abc import Iterator

from runs.procedure.comparison_parts import (
    ComparedPair,
    ComparedPairs,
    ComparedRun,
    ComparisonResult,
    Difference,
    pair_texts,
)

from .display import MissionDisplay

Crew = list[tuple[str, ...]]


def compare_missions(a: MissionDisplay, b: MissionDisplay, erased: bool) -> ComparisonResult:
    files = [] if erased else pair_texts(_files(a), _files(b))
    otherwise = sum(pair.differs for pair in files)
    same_crew = _crew(a, erased) == _crew(b, erased)
    return ComparisonResult(
        differs=list(_differs(a, b, otherwise, same_crew)),
        same=[*(["changed files"] if files and not otherwise else []), *(["crew"] if same_crew and not erased else [])],
        pairs=[
            ComparedPairs("What came of it", [ComparedPair("Result", _result(a), _result(b), erased=erased)]),
            *([ComparedPairs("Files", files)] if files else []),
        ],
    )


def _crew(display: MissionDisplay, erased: bool) -> Crew:
    """Name, model and description of each agent; without descriptions where texts were erased."""
    return [(one.name, one.model, *([] if erased else [one.description])) for one in display.agents]


def _result(display: MissionDisplay) -> ComparedRun:
    said = (display.ending.result or display.ending.unproven) if display.ending else ""
    return ComparedRun(display.word, display.state, display.first, said)


def _files(display: MissionDisplay) -> Iterator[tuple[str, ComparedRun]]:
    for file in display.files:
        yield file.path, ComparedRun(file.word, file.state, f"+{file.added} −{file.removed}", digest=file.digest)


def _differs(a: MissionDisplay, b: MissionDisplay, otherwise: int, same_crew: bool) -> Iterator[Difference]:
    if otherwise:
        yield Difference("writes", "The files.", f"Changed otherwise, or in one of the two alone: {otherwise}.")
    if a.commands != b.commands:
        yield Difference("out", "The commands.", f"{a.commands} in A, {b.commands} in B.")
    if not same_crew:
        yield Difference("person", "The crew.", "Other agents, or other models or descriptions.")
