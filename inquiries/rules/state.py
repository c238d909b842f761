"""State of an inquiry after each event. Every inquiry ends: rejections, errors, moves and time are limited.

Why so: inquiries/DESIGN.md, Inquiries.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from .events import (
    CRITIC_OF,
    WORK_OF,
    AnswerFinalized,
    AnswerSubmitted,
    AttemptsExhausted,
    InquiryEvent,
    InquiryStage,
    InquiryStopped,
    PlanSubmitted,
    ReplanRequested,
    ResearchSubmitted,
    RetryRequested,
    WorkFailed,
    WorkReviewed,
)

NOT_ANSWERED = "The question could not be answered."
RETRIES, MOST_RETRIES = 5, 20
NEW_PLANS = 3  # that people may order

Texts = tuple[str, ...]


class InquiryStateError(ValueError):
    """The event is not possible in this state, or rows do not belong together."""


@dataclass(frozen=True)
class InquiryState:
    """State of an inquiry, folded from its events. The first group of fields has the names of the source text.

    `retry_count`: rejections and errors of the whole inquiry, `errors`: of these, the errors. `why`: reason without an
    answer. `left_out`: research steps that a person skipped; `stopping`: the current step must submit what it has.
    `words`: a person's text for the next plan. `last_critic`: who reviewed last, for sentences.
    """

    question: str
    retry_limit: int = RETRIES
    current_step: InquiryStage = InquiryStage.INPUT
    next_step: InquiryStage = InquiryStage.PLANNER
    retry_count: int = 0
    research_steps: Texts = ()
    expert_steps: Texts = ()
    current_research_index: int = -1
    research_results: Texts = ()
    expert_answer: str = ""
    expert_reasoning: str = ""
    critic_planner_decision: str = ""
    critic_planner_feedback: str = ""
    critic_researcher_decision: str = ""
    critic_researcher_feedback: str = ""
    critic_expert_decision: str = ""
    critic_expert_feedback: str = ""
    final_answer: str = ""
    final_reasoning_trace: str = ""
    error: str = ""
    error_component: str = ""

    answerable: bool = True
    errors: int = 0
    why: str = ""
    left_out: Texts = ()
    stopping: bool = False
    words: str = ""
    new_plans: int = 0
    last_critic: str = ""

    @property
    def over(self) -> bool:
        return self.current_step is InquiryStage.FINALIZER

    @property
    def stated(self) -> bool:
        """Whether the answer is the fixed sentence NOT_ANSWERED, which no model words."""
        return self.final_answer == NOT_ANSWERED

    @property
    def index(self) -> int:
        """Index of the research step that is in progress or under review."""
        return max(self.current_research_index, 0)

    @property
    def outcome(self) -> str:
        """Outcome of an inquiry that has ended without an error."""
        return "unanswered" if self.stated else "answered"


def initial_state(question: str, limit: int = RETRIES) -> InquiryState:
    if not 1 <= limit <= MOST_RETRIES:
        raise InquiryStateError(f"Work may be retried 1 to {MOST_RETRIES} times, not {limit}.")
    return InquiryState(question, limit)


def fold_events(question: str, limit: int, facts: Iterable[InquiryEvent]) -> InquiryState:
    return reduce(state_after, facts, initial_state(question, limit))


def state_after(state: InquiryState, fact: InquiryEvent) -> InquiryState:
    """Return the state after an event. Raises InquiryStateError if the event is not possible."""
    if isinstance(fact, RetryRequested):
        return _retried(state)
    if state.over:
        raise _impossible(state, fact)
    return _AFTER[type(fact)](state, fact)


def _impossible(state: InquiryState, fact: InquiryEvent) -> InquiryStateError:
    return InquiryStateError(
        f"{type(fact).__name__} cannot happen after {state.current_step}, with {state.next_step} next."
    )


# ---- work -------------------------------------------------------------------------------------------------


def _worked(state: InquiryState, fact: InquiryEvent, worker: InquiryStage, **values: Any) -> InquiryState:
    """Take submitted work; the role's critic is next."""
    if state.next_step is not worker:
        raise _impossible(state, fact)
    return replace(state, current_step=worker, next_step=CRITIC_OF[worker], error="", error_component="", **values)


def _planned(state: InquiryState, fact: PlanSubmitted) -> InquiryState:
    steps = {"research_steps": fact.research, "expert_steps": fact.expert}
    return _worked(state, fact, InquiryStage.PLANNER, words="", **steps)


