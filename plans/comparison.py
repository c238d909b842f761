"""Two plans side by side, step by step."""

from collections.abc import Iterator
from itertools import zip_longest

from runs.procedure.comparison_parts import ComparedPair, ComparedPairs, ComparedRun, ComparisonResult, Difference

from .display import PlanDisplay, StepView


def compare_plans(a: PlanDisplay, b: PlanDisplay, erased: bool) -> ComparisonResult:
    steps = [_pair(*both, erased) for both in zip_longest(a.steps, b.steps)]
    otherwise = sum(pair.differs for pair in steps)
    return ComparisonResult(
        differs=list(_differs(a, b, otherwise, len(steps), erased)),
        same=[
            *(["number of steps" if erased else "steps"] if steps and _is_same(a, b, otherwise, erased) else []),
            *(["team"] if a.team == b.team else []),
        ],
        pairs=[ComparedPairs("Steps", steps)] if steps else [],
    )


def _is_same(a: PlanDisplay, b: PlanDisplay, otherwise: int, erased: bool) -> bool:
    return len(a.steps) == len(b.steps) if erased else not otherwise


def _pair(a: StepView | None, b: StepView | None, erased: bool) -> ComparedPair:
    """Pair the steps at one position; their numbers may differ, since a revision leaves numbers out."""
    numbers = [step.number for step in (a, b) if step]
    name = f"Step {numbers[0]}" if len(set(numbers)) == 1 else "Step {} in A, {} in B".format(*numbers)
    return ComparedPair(name, _side(a), _side(b), erased=erased)


def _side(step: StepView | None) -> ComparedRun | None:
    if step is None:
        return None
    return ComparedRun(f"{step.owner}: {step.word.lower()}", step.state, text=step.action)


def _differs(a: PlanDisplay, b: PlanDisplay, otherwise: int, of: int, erased: bool) -> Iterator[Difference]:
    if otherwise:
        what = "owner or end" if erased else "action, owner or end"
        yield Difference("check", f"{otherwise} of {of} steps.", f"Framed: another {what} in the other one.")
    if a.team != b.team:
        yield Difference("person", "The team.", f"{a.team} in A, {b.team} in B.")
