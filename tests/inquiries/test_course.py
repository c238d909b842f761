"""What comes next in an inquiry, replayed against the source of its rules, and that every inquiry ends."""

import json
from collections import Counter
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inquiries.prompts import critics, planner
from inquiries.responses import state_fields
from inquiries.rules.dispatch import (
    FinishAssignment,
    NoAssignment,
    ReviewAssignment,
    WorkAssignment,
    instruction,
    next_assignment,
)
from inquiries.rules.events import (
    AnswerFinalized,
    AnswerSubmitted,
    AttemptsExhausted,
    ErrorCategory,
    InquiryStage,
    InquiryStopped,
    PlanSubmitted,
    ReplanRequested,
    ResearchSubmitted,
    RetryRequested,
    WorkFailed,
    WorkReviewed,
)
from inquiries.rules.state import (
    MOST_RETRIES,
    NEW_PLANS,
    NOT_ANSWERED,
    InquiryStateError,
    fold_events,
    initial_state,
    state_after,
)

QUESTION = "What is CRISPR?"
PLANNER, CRITIC_PLANNER, RESEARCHER, CRITIC_RESEARCHER, EXPERT, CRITIC_EXPERT, FINALIZER = list(InquiryStage)[1:]
DEFINITION, INVENTORS = "CRISPR is a gene editing technology", "CRISPR was invented by Doudna and Charpentier"
ANSWER = "CRISPR is a gene editing technology invented by Doudna and Charpentier"
REASONING, TRACE = "Based on research findings...", "The system researched CRISPR definition and inventors..."
PLAN = PlanSubmitted(
    ("Research CRISPR definition", "Research CRISPR inventors"), ("Define CRISPR", "Identify inventors")
)
YES, NO = WorkReviewed(True), WorkReviewed(False, "Plan needs more specific research steps")
SOURCE_NAMES = """question current_step next_step retry_count retry_limit research_steps expert_steps
 current_research_index research_results expert_answer expert_reasoning critic_planner_decision critic_planner_feedback
 critic_researcher_decision critic_researcher_feedback critic_expert_decision critic_expert_feedback final_answer
 final_reasoning_trace error error_component""".split()


def at(*facts, limit=5):
    return fold_events(QUESTION, limit, facts)


def shown(state, names):
    return {name: getattr(state, name) for name in names}


# what the source says of the state, in its own names: of each fact only what changes
SUCCESS = [
    (PLAN, {"current_step": "planner", "next_step": "critic_planner", "current_research_index": -1,
            "research_steps": PLAN.research, "expert_steps": PLAN.expert}),
    (YES, {"current_step": "critic_planner", "next_step": "researcher", "current_research_index": -1,
           "research_results": ()}),
    (ResearchSubmitted(DEFINITION), {"current_step": "researcher", "next_step": "critic_researcher",
                                     "current_research_index": 0, "research_results": (DEFINITION,)}),
    (YES, {"current_step": "critic_researcher", "next_step": "researcher", "current_research_index": 1}),
    (ResearchSubmitted(INVENTORS), {"current_step": "researcher", "next_step": "critic_researcher",
                        "research_results": (DEFINITION, INVENTORS)}),
    (YES, {"current_step": "critic_researcher", "next_step": "expert", "current_research_index": 1}),
    (AnswerSubmitted(ANSWER, REASONING), {"current_step": "expert", "next_step": "critic_expert",
                                          "expert_answer": ANSWER, "expert_reasoning": REASONING}),
    (YES, {"current_step": "critic_expert", "next_step": "finalizer"}),
    (AnswerFinalized(ANSWER, TRACE), {"current_step": "finalizer", "next_step": "finalizer", "final_answer": ANSWER,
                                "final_reasoning_trace": TRACE, "retry_count": 0}),
]  # fmt: skip
MORE = PlanSubmitted(
    (*PLAN.research, "Research CRISPR applications"), (*PLAN.expert, "Describe applications")
)  # of the second example
SENT_BACK = [
    (PLAN, {**SUCCESS[0][1], "retry_count": 0}),
    (NO, {"current_step": "critic_planner", "next_step": "planner", "retry_count": 1,
          "critic_planner_decision": "reject", "critic_planner_feedback": NO.feedback}),
    (MORE, {"current_step": "planner", "next_step": "critic_planner", "retry_count": 1,
            "research_steps": MORE.research, "expert_steps": MORE.expert}),
]  # fmt: skip


