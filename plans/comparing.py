"""Two plans side by side, step by step."""

from collections.abc import Iterator
from itertools import zip_longest

from runs.compared import Compared, Differs, Pair, Pairs, Side

from .display import Display, StepShown


def compared(a: Display, b: Display, erased: bool) -> Compared:
    steps = [_pair(*both, erased) for both in zip_longest(a.steps, b.steps)]
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


def _pair(a: StepShown | None, b: StepShown | None, erased: bool) -> Pair:
    """Those of one place, each by its own number: a revision leaves some out."""
    numbers = [step.number for step in (a, b) if step]
    name = f"Step {numbers[0]}" if len(set(numbers)) == 1 else "Step {} in A, {} in B".format(*numbers)
    return Pair(name, _side(a), _side(b), erased=erased)


def _side(step: StepShown | None) -> Side | None:
    if step is None:
        return None
    return Side(f"{step.owner}: {step.word.lower()}", step.state, text=step.action)


def _differs(a: Display, b: Display, otherwise: int, of: int, erased: bool) -> Iterator[Differs]:
    if otherwise:
        what = "owner or end" if erased else "action, owner or end"
        yield Differs("check", f"{otherwise} of {of} steps.", f"Framed: another {what} in the other one.")
    if a.team != b.team:
        yield Differs("person", "The team.", f"{a.team} in A, {b.team} in B.")
