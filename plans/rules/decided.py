"""What a decision does to a plan, whoever made it: a person, a council or the clock."""

from dataclasses import dataclass

from .course import Step
from .demands import Kind, Meaning
from .words import Cause, Event, Status


@dataclass(frozen=True)
class Consequence:
    """`event` happens to the step, `order` is a revision that becomes due, `accept` and `end` are about the plan."""

    event: Event | None = None
    order: Cause | None = None
    accept: bool = False
    end: bool = False


class MeansNothing(Exception):
    """It is no answer to what was asked. The text is a sentence for whoever said it."""


NOTHING = Consequence()
END = Consequence(end=True)
_OF_PLAN = {
    (Kind.PLAN, Meaning.ALL): Consequence(accept=True),
    (Kind.PLAN, Meaning.ACCEPT): Consequence(accept=True),
    (Kind.PLAN, Meaning.REVISE): Consequence(order=Cause.REJECTION),
    (Kind.QUESTION, Meaning.ANSWER): Consequence(order=Cause.ANSWERS),
    (Kind.QUESTION, Meaning.SKIP): Consequence(order=Cause.ANSWERS),
    (Kind.QUESTION, Meaning.REVISE): Consequence(order=Cause.ANSWERS),
    (Kind.BUDGET, Meaning.MORE): NOTHING,
}
_OF_STEP = {
    (Kind.STEP, Meaning.ACCEPT): Consequence(Event.APPROVE),
    (Kind.STEP, Meaning.SKIP): Consequence(Event.SKIP),
    (Kind.STEP, Meaning.REVISE): Consequence(Event.REJECT, Cause.REJECTION),
    (Kind.TOOL, Meaning.ACCEPT): NOTHING,
    (Kind.TOOL, Meaning.REFUSE): NOTHING,
    (Kind.QUESTION, Meaning.ANSWER): NOTHING,
    (Kind.SEAT, Meaning.ANSWER): Consequence(Event.REPLY),
    (Kind.SEAT, Meaning.ACCEPT): Consequence(Event.REPLY),
    (Kind.FAILURE, Meaning.AGAIN): Consequence(Event.AGAIN),
    (Kind.FAILURE, Meaning.REVISE): Consequence(order=Cause.REJECTION),
    (Kind.FAILURE, Meaning.SKIP): Consequence(Event.SKIP),
    **{(kind, Meaning.SKIP): Consequence(Event.SKIP) for kind in (Kind.TOOL, Kind.QUESTION, Kind.SEAT)},
    **{
        (kind, Meaning.REVISE): Consequence(Event.GIVE_UP, Cause.REJECTION)
        for kind in (Kind.TOOL, Kind.QUESTION, Kind.SEAT)
    },
}


def consequence(kind: Kind, meaning: Meaning, step: Step | None = None) -> Consequence:
    """What becomes of it. `step`: where it was asked about one. MeansNothing."""
    if meaning is Meaning.END:
        return END
    found = (_OF_STEP if step else _OF_PLAN).get((kind, meaning))
    if found is None:
        raise MeansNothing("A question wants an answer in words.")
    if step and meaning is Meaning.AGAIN and step.status is not Status.FAILED:
        raise MeansNothing("It has not been tried: something that it needs is missing.")
    return found