def _found(state: InquiryState, fact: ResearchSubmitted) -> InquiryState:
    index, results = state.index, state.research_results
    if index >= len(state.research_steps):
        raise _impossible(state, fact)
    now = (*results[:index], fact.result, *results[index + 1 :])
    return _worked(state, fact, InquiryStage.RESEARCHER, current_research_index=index, research_results=now)


def _answered(state: InquiryState, fact: AnswerSubmitted) -> InquiryState:
    said = {"expert_answer": fact.answer, "expert_reasoning": fact.reasoning, "answerable": fact.answerable}
    return _worked(state, fact, InquiryStage.EXPERT, **said)


# ---- reviews ----------------------------------------------------------------------------------------------


def _reviewed(state: InquiryState, fact: WorkReviewed) -> InquiryState:
    critic = state.next_step
    if critic not in WORK_OF:
        raise _impossible(state, fact)
    review: dict[str, Any] = {
        f"{critic}_decision": "approve" if fact.approve else "reject",
        f"{critic}_feedback": fact.feedback,
    }
    reviewed = replace(state, current_step=critic, error="", error_component="", **review)
    reviewed = replace(reviewed, last_critic=f"{named(critic, reviewed.index)}{f' ({fact.by})' if fact.by else ''}")
    return _APPROVED[critic](reviewed) if fact.approve else _sent_back(reviewed, WORK_OF[critic])


_INNER = str.maketrans("“”„", "‘’‚")  # inner quotation marks, so that a quotation cannot seem to end early


def cited(words: str, most: int = 0) -> str:
    """Return words of others on one line, in quotation marks that do not occur inside; cut after `most` characters, if
    not 0."""
    line = " ".join(words.split())
    line = f"{line[: most - 1].rstrip()}…" if most and len(line) > most else line
    return f"“{line.translate(_INNER)}”"


def named(critic: InquiryStage, index: int) -> str:
    """Return the name of a critic for a sentence. `index`: of the research step that is under review."""
    of = {InquiryStage.CRITIC_PLANNER: "the plan", InquiryStage.CRITIC_EXPERT: "the answer"}
    return f"the critic of {of.get(critic, f'research {index + 1}')}"


def _plan_approved(state: InquiryState) -> InquiryState:
    """Start with the approved plan; results of an older plan are dropped."""
    begun = replace(
        state,
        next_step=InquiryStage.RESEARCHER if state.research_steps else InquiryStage.EXPERT,
        current_research_index=-1,
        research_results=(),
        critic_researcher_decision="",
        critic_researcher_feedback="",
        critic_expert_decision="",
        critic_expert_feedback="",
    )
    return replace(begun, expert_answer="", expert_reasoning="", answerable=True)


def _research_approved(state: InquiryState) -> InquiryState:
    if state.stopping:
        return _left(state, state.index + 1)
    if state.index >= len(state.research_steps) - 1:
        return replace(state, next_step=InquiryStage.EXPERT)
    return replace(state, next_step=InquiryStage.RESEARCHER, current_research_index=state.index + 1)


def _answer_approved(state: InquiryState) -> InquiryState:
    if state.answerable:
        return replace(state, next_step=InquiryStage.FINALIZER)
    passed = f"{_begun(state.last_critic)} approved that it cannot be answered"
    return _not_answered(state, f"{passed}. The expert says: {cited(state.expert_answer)}")


def _begun(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:]}"


_APPROVED: dict[InquiryStage, Callable[[InquiryState], InquiryState]] = {
    InquiryStage.CRITIC_PLANNER: _plan_approved,
    InquiryStage.CRITIC_RESEARCHER: _research_approved,
    InquiryStage.CRITIC_EXPERT: _answer_approved,
}


def _sent_back(state: InquiryState, worker: InquiryStage) -> InquiryState:
    """Count a rejection; the one that reaches the limit ends the inquiry without an answer."""
    again = replace(state, next_step=worker, retry_count=state.retry_count + 1)
    if again.retry_count < again.retry_limit:
        return _left(again, again.index) if again.stopping else again
    errors = f", {again.errors} of them for errors" if again.errors else ""
    limit = f"the limit of {again.retry_limit} retr{'y' if again.retry_limit == 1 else 'ies'} was reached{errors}"
    feedback = getattr(again, f"{again.current_step}_feedback")
    return _not_answered(again, f"{_begun(again.last_critic)} rejected it, and {limit}. It said: {cited(feedback)}")


