"""What a decision does to a plan, whoever made it: a person, a council or the clock."""

from dataclasses import dataclass

from .approval_policy import ApprovalKind, DecisionMeaning
from .enums import RevisionCause, StepEvent, StepStatus
from .scheduling import StepSituation


@dataclass(frozen=True)
class DecisionEffect:
    """`event` is applied to the step; `order` causes a revision; `accept` and `end` are about the plan."""

    event: StepEvent | None = None
    order: RevisionCause | None = None
    accept: bool = False
    end: bool = False


class DecisionHasNoEffect(Exception):
    """The decision does not fit the gate; the text is shown to whoever decided."""


NOTHING = DecisionEffect()
END = DecisionEffect(end=True)
_OF_PLAN = {
    (ApprovalKind.PLAN, DecisionMeaning.ALL): DecisionEffect(accept=True),
    (ApprovalKind.PLAN, DecisionMeaning.ACCEPT): DecisionEffect(accept=True),
    (ApprovalKind.PLAN, DecisionMeaning.REVISE): DecisionEffect(order=RevisionCause.REJECTION),
    (ApprovalKind.QUESTION, DecisionMeaning.ANSWER): DecisionEffect(order=RevisionCause.ANSWERS),
    (ApprovalKind.QUESTION, DecisionMeaning.SKIP): DecisionEffect(order=RevisionCause.ANSWERS),
    (ApprovalKind.QUESTION, DecisionMeaning.REVISE): DecisionEffect(order=RevisionCause.ANSWERS),
    (ApprovalKind.BUDGET, DecisionMeaning.MORE): NOTHING,
}
_OF_STEP = {
    (ApprovalKind.STEP, DecisionMeaning.ACCEPT): DecisionEffect(StepEvent.APPROVE),
    (ApprovalKind.STEP, DecisionMeaning.SKIP): DecisionEffect(StepEvent.SKIP),
    (ApprovalKind.STEP, DecisionMeaning.REVISE): DecisionEffect(StepEvent.REJECT, RevisionCause.REJECTION),
    (ApprovalKind.TOOL, DecisionMeaning.ACCEPT): NOTHING,
    (ApprovalKind.TOOL, DecisionMeaning.REFUSE): NOTHING,
    (ApprovalKind.QUESTION, DecisionMeaning.ANSWER): NOTHING,
    (ApprovalKind.SEAT, DecisionMeaning.ANSWER): DecisionEffect(StepEvent.REPLY),
    (ApprovalKind.SEAT, DecisionMeaning.ACCEPT): DecisionEffect(StepEvent.REPLY),
    (ApprovalKind.FAILURE, DecisionMeaning.AGAIN): DecisionEffect(StepEvent.AGAIN),
    (ApprovalKind.FAILURE, DecisionMeaning.REVISE): DecisionEffect(order=RevisionCause.REJECTION),
    (ApprovalKind.FAILURE, DecisionMeaning.SKIP): DecisionEffect(StepEvent.SKIP),
    **{
        (kind, DecisionMeaning.SKIP): DecisionEffect(StepEvent.SKIP)
        for kind in (ApprovalKind.TOOL, ApprovalKind.QUESTION, ApprovalKind.SEAT)
    },
    **{
        (kind, DecisionMeaning.REVISE): DecisionEffect(StepEvent.GIVE_UP, RevisionCause.REJECTION)
        for kind in (ApprovalKind.TOOL, ApprovalKind.QUESTION, ApprovalKind.SEAT)
    },
}


def decision_effect(kind: ApprovalKind, meaning: DecisionMeaning, step: StepSituation | None = None) -> DecisionEffect:
    """Return what a decision does; `step` is the one that the gate is about. Raises DecisionHasNoEffect."""
    if meaning is DecisionMeaning.END:
        return END
    found = (_OF_STEP if step else _OF_PLAN).get((kind, meaning))
    if found is None:
        raise DecisionHasNoEffect("A question wants an answer in words.")
    if step and meaning is DecisionMeaning.AGAIN and step.status is not StepStatus.FAILED:
        raise DecisionHasNoEffect("It has not been tried: something that it needs is missing.")
    return found