def test_it_begins_with_every_field_as_the_source_says():
    assert shown(initial_state(QUESTION), SOURCE_NAMES) == {
        **dict.fromkeys(SOURCE_NAMES, ""),
        **{"question": QUESTION, "current_step": "input", "next_step": "planner", "retry_count": 0, "retry_limit": 5},
        **{"research_steps": (), "expert_steps": (), "research_results": (), "current_research_index": -1},
    }


@pytest.mark.parametrize("example", [SUCCESS, SENT_BACK])
def test_the_examples_of_the_source_value_by_value(example):
    state = initial_state(QUESTION)
    for fact, said in example:
        before, state = state, state_after(state, fact)
        assert shown(state, said) == said
        unsaid = set(SOURCE_NAMES) - set(said) - {"error", "error_component"}
        heard = {
            name for name in unsaid if name.endswith(("_decision", "_feedback")) and isinstance(fact, WorkReviewed)
        }
        assert shown(state, unsaid - heard) == shown(before, unsaid - heard)


def test_programs_read_the_state_by_the_names_of_the_source_and_null_where_nothing_is():
    state = fold_events(QUESTION, 5, [fact for fact, _ in SUCCESS])
    told = state_fields(state)
    assert ["question", *told] == SOURCE_NAMES
    assert json.loads(json.dumps(told)) == {
        **dict.fromkeys(told), "current_step": "finalizer", "next_step": "finalizer",
        "retry_count": 0, "retry_limit": 5, "research_steps": [*PLAN.research], "expert_steps": [*PLAN.expert],
        "current_research_index": 1, "research_results": [DEFINITION, INVENTORS],
        "expert_answer": ANSWER, "expert_reasoning": REASONING, "final_answer": ANSWER, "final_reasoning_trace": TRACE,
        **{f"critic_{of}_decision": "approve" for of in ("planner", "researcher", "expert")},
    }  # fmt: skip


def test_no_limit_and_a_limit_that_ends_it_at_once_are_refused():
    for limit in (0, MOST_RETRIES + 1):
        with pytest.raises(InquiryStateError):
            initial_state(QUESTION, limit)


# ---- the table, line by line ------------------------------------------------------------------------------