def _not_answered(state: InquiryState, why: str, **values: Any) -> InquiryState:
    sentence: dict[str, Any] = {"final_answer": NOT_ANSWERED, "final_reasoning_trace": NOT_ANSWERED}
    return replace(state, next_step=InquiryStage.FINALIZER, why=why, **sentence, **values)


# ---- errors, limits, the end ------------------------------------------------------------------------------


def _failed(state: InquiryState, fact: WorkFailed) -> InquiryState:
    if state.next_step is InquiryStage.FINALIZER or fact.component is not state.next_step:
        raise _impossible(state, fact)
    failed = replace(state, error=fact.message or f"A {fact.category} error.", error_component=fact.component)
    if fact.recoverable:
        failed = replace(failed, retry_count=state.retry_count + 1, errors=state.errors + 1)
        if failed.retry_count < failed.retry_limit:
            given_up = failed.stopping and fact.component is InquiryStage.RESEARCHER
            return _left(failed, failed.index) if given_up else failed
    return _not_answered(failed, "")


def _exhausted(state: InquiryState, fact: AttemptsExhausted) -> InquiryState:
    if state.next_step is InquiryStage.FINALIZER:
        raise _impossible(state, fact)
    return _not_answered(state, fact.why, error="", error_component="")


def _finalized(state: InquiryState, fact: AnswerFinalized) -> InquiryState:
    if state.next_step is not InquiryStage.FINALIZER:
        raise _impossible(state, fact)
    texts: dict[str, Any] = {} if state.stated else {"final_answer": fact.answer, "final_reasoning_trace": fact.trace}
    return replace(state, current_step=InquiryStage.FINALIZER, **texts)


# ---- people -----------------------------------------------------------------------------------------------


def _stopped(state: InquiryState, fact: InquiryStopped) -> InquiryState:
    """Stop the research: the current step submits what it has, and the expert goes on with approved results. A second
    stop skips that step, too. If an answer was rejected already, the inquiry ends without an answer."""
    calm = replace(state, error="", error_component="")
    if state.next_step is InquiryStage.EXPERT and state.expert_answer:
        sent = f"its last answer had been rejected by {state.last_critic}"
        return _not_answered(calm, f"{fact.by} stopped it, and {sent}: {cited(state.critic_expert_feedback)}")
    if state.next_step is not InquiryStage.RESEARCHER:
        raise _impossible(state, fact)
    if fact.begun and not state.stopping:
        return replace(calm, stopping=True)
    return _left(calm, len(_passed(state)))


def _left(state: InquiryState, passed: int) -> InquiryState:
    """Go on to the expert with the first `passed` results; the remaining steps are left out."""
    rest, results = state.research_steps[passed:], state.research_results[:passed]
    return replace(state, next_step=InquiryStage.EXPERT, left_out=rest, research_results=results, stopping=False)


def _passed(state: InquiryState) -> Texts:
    """Return the approved results."""
    if state.next_step in (InquiryStage.RESEARCHER, InquiryStage.CRITIC_RESEARCHER):
        return state.research_results[: state.index]
    return state.research_results


def _replanned(state: InquiryState, fact: ReplanRequested) -> InquiryState:
    if state.next_step is InquiryStage.FINALIZER or state.new_plans >= NEW_PLANS:
        raise _impossible(state, fact)
    calm = replace(state, error="", error_component="", left_out=(), research_results=_passed(state), stopping=False)
    return replace(calm, next_step=InquiryStage.PLANNER, words=fact.words, new_plans=state.new_plans + 1)


def _retried(state: InquiryState) -> InquiryState:
    """Retry a failed inquiry: errors no longer count as retries, rejections still do."""
    if not state.error or state.next_step is not InquiryStage.FINALIZER:
        raise InquiryStateError("Only one that failed is tried again.")
    return replace(
        state,
        current_step=InquiryStage(state.error_component),
        next_step=InquiryStage(state.error_component),
        retry_count=state.retry_count - state.errors,
        errors=0,
        error="",
        error_component="",
        final_answer="",
        final_reasoning_trace="",
    )


_AFTER: dict[type, Callable[[InquiryState, Any], InquiryState]] = {
    PlanSubmitted: _planned,
    ResearchSubmitted: _found,
    AnswerSubmitted: _answered,
    WorkReviewed: _reviewed,
    WorkFailed: _failed,
    AttemptsExhausted: _exhausted,
    AnswerFinalized: _finalized,
    InquiryStopped: _stopped,
    ReplanRequested: _replanned,
}
