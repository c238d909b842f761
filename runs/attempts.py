"""Which retry of a question goes on, in one way for the pages and commands of all kinds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.asking import ATTEMPTS, TIMEOUTS, budget_of
from engine.llm.failures import NO_ATTEMPTS, TimedOut
from engine.models import ModelCall

WAITED_FOR = "It is asked again as soon as its provider takes requests, which costs no attempt."


@dataclass(frozen=True)
class Retry:
    """`number` of `most` that may follow such a failure. `after`: seconds of the attempt before; `lost`: of all that
    came to nothing."""

    number: int
    most: int
    after: float
    lost: float

    def __str__(self) -> str:
        return f"retry {self.number} of {self.most}"

    @property
    def heading(self) -> str:
        return str(self).capitalize()

    @property
    def in_words(self) -> str:
        after = f" after {self.after:,.0f} s" if self.after >= 1 else ""
        more = f", {self.lost:,.0f} s lost in all" if self.lost - self.after >= 1 else ""
        return f"{self}{after}{more}"


def retries_of(calls: Iterable[ModelCall]) -> dict[str, Retry]:
    """By step, the retry that goes on or comes next; of the calls of one series, oldest first."""
    failed: dict[str, list[ModelCall]] = {}
    for call in calls:
        if call.status == ModelCall.Status.FAILED and call.error_code not in NO_ATTEMPTS:
            failed.setdefault(call.step, []).append(call)
    return {step: _after(before) for step, before in failed.items()}


def _after(failed: Sequence[ModelCall]) -> Retry:
    last = failed[-1]
    budget = budget_of(last.error_code)
    number = sum(budget_of(call.error_code) == budget for call in failed)
    most = (TIMEOUTS if last.error_code == TimedOut.code else ATTEMPTS) - 1
    return Retry(number, max(number, most), last.seconds or 0.0, sum(call.seconds or 0.0 for call in failed))
