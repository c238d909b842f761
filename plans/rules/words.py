"""The words of a plan, and what becomes of a step: a table, and what is not in it does not happen."""

from enum import StrEnum


class Status(StrEnum):
    """Of a step."""

    PLANNED = "planned"
    AWAITING = "awaiting_feedback"
    APPROVED = "approved"
    REJECTED = "rejected"
    WORKING = "action_requested"
    COMPLETED = "completed"
    FAILED = "failed"
    SUPERSEDED = "superseded"  # a later revision has not taken it over


class Event(StrEnum):
    ASKED = "asked"  # its gate, or one within it, waits for an answer
    PASSED = "passed"  # its policy asks nobody
    APPROVE = "approve"
    REJECT = "reject"
    CHANGED = "changed"  # its action, owner, tools or needs, or a text that stands in its gate
    BEGIN = "begin"
    REPLY = "reply"
    GIVE_UP = "give_up"
    AGAIN = "again"
    SKIP = "skip"
    DROP = "drop"  # a revision does not take it over


class Standing(StrEnum):
    """Of a revision."""

    ORDERED = "ordered"  # something has caused it, and the planner is still to make it
    ASKED = "asked"  # the planner asks instead of planning
    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    REPLACED = "replaced"  # by a later one


class Cause(StrEnum):
    """Of a revision."""

    TASK = "task"
    ANSWERS = "answers"
    REJECTION = "rejection"
    FAILURE = "failure"
    CLARIFICATION = "clarification"


class Outcome(StrEnum):
    DONE = "done"
    CLAIMED = "claimed"  # a step that writes or sends is completed, and no tool did so
    REJECTED = "rejected"
    FAILED = "failed"


class Effect(StrEnum):
    """What a tool does beside answering."""

    READS = "reads"
    WRITES = "writes"
    REACHES_OUT = "reaches_out"


class Owner(StrEnum):
    """What kind of owner a step has."""

    ASSISTANT = "ai_assistant"
    PERSON = "person"
    SERVICE = "external_service"  # an agent that is a whole server of others


EFFECTS = list(Effect)  # from the weakest up

_BEFORE = (Status.PLANNED, Status.AWAITING, Status.APPROVED)  # a step that has not begun
AFTER: dict[tuple[Status, Event], Status] = {
    (Status.PLANNED, Event.PASSED): Status.APPROVED,
    (Status.PLANNED, Event.ASKED): Status.AWAITING,
    (Status.AWAITING, Event.APPROVE): Status.APPROVED,
    (Status.AWAITING, Event.REJECT): Status.REJECTED,
    **{(status, Event.CHANGED): Status.PLANNED for status in _BEFORE},
    **{(status, Event.DROP): Status.SUPERSEDED for status in _BEFORE},
    **{(status, Event.SKIP): Status.REJECTED for status in _BEFORE},
    (Status.APPROVED, Event.BEGIN): Status.WORKING,
    (Status.WORKING, Event.REPLY): Status.COMPLETED,
    (Status.WORKING, Event.GIVE_UP): Status.FAILED,
    (Status.WORKING, Event.SKIP): Status.FAILED,
    (Status.FAILED, Event.AGAIN): Status.WORKING,
    (Status.FAILED, Event.SKIP): Status.FAILED,
}


class NotPossible(Exception):
    """A step that stands so cannot be changed so."""


def after(status: Status, event: Event) -> Status:
    """How a step stands after this. NotPossible where the table has no line for it."""
    try:
        return AFTER[status, event]
    except KeyError:
        raise NotPossible(f"A step that is {status} cannot be told {event}.") from None


def strongest(effects: list[Effect]) -> Effect:
    return max(effects, key=EFFECTS.index, default=Effect.READS)