RESEARCHING = (PLAN, YES)
FOUND_ONE = (*RESEARCHING, ResearchSubmitted("a"))
ANSWERING = (*FOUND_ONE, YES, ResearchSubmitted("b"), YES)
STOPPING = (*FOUND_ONE, YES, InquiryStopped("Ada", begun=True))
REVIEWING = (*ANSWERING, AnswerSubmitted("x", "y"))
NETWORK, KEY = ErrorCategory.NETWORK, ErrorCategory.PERMANENT
TABLE = [
    ((), PLAN, CRITIC_PLANNER, {}),
    ((PLAN,), YES, RESEARCHER, {"current_research_index": -1, "research_results": ()}),
    ((PlanSubmitted((), ("Add them up",)),), YES, EXPERT, {"current_research_index": -1, "research_results": ()}),
    ((PLAN,), NO, PLANNER, {"retry_count": 1}),
    (RESEARCHING, ResearchSubmitted("a"), CRITIC_RESEARCHER, {"current_research_index": 0, "research_results": ("a",)}),
    (FOUND_ONE, YES, RESEARCHER, {"current_research_index": 1}),
    ((*FOUND_ONE, YES, ResearchSubmitted("b")), YES, EXPERT, {"current_research_index": 1}),
    (FOUND_ONE, NO, RESEARCHER, {"current_research_index": 0, "retry_count": 1}),
    ((*FOUND_ONE, NO), ResearchSubmitted("c"), CRITIC_RESEARCHER, {"research_results": ("c",)}),
    (ANSWERING, AnswerSubmitted("x", "y"), CRITIC_EXPERT, {"expert_answer": "x", "expert_reasoning": "y"}),
    (REVIEWING, YES, FINALIZER, {"final_answer": ""}),
    (REVIEWING, NO, EXPERT, {"retry_count": 1}),
    ((), WorkFailed(PLANNER, NETWORK), PLANNER, {"retry_count": 1, "error_component": "planner"}),
    (
        FOUND_ONE,
        WorkFailed(CRITIC_RESEARCHER, NETWORK),
        CRITIC_RESEARCHER,
        {"retry_count": 1, "research_results": ("a",)},
    ),
    (RESEARCHING, WorkFailed(RESEARCHER, KEY, "No key."), FINALIZER, {"retry_count": 0, "error": "No key."}),
    (
        FOUND_ONE,
        WorkFailed(CRITIC_RESEARCHER, ErrorCategory.STATE, "Gone."),
        FINALIZER,
        {
            "retry_count": 0,
            "error": "Gone.",
            "error_component": "critic_researcher",
            "final_answer": NOT_ANSWERED,
            "final_reasoning_trace": NOT_ANSWERED,
        },
    ),
    (FOUND_ONE, AttemptsExhausted("Enough."), FINALIZER, {"retry_count": 0, "why": "Enough.", "error": ""}),
    (RESEARCHING, InquiryStopped("Ada"), EXPERT, {"left_out": PLAN.research, "research_results": ()}),
    ((*FOUND_ONE, YES), InquiryStopped("Ada"), EXPERT, {"left_out": PLAN.research[1:], "research_results": ("a",)}),
    ((*FOUND_ONE, NO), InquiryStopped("Ada"), EXPERT, {"left_out": PLAN.research, "research_results": ()}),
    ((*FOUND_ONE, YES), InquiryStopped("Ada", begun=True), RESEARCHER, {"left_out": (), "stopping": True}),
    ((*STOPPING, ResearchSubmitted("b")), YES, EXPERT, {"left_out": (), "research_results": ("a", "b")}),
    ((*STOPPING, ResearchSubmitted("b")), NO, EXPERT, {"left_out": PLAN.research[1:], "retry_count": 1}),
    (STOPPING, WorkFailed(RESEARCHER, NETWORK), EXPERT, {"left_out": PLAN.research[1:], "retry_count": 1}),
    (STOPPING, InquiryStopped("Ada", begun=True), EXPERT, {"left_out": PLAN.research[1:], "research_results": ("a",)}),
    (STOPPING, ReplanRequested("Ada", "Ask others."), PLANNER, {"stopping": False}),
    ((*REVIEWING, NO), InquiryStopped("Ada"), FINALIZER, {"final_answer": NOT_ANSWERED}),
    (FOUND_ONE, ReplanRequested("Ada", "Ask others."), PLANNER, {"retry_count": 0, "words": "Ask others."}),
    (
        (*REVIEWING[:-1], AnswerSubmitted("No.", "", False)),
        YES,
        FINALIZER,
        {
            "final_answer": NOT_ANSWERED,
            "why": "The critic of the answer approved that it cannot be answered. The expert says: “No.”",
        },
    ),
]


@pytest.mark.parametrize(("before", "fact", "following", "values"), TABLE)
def test_the_table_line_by_line(before, fact, following, values):
    state = state_after(at(*before), fact)
    assert state.next_step is following
    assert shown(state, values) == values


