"""Two plans side by side, step by step."""

from collections.abc import Iterator

from runs.compared import Compared, Differs, Pairs, Side, paired

from .display import Display


def compared(a: Display, b: Display) -> Compared:
    steps = paired(_steps(a), _steps(b))
    otherwise = [pair for pair in steps if pair.differs]
    return Compared(
        differs=list(_differs(a, b, len(otherwise), len(steps))),
        same=[*([] if otherwise or not steps else ["steps"]), *(["team"] if a.team == b.team else [])],
        pairs=[Pairs("Steps", steps)] if steps else [],
    )


def _steps(display: Display) -> Iterator[tuple[str, Side]]:
    for step in display.steps:
        yield f"Step {step.place}", Side(f"{step.owner}: {step.word.lower()}", step.state, text=step.action)


def _differs(a: Display, b: Display, otherwise: int, of: int) -> Iterator[Differs]:
    if otherwise:
        yield Differs("check", f"{otherwise} of {of} steps.", "Framed: another action, owner or end in the other one.")
    if a.team != b.team:
        yield Differs("person", "The team.", f"{a.team} in A, {b.team} in B.")
