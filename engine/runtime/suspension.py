"""How a run lets go of its worker before it is over: it waits, or it lets others go first.

Why so: engine/DESIGN.md, Waiting.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

from ..llm.errors import RunFailed

T = TypeVar("T")


class Suspend(Exception):
    """A run cannot go on before something happens outside of it. The engine parks it; a procedure never catches this.

    `why`: for whom or for what, in a sentence for people, where no gate says it. `until`: when it goes on by itself.
    """

    def __init__(self, why: str = "", until: datetime | None = None) -> None:
        super().__init__(why)
        self.why, self.until = why, until


class Yield(Exception):
    """A run could go on and lets others go first. A procedure never catches this."""


def split_outcomes(outcomes: Sequence[Any]) -> list[Any]:
    """What came of branches that have all ended: a fault of ours first, else the first failure, else the wait."""
    raised = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    for fault in raised:
        if not isinstance(fault, RunFailed | Suspend):
            raise fault
    for failure in raised:
        if isinstance(failure, RunFailed):
            raise failure
    if waits := [one for one in raised if isinstance(one, Suspend)]:
        raise earliest_wait(waits)
    return list(outcomes)


def earliest_wait(waits: Sequence[Suspend]) -> Suspend:
    """All of these in one: until the first of their times, for the first reason that was given."""
    why = next((one.why for one in waits if one.why), "")
    return Suspend(why, min((one.until for one in waits if one.until), default=None))