def test_the_stated_sentence_stands_in_both_fields_and_is_never_replaced():
    ended = at(PLAN, *[NO, PLAN] * 4, NO)
    why = "The critic of the plan rejected it, and the limit of 5 retries was reached. It said: "
    assert (ended.retry_count, ended.why) == (5, f"{why}“{NO.feedback}”")
    council = at(
        *FOUND_ONE, WorkFailed(CRITIC_RESEARCHER, NETWORK), WorkReviewed(False, "Too old.", "council Trio"), limit=2
    )
    assert council.why.startswith("The critic of research 1 (council Trio) rejected it, and the limit of 2 retries was")
    assert council.why.endswith("reached, 1 of them for errors. It said: “Too old.”")
    assert next_assignment(ended) == FinishAssignment(stated=True)
    over = state_after(ended, AnswerFinalized("Something else.", "Otherwise."))
    assert (over.final_answer, over.final_reasoning_trace, over.outcome) == (NOT_ANSWERED, NOT_ANSWERED, "unanswered")


def test_the_fact_that_reaches_the_limit_decides_how_it_ends():
    broken = WorkFailed(CRITIC_PLANNER, NETWORK, "It timed out.")
    by_an_error = at(PLAN, *[NO, PLAN] * 4, broken)
    by_a_critic = at(PLAN, *[broken] * 4, NO)
    assert next_assignment(state_after(by_an_error, AnswerFinalized("", ""))) == NoAssignment("It timed out.")
    assert next_assignment(state_after(by_a_critic, AnswerFinalized("", ""))) == NoAssignment("")
    assert by_a_critic.why.endswith(f", 4 of them for errors. It said: “{NO.feedback}”")


def test_a_retry_gives_back_what_errors_took_and_nothing_else():
    broken = WorkFailed(RESEARCHER, NETWORK)
    failed = at(PLAN, NO, PLAN, YES, *[broken] * 4, AnswerFinalized("", ""))
    again = state_after(failed, RetryRequested("Ada"))
    assert (again.next_step, again.retry_count, again.error, again.final_answer) == (RESEARCHER, 1, "", "")
    for state in (at(PLAN), at(PLAN, AttemptsExhausted("Enough."), AnswerFinalized("", ""))):
        with pytest.raises(InquiryStateError):
            state_after(state, RetryRequested("Ada"))


def test_an_error_before_the_first_result_loses_no_step():
    state = at(*RESEARCHING, WorkFailed(RESEARCHER, NETWORK), ResearchSubmitted("a"))
    assert state.research_results == ("a",)
    assert instruction(state_after(state, YES)).content.endswith(PLAN.research[1])


def test_a_new_plan_knows_nothing_of_results_and_decisions_of_the_old_one():
    state = at(*FOUND_ONE, NO, ReplanRequested("Ada", "Otherwise."), PlanSubmitted((), ("Say it",)), YES)
    assert (state.next_step, state.research_results, state.critic_researcher_decision) == (EXPERT, (), "")
    with pytest.raises(InquiryStateError):
        at(PLAN, *[ReplanRequested("Ada")] * (NEW_PLANS + 1))


