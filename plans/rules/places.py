"""Position of a step that is planned again unchanged: it keeps number and approval if it comes after the same steps as
before."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class StepPlace:
    """A step in the new order. `needs`: numbers of steps; None: all before it. `is_new`: not in an earlier revision."""

    number: int
    needs: tuple[int, ...] | None
    is_new: bool = False


def place_of(step: StepPlace, placed: Sequence[StepPlace], before: Collection[int]) -> int | None:
    """Return the step's index in `placed`; None if it needs a new number.

    `before`: numbers of the steps that it came after until now. Numbers must rise from first to last. A step with
    explicit needs may move up before new steps with explicit needs: that changes neither when they start nor what they
    read.
    """
    if step.needs is None and {one.number for one in placed} != set(before):
        return None
    at = len(placed)
    while step.needs is not None and at and placed[at - 1].is_new and placed[at - 1].needs is not None:
        at -= 1
    return at if all(one.number < step.number for one in placed[:at]) else None
