"""The next assignment of an inquiry, and its instruction."""

from dataclasses import dataclass

from .events import WORK_OF, InquiryEvent, InquiryStage, InquiryStopped, ReplanRequested
from .limits import HINTS
from .state import NOT_ANSWERED, InquiryState, InquiryStateError, state_after

ORCHESTRATOR, INSTRUCTION = "orchestrator", "instruction"


@dataclass(frozen=True)
class WorkAssignment:
    """A role has to work. `index`: of the research step."""

    station: InquiryStage
    index: int | None = None


@dataclass(frozen=True)
class ReviewAssignment:
    """A critic has to review."""

    station: InquiryStage
    index: int | None = None


@dataclass(frozen=True)
class FinishAssignment:
    """The finalizer has to word the answer; if `stated`, code writes the sentence that there is none."""

    stated: bool
    station: InquiryStage = InquiryStage.FINALIZER
    index: int | None = None


@dataclass(frozen=True)
class NoAssignment:
    """The inquiry has ended; it failed if there is an error."""

    error: str = ""


NextAssignment = WorkAssignment | ReviewAssignment | FinishAssignment | NoAssignment


@dataclass(frozen=True)
class DispatchMessage:
    receiver: str
    content: str
    step_id: int | None = None
    sender: str = ORCHESTRATOR
    type: str = INSTRUCTION


def next_assignment(state: InquiryState) -> NextAssignment:
    """Return what comes next; there is always exactly one thing."""
    if state.over:
        return NoAssignment(state.error)
    if state.next_step is InquiryStage.FINALIZER:
        return FinishAssignment(state.stated)
    kind = ReviewAssignment if state.next_step in WORK_OF else WorkAssignment
    return kind(state.next_step, _step_id(state))


def possible_words(state: InquiryState, hints: int) -> tuple[str, ...]:
    """Return the interventions that are possible now; pages offer these, and writes refuse others. `hints`: number so
    far."""
    if state.over or state.next_step is InquiryStage.FINALIZER:
        return ()
    others: dict[str, InquiryEvent] = {"stop": InquiryStopped(""), "replan": ReplanRequested("")}
    taken = [word for word, fact in others.items() if _is_possible(state, fact)]
    return (*(["hint"] if hints < HINTS else []), *taken)


def _is_possible(state: InquiryState, fact: InquiryEvent) -> bool:
    try:
        state_after(state, fact)
    except InquiryStateError:
        return False
    return True


def _step_id(state: InquiryState) -> int | None:
    researched = state.next_step in (InquiryStage.RESEARCHER, InquiryStage.CRITIC_RESEARCHER)
    return state.index if researched else None


def instruction(state: InquiryState) -> DispatchMessage:
    """Return the message to the next role. Raises InquiryStateError if the inquiry has ended."""
    if state.over:
        raise InquiryStateError("It is over: nobody is told anything.")
    return DispatchMessage(state.next_step, _content(state), _step_id(state))


def _content(state: InquiryState) -> str:
    match state.next_step:
        case InquiryStage.PLANNER:
            words = state.words or _feedback(state, InquiryStage.CRITIC_PLANNER)
            return words or f"Plan how this question is answered: {state.question}"
        case InquiryStage.CRITIC_PLANNER:
            return "\n".join(["Review this plan:", *state.research_steps, "", *state.expert_steps])
        case InquiryStage.RESEARCHER if state.stopping:
            return f"Hand in what there is of this: {state.research_steps[state.index]}"
        case InquiryStage.RESEARCHER:
            return _feedback(state, InquiryStage.CRITIC_RESEARCHER) or f"Research: {state.research_steps[state.index]}"
        case InquiryStage.CRITIC_RESEARCHER:
            return f"Review this result: {state.research_results[state.index]}"
        case InquiryStage.EXPERT:
            steps = "\n".join(state.expert_steps) or "Answer with what was found."
            return _feedback(state, InquiryStage.CRITIC_EXPERT) or f"Take these steps:\n{steps}"
        case InquiryStage.CRITIC_EXPERT:
            return f"Review this answer: {state.expert_answer}"
    return NOT_ANSWERED if state.stated else "Word the answer, and tell how it was reached."


def _feedback(state: InquiryState, critic: InquiryStage) -> str:
    """Return the critic's feedback if its last review was a rejection, else an empty text."""
    rejected = getattr(state, f"{critic}_decision") == "reject"
    return getattr(state, f"{critic}_feedback") if rejected else ""