# ---- orders -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "order", "receiver", "step_id", "said"),
    [
        ((), WorkAssignment(PLANNER), "planner", None, QUESTION),
        ((PLAN,), ReviewAssignment(CRITIC_PLANNER), "critic_planner", None, "\n".join(PLAN.research)),
        ((PLAN, NO), WorkAssignment(PLANNER), "planner", None, NO.feedback),
        ((PLAN, ReplanRequested("Ada", "Ask others.")), WorkAssignment(PLANNER), "planner", None, "Ask others."),
        (RESEARCHING, WorkAssignment(RESEARCHER, 0), "researcher", 0, PLAN.research[0]),
        (FOUND_ONE, ReviewAssignment(CRITIC_RESEARCHER, 0), "critic_researcher", 0, "a"),
        ((*FOUND_ONE, NO), WorkAssignment(RESEARCHER, 0), "researcher", 0, NO.feedback),
        ((*FOUND_ONE, YES), WorkAssignment(RESEARCHER, 1), "researcher", 1, PLAN.research[1]),
        (ANSWERING, WorkAssignment(EXPERT), "expert", None, "\n".join(PLAN.expert)),
        ((*REVIEWING, NO), WorkAssignment(EXPERT), "expert", None, NO.feedback),
        (REVIEWING, ReviewAssignment(CRITIC_EXPERT), "critic_expert", None, "x"),
        ((*REVIEWING, YES), FinishAssignment(stated=False), "finalizer", None, ""),
    ],
)
def test_each_order_goes_to_whom_it_is_for(facts, order, receiver, step_id, said):
    state, message = at(*facts), instruction(at(*facts))
    assert next_assignment(state) == order
    assert (message.sender, message.receiver, message.type) == ("orchestrator", receiver, "instruction")
    assert message.step_id == step_id
    assert said in message.content


def test_nobody_is_told_anything_once_it_is_over():
    with pytest.raises(InquiryStateError):
        instruction(at(*REVIEWING, YES, AnswerFinalized("a", "b")))


# ---- every walk -------------------------------------------------------------------------------------------


def possible(state, steps):
    """Every fact that may come next, each kind of them once."""
    match next_assignment(state):
        case NoAssignment():
            return []
        case FinishAssignment():
            return [AnswerFinalized("a", "t")]
        case WorkAssignment(station):
            work = {
                PLANNER: [PlanSubmitted(("r",) * steps, ("e",))],
                RESEARCHER: [ResearchSubmitted("f"), InquiryStopped("p"), InquiryStopped("p", begun=True)],
                EXPERT: [AnswerSubmitted("a", "r"), AnswerSubmitted("no", "r", False)],
            }[station]
            stops = [InquiryStopped("p")] if station is EXPERT and state.expert_answer else []
            return [*work, *stops, *_troubles(station)]
        case ReviewAssignment(station):
            return [WorkReviewed(True), WorkReviewed(False, "no"), *_troubles(station)]


def _troubles(station):
    return [WorkFailed(station, NETWORK), WorkFailed(station, KEY), AttemptsExhausted("enough")]


def is_sound(state):
    assert state.retry_count <= state.retry_limit
    assert -1 <= state.current_research_index < max(len(state.research_steps), 1)
    assert state.errors <= state.retry_count
    if state.over:
        refused = state.critic_expert_decision != "approve" or not state.answerable
        assert state.stated == bool(state.error or state.why or refused)
        assert bool(state.error) == (next_assignment(state) == NoAssignment(state.error) and state.error != "")


def test_every_course_up_to_three_steps_and_five_retries_ends_within_its_limits():
    transitions = Counter()
    for steps, limit in product(range(4), range(1, 6)):
        seen, rest = set(), [initial_state(QUESTION, limit)]
        while rest:
            state = rest.pop()
            if state in seen:
                continue
            seen.add(state)
            is_sound(state)
            facts = possible(state, steps)
            assert bool(facts) != state.over
            for fact in facts:
                then = state_after(state, fact)
                assert measure(then) < measure(state)  # which is why it ends
                transitions[state.next_step, type(fact), then.next_step] += 1
                rest.append(then)
    assert len(transitions) >= 30


def measure(state):
    """It falls with every fact: retries that are left, then stations that are left of this course."""
    left = {
        PLANNER: 9, CRITIC_PLANNER: 8, RESEARCHER: 7, CRITIC_RESEARCHER: 6, EXPERT: 4, CRITIC_EXPERT: 3, FINALIZER: 1,
    }[state.next_step] - state.stopping / 2  # fmt: skip
    research = 0 if state.next_step in (EXPERT, CRITIC_EXPERT, FINALIZER) else 50 - state.current_research_index
    ended = state.next_step is FINALIZER
    return (not ended and state.retry_limit - state.retry_count, research, left, not state.over)


