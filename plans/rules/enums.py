"""The words of a plan, and what becomes of a step: a table, and what is not in it does not happen."""

from enum import StrEnum


class StepStatus(StrEnum):
    """Of a step."""

    PLANNED = "planned"
    AWAITING = "awaiting_feedback"
    APPROVED = "approved"
    REJECTED = "rejected"
    WORKING = "action_requested"
    COMPLETED = "completed"
    FAILED = "failed"
    SUPERSEDED = "superseded"  # a later revision has not taken it over


class StepEvent(StrEnum):
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


class RevisionStatus(StrEnum):
    """Of a revision."""

    ORDERED = "ordered"  # something has caused it, and the planner is still to make it
    ASKED = "asked"  # the planner asks instead of planning
    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    REPLACED = "replaced"  # by a later one


class RevisionCause(StrEnum):
    """Of a revision."""

    TASK = "task"
    ANSWERS = "answers"
    REJECTION = "rejection"
    FAILURE = "failure"
    CLARIFICATION = "clarification"


class PlanOutcome(StrEnum):
    DONE = "done"
    CLAIMED = "claimed"  # a step that writes or sends is completed, and no tool did so
    REJECTED = "rejected"
    FAILED = "failed"


class StepEffect(StrEnum):
    """What a tool does beside answering."""

    READS = "reads"
    WRITES = "writes"
    REACHES_OUT = "reaches_out"


class StepOwner(StrEnum):
    """What kind of owner a step has."""

    ASSISTANT = "ai_assistant"
    PERSON = "person"
    SERVICE = "external_service"  # an agent that is a whole server of others


EFFECTS = list(StepEffect)  # from the weakest up

_BEFORE = (StepStatus.PLANNED, StepStatus.AWAITING, StepStatus.APPROVED)  # a step that has not begun
TRANSITIONS: dict[tuple[StepStatus, StepEvent], StepStatus] = {
    (StepStatus.PLANNED, StepEvent.PASSED): StepStatus.APPROVED,
    (StepStatus.PLANNED, StepEvent.ASKED): StepStatus.AWAITING,
    (StepStatus.AWAITING, StepEvent.APPROVE): StepStatus.APPROVED,
    (StepStatus.AWAITING, StepEvent.REJECT): StepStatus.REJECTED,
    **{(status, StepEvent.CHANGED): StepStatus.PLANNED for status in _BEFORE},
    **{(status, StepEvent.DROP): StepStatus.SUPERSEDED for status in _BEFORE},
    **{(status, StepEvent.SKIP): StepStatus.REJECTED for status in _BEFORE},
    (StepStatus.APPROVED, StepEvent.BEGIN): StepStatus.WORKING,
    (StepStatus.WORKING, StepEvent.REPLY): StepStatus.COMPLETED,
    (StepStatus.WORKING, StepEvent.GIVE_UP): StepStatus.FAILED,
    (StepStatus.WORKING, StepEvent.SKIP): StepStatus.FAILED,
    (StepStatus.FAILED, StepEvent.AGAIN): StepStatus.WORKING,
    (StepStatus.FAILED, StepEvent.SKIP): StepStatus.FAILED,
}


class TransitionNotAllowed(Exception):
    """A step that stands so cannot be changed so."""


def next_status(status: StepStatus, event: StepEvent) -> StepStatus:
    """Return the status after the event. Raises TransitionNotAllowed if TRANSITIONS has no such row."""
    try:
        return TRANSITIONS[status, event]
    except KeyError:
        raise TransitionNotAllowed(f"A step that is {status} cannot be told {event}.") from None


def strongest(effects: list[StepEffect]) -> StepEffect:
    return max(effects, key=EFFECTS.index, default=StepEffect.READS)
