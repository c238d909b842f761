"""Current retries of model calls, for the pages and commands of all procedures."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.llm.errors import CallTimedOut
from engine.models import ModelCall
from engine.runtime.model_request import ATTEMPTS, TIMEOUTS, budget_of

WAITED_FOR = "It is asked again when its provider takes requests. Waiting does not count as an attempt."


@dataclass(frozen=True)
class Retry:
    """A retry: `number` of `most` after such a failure. `after` is the duration of the previous attempt in seconds."""

    number: int
    most: int
    after: float

    def __str__(self) -> str:
        return f"retry {self.number} of {self.most}"

    @property
    def heading(self) -> str:
        return str(self).capitalize()

    @property
    def in_words(self) -> str:
        return f"{self} after {self.after:,.0f} s" if self.after >= 1 else str(self)


def retries_of(calls: Iterable[ModelCall]) -> dict[str, Retry]:
    """Return the current or next retry by step; `calls` are those of one series, oldest first."""
    failed: dict[str, list[ModelCall]] = {}
    for call in calls:
        if call.lost:
            failed.setdefault(call.step, []).append(call)
    return {step: _after(before) for step, before in failed.items()}


def _after(failed: Sequence[ModelCall]) -> Retry:
    last = failed[-1]
    budget = budget_of(last.error_code)
    number = sum(budget_of(call.error_code) == budget for call in failed)
    most = (TIMEOUTS if last.error_code == CallTimedOut.code else ATTEMPTS) - 1
    return Retry(number, max(number, most), last.seconds or 0.0)
