"""What the orchestrator orders next, and in which words."""

from dataclasses import dataclass

from .course import NOT_ANSWERED, Impossible, State, after
from .facts import WORK_OF, Fact, Replanned, Station, Stopped
from .limits import HINTS

ORCHESTRATOR, INSTRUCTION = "orchestrator", "instruction"


@dataclass(frozen=True)
class Work:
    """A worker is asked. `index`: of the research step."""

    station: Station
    index: int | None = None


@dataclass(frozen=True)
class Review:
    """A critic is asked about the work of its station."""

    station: Station
    index: int | None = None


@dataclass(frozen=True)
class Finish:
    """The answer is worded; where it is `stated`, by code."""

    stated: bool
    station: Station = Station.FINALIZER
    index: int | None = None


@dataclass(frozen=True)
class Over:
    """Nothing is left to order. It failed, if there is an error."""

    error: str = ""


Order = Work | Review | Finish | Over


@dataclass(frozen=True)
class Message:
    receiver: str
    content: str
    step_id: int | None = None
    sender: str = ORCHESTRATOR
    type: str = INSTRUCTION


def following(state: State) -> Order:
    """What comes next: there is always exactly one thing."""
    if state.over:
        return Over(state.error)
    if state.next_step is Station.FINALIZER:
        return Finish(state.stated)
    kind = Review if state.next_step in WORK_OF else Work
    return kind(state.next_step, _step_id(state))


def possible_words(state: State, hints: int) -> tuple[str, ...]:
    """What a person can say to it now: nothing else is offered, and all else is refused. `hints`: given so far."""
    if state.over or state.next_step is Station.FINALIZER:
        return ()
    others: dict[str, Fact] = {"stop": Stopped(""), "replan": Replanned("")}
    taken = [word for word, fact in others.items() if _is_possible(state, fact)]
    return (*(["hint"] if hints < HINTS else []), *taken)


def _is_possible(state: State, fact: Fact) -> bool:
    try:
        after(state, fact)
    except Impossible:
        return False
    return True


def _step_id(state: State) -> int | None:
    researched = state.next_step in (Station.RESEARCHER, Station.CRITIC_RESEARCHER)
    return state.index if researched else None


def instruction(state: State) -> Message:
    """The order to whoever comes next."""
    if state.over:
        raise Impossible("It is over: nobody is told anything.")
    return Message(state.next_step, _content(state), _step_id(state))


def _content(state: State) -> str:
    match state.next_step:
        case Station.PLANNER:
            words = state.words or _feedback(state, Station.CRITIC_PLANNER)
            return words or f"Plan how this question is answered: {state.question}"
        case Station.CRITIC_PLANNER:
            return "\n".join(["Review this plan:", *state.research_steps, "", *state.expert_steps])
        case Station.RESEARCHER if state.stopping:
            return f"Hand in what there is of this: {state.research_steps[state.index]}"
        case Station.RESEARCHER:
            return _feedback(state, Station.CRITIC_RESEARCHER) or f"Research: {state.research_steps[state.index]}"
        case Station.CRITIC_RESEARCHER:
            return f"Review this result: {state.research_results[state.index]}"
        case Station.EXPERT:
            steps = "\n".join(state.expert_steps) or "Answer with what was found."
            return _feedback(state, Station.CRITIC_EXPERT) or f"Take these steps:\n{steps}"
        case Station.CRITIC_EXPERT:
            return f"Review this answer: {state.expert_answer}"
    return NOT_ANSWERED if state.stated else "Word the answer, and tell how it was reached."


def _feedback(state: State, critic: Station) -> str:
    """Of the critic, where it has sent this very work back."""
    rejected = getattr(state, f"{critic}_decision") == "reject"
    return getattr(state, f"{critic}_feedback") if rejected else ""
