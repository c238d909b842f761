"""Where a step stands that is planned again as it was: it keeps its number, and what was decided about it, as long as
it comes after the same steps as before."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class StepPlace:
    """`needs`: numbers of steps; None: all before it. `is_new`: no earlier revision has it."""

    number: int
    needs: tuple[int, ...] | None
    is_new: bool = False


def place_of(step: StepPlace, placed: Sequence[StepPlace], before: Collection[int]) -> int | None:
    """Its index among those that come before it in the new plan; None where it gets a new number.

    `before`: what it came after until now. Numbers rise from the first step to the last. A step that names what it
    needs is moved up before new steps that do so, too: none of them begins or learns anything else by that.
    """
    if step.needs is None and {one.number for one in placed} != set(before):
        return None
    at = len(placed)
    while step.needs is not None and at and placed[at - 1].is_new and placed[at - 1].needs is not None:
        at -= 1
    return at if all(one.number < step.number for one in placed[:at]) else None