FACTS = st.sampled_from(
    ["on", "no", "error", "hopeless", "exhausted", "stop", "stop once", "replan", "retry", "not answerable"]
)


@given(st.integers(0, 8), st.integers(1, MOST_RETRIES), st.lists(FACTS, max_size=150))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_people_and_errors_do_in_between_it_stays_within_its_limits(steps, limit, wishes):
    state = initial_state(QUESTION, limit)
    for wish in wishes:
        before, state = state, _wished(state, wish, steps)
        is_sound(state)
        if state.research_results != before.research_results and before.next_step is RESEARCHER:
            at_most = slice(0, before.index)
            assert state.research_results[at_most] == before.research_results[at_most]
    while not state.over:
        state = _wished(state, "on", steps)
    is_sound(state)


def _wished(state, wish, steps):
    order = next_assignment(state)
    people = {"stop": InquiryStopped("p"), "replan": ReplanRequested("p", "w"), "retry": RetryRequested("p")}
    troubles = {"error": NETWORK, "hopeless": KEY}
    people["stop once"] = InquiryStopped("p", begun=True)
    fact = people.get(wish)
    if wish in troubles and isinstance(order, WorkAssignment | ReviewAssignment):
        fact = WorkFailed(order.station, troubles[wish])
    elif wish == "exhausted":
        fact = AttemptsExhausted("enough")
    elif not fact:
        offered = possible(state, steps)
        fact = next((one for one in offered if wish == "no" and one == WorkReviewed(False, "no")), None)
        fact = fact or (offered[1] if wish == "not answerable" and order == WorkAssignment(EXPERT) else None)
        fact = fact or next(iter(offered), None)
    try:
        return state_after(state, fact) if fact else state
    except InquiryStateError:
        return state


def test_a_research_result_is_only_ever_replaced_by_its_own_step():
    state = at(*FOUND_ONE, YES, ResearchSubmitted("b"), NO, ResearchSubmitted("c"))
    assert state.research_results == ("a", "c")
    with pytest.raises(InquiryStateError):
        state_after(replace(state, next_step=RESEARCHER, current_research_index=2), ResearchSubmitted("d"))


def test_a_planned_step_says_what_to_do_and_stands_once():
    def read(*steps: str) -> tuple[str, ...]:
        said = {"thought": "So.", "research_steps": [], "expert_steps": steps}
        return planner.read_plan(json.dumps(said), ["figures.calculate"]).steps.expert

    assert read("Find the first.", "Name the year.", "find the first.") == ("Find the first.", "Name the year.")
    for empty in ("figures.calculate", "Calculation"):
        with pytest.raises(ValueError, match=f"“{empty}” in “expert_steps” is no step: write in a sentence"):
            read(empty)


STEP = "Find the limit of the law."
REFUSED_ANSWERS = [
    (planner.read_plan, {"research_steps": [STEP]}, "“expert_steps” is missing: add it"),
    (planner.read_plan, {"research_steps": [STEP], "expert_steps": []}, "at least one has to lead to the answer"),
    (planner.read_plan, {"research_steps": ["Find."], "expert_steps": [STEP]}, "“Find.” in “research_steps” says too"),
    (critics.read_review, {"feedback": "It may be so.", "decision": "maybe"}, "“maybe” is no decision. Write approve"),
    (critics.read_review, {"feedback": "Fine.", "decision": "approve"}, "“feedback” is one word"),
]


def test_each_answer_that_is_refused_hears_what_is_wrong_with_it():
    heard = []
    for read, said, _ in REFUSED_ANSWERS:
        with pytest.raises(ValueError) as refused:  # noqa: PT011 - what it says is looked at below
            read(json.dumps(said))
        heard.append(str(refused.value))
    wrong = [one for one, (*_, due) in zip(heard, REFUSED_ANSWERS, strict=True) if due not in one]
    assert wrong == []
