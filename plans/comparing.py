"""Two plans side by side, step by step."""

from collections.abc import Iterator

from runs.compared import Compared, Differs, Pairs, Side, paired

from .display import Display


def compared(a: Display, b: Display, erased: bool) -> Compared:
    steps = paired(_steps(a), _steps(b), erased)
    otherwise = sum(pair.differs for pair in steps)
    return Compared(
        differs=list(_differs(a, b, otherwise, len(steps), erased)),
        same=[
            *(["number of steps" if erased else "steps"] if steps and _is_same(a, b, otherwise, erased) else []),
            *(["team"] if a.team == b.team else []),
        ],
        pairs=[Pairs("Steps", steps)] if steps else [],
    )


def _is_same(a: Display, b: Display, otherwise: int, erased: bool) -> bool:
    return len(a.steps) == len(b.steps) if erased else not otherwise


def _steps(display: Display) -> Iterator[tuple[str, Side]]:
    for step in display.steps:
        yield f"Step {step.place}", Side(f"{step.owner}: {step.word.lower()}", step.state, text=step.action)


def _differs(a: Display, b: Display, otherwise: int, of: int, erased: bool) -> Iterator[Differs]:
    if otherwise:
        what = "owner or end" if erased else "action, owner or end"
        yield Differs("check", f"{otherwise} of {of} steps.", f"Framed: another {what} in the other one.")
    if a.team != b.team:
        yield Differs("person", "The team.", f"{a.team} in A, {b.team} in B.")
