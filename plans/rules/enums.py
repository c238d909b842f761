"""Enumerations of plans, and the table of allowed changes of a step's status."""

from enum import StrEnum


class StepStatus(StrEnum):
    PLANNED = "planned"
    AWAITING = "awaiting_feedback"
    APPROVED = "approved"
    REJECTED = "rejected"
    WORKING = "action_requested"
    COMPLETED = "completed"
    FAILED = "failed"
    SUPERSEDED = "superseded"  # dropped by a later revision


class StepEvent(StrEnum):
    ASKED = "asked"  # its gate opens
    PASSED = "passed"  # needs no approval
    APPROVE = "approve"
    REJECT = "reject"
    CHANGED = "changed"  # action, owner, tools, needs, or another text of its gate
    BEGIN = "begin"
    REPLY = "reply"
    GIVE_UP = "give_up"
    AGAIN = "again"
    SKIP = "skip"
    DROP = "drop"  # by a revision


class RevisionStatus(StrEnum):
    ORDERED = "ordered"  # not yet planned
    ASKED = "asked"  # the planner asks instead of planning
    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    REPLACED = "replaced"  # by a later one


class RevisionCause(StrEnum):
    TASK = "task"
    ANSWERS = "answers"
    REJECTION = "rejection"
    FAILURE = "failure"
    CLARIFICATION = "clarification"


class PlanOutcome(StrEnum):
    DONE = "done"
    CLAIMED = "claimed"  # a step that writes or sends is completed, but no tool call shows it
    REJECTED = "rejected"
    FAILED = "failed"


class StepEffect(StrEnum):
    """What a tool changes."""

    READS = "reads"
    WRITES = "writes"
    REACHES_OUT = "reaches_out"


class StepOwner(StrEnum):
    ASSISTANT = "ai_assistant"
    PERSON = "person"
    SERVICE = "external_service"  # an agent with all tools of one MCP server and no others


EFFECTS = list(StepEffect)  # weakest first

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
    """TRANSITIONS has no such change of a step's status."""


def next_status(status: StepStatus, event: StepEvent) -> StepStatus:
    """Return the status after the event. Raises TransitionNotAllowed if TRANSITIONS has no such row."""
    try:
        return TRANSITIONS[status, event]
    except KeyError:
        raise TransitionNotAllowed(f"A step that is {status} cannot be told {event}.") from None


def strongest(effects: list[StepEffect]) -> StepEffect:
    return max(effects, key=EFFECTS.index, default=StepEffect.READS)
