"""The verifier that others run states once more how an inquiry goes on and where quotes stand: both say the same."""

import asyncio
from copy import deepcopy
from random import Random

import pytest

from inquiries.quotes import FoldedText, find_quote
from inquiries.rules.events import (
    AnswerFinalized,
    AnswerSubmitted,
    AttemptsExhausted,
    InquiryStopped,
    PlanSubmitted,
    ReplanRequested,
    ResearchSubmitted,
    WorkFailed,
    WorkReviewed,
)
from inquiries.rules.state import InquiryStateError, initial_state, state_after
from tests.conftest import perform
from tests.inquiries import altered
from tests.inquiries.offline import entries_of_all, problems
from tests.inquiries.scenes import LIMIT, found, going_well, inquiry, passes, sends_back
from tests.tools.offline import verifier

BETTER = ("The limit of the law is 150.", 1, "a warming potential of 150 or more")


@pytest.fixture
def entries(mira, models, transactional_db):
    """Of one whose research was sent back once."""
    going_well(models, researcher=[found(LIMIT), found(BETTER)], critic_researcher=[sends_back(), passes()])
    models.script["test/expert"] = [models.script["test/expert"][0].replace("[1]", "[2]")]
    models.script["test/finalizer"] = [models.script["test/finalizer"][0].replace("claim:2", "claim:3")]
    row = inquiry(mira)
    asyncio.run(perform(row.pk, models))
    return entries_of_all()[str(row.pk)]


def of(entries, kind, number):
    return [one for one in entries if one["kind"] == kind][number - 1]


def order(entries, number):
    return of(entries, "inquiry.order", number)


def quoted(entries):
    return of(entries, "inquiry.claim", 1)


NEXT, ENDS, STANDS = "An order is not what came next", "The outcome does not follow", "A quote does not stand"
TURNED = "The answer is not the one that was approved"
FORGERIES = {
    "approved_after_all": (lambda one: order(one, 4)["facts"].update(review="approve"), NEXT),
    "order_left_out": (lambda one: one.remove(order(one, 4)), NEXT),
    "never_reviewed": (lambda one: one.remove(order(one, 8)), NEXT),
    "another_outcome": (lambda one: one[-1]["facts"].update(outcome="unanswered"), ENDS),
    "answer_turned": (lambda one: one[-1]["texts"].update(answer="It may not be sold. [claim:3]"), TURNED),
    "quote_moved": (lambda one: quoted(one)["facts"]["quotes"][0].update(parts=[[0, 4]]), STANDS),
    "quote_worded_anew": (lambda one: quoted(one)["texts"].update({"quote 1": "no limit at all"}), STANDS),
    "source_exchanged": (lambda one: one[0]["texts"].update({"text of A1": "There is no limit. " * 9}), STANDS),
}


def test_what_is_honest_passes_and_each_forgery_is_named(entries):
    assert problems(entries) == []
    for name, (forge, said) in FORGERIES.items():
        forged = deepcopy(entries)
        forge(forged)
        assert any(one.startswith(said) for one in problems(forged)), name


# ---- both rules say the same ------------------------------------------------------------------------------

FACTS = {
    "work": lambda state: {
        "planner": PlanSubmitted(("r",) * 2, ("e",)), "researcher": ResearchSubmitted("f"),
        "expert": AnswerSubmitted("a", "r", answerable=len(state.critic_expert_feedback) < 3),
    }.get(state.next_step, ResearchSubmitted("f")),
    "approve": lambda state: WorkReviewed(True),
    "reject": lambda state: WorkReviewed(False, state.critic_expert_feedback + "x"),
    "error": lambda state: WorkFailed(state.next_step, "network"),
    "broken": lambda state: WorkFailed(state.next_step, "permanent"),
    "exhausted": lambda state: AttemptsExhausted("why"),
    "final": lambda state: AnswerFinalized("a", "t"),
    "stop": lambda state: InquiryStopped("p"),
    "stop once": lambda state: InquiryStopped("p", begun=True),
    "replan": lambda state: ReplanRequested("p", "w"),
}  # fmt: skip


def told(name, fact, station):
    counts = {"research": 2} if isinstance(fact, PlanSubmitted) else {"found": getattr(fact, "answerable", True)}
    counts |= {"begun": getattr(fact, "begun", False)}
    kind = {"approve": "review", "reject": "review", "broken": "error", "stop once": "stop"}.get(name, name)
    category = {"error": "network", "broken": "permanent"}.get(name, "")
    return {"kind": kind, "station": str(station), "counts": counts, "review": name, "category": category}


def test_both_rules_take_and_refuse_the_same_orders():
    dice, refused = Random(5), 0
    for _ in range(3_000):
        state, course = initial_state("Why?", dice.randrange(1, 6)), verifier.PlanReplay(0)
        course.limit = state.retry_limit
        while not state.over:
            name = dice.choices(list(FACTS), [8, 8, 4, 2, 1, 1, 4, 1, 2, 1])[0]
            fact, station = FACTS[name](state), state.next_step
            try:
                state = state_after(state, fact)
            except InquiryStateError:
                refused += 1
                assert not course.takes(**told(name, fact, station)), (name, station)
                break
            assert course.takes(**told(name, fact, station)), (name, station)
            assert (str(state.next_step), state.retry_count) == (course.now.replace("over", "finalizer"), course.back)
        else:
            ended = "failed" if state.error else "unanswered" if state.stated else ""
            assert (course.now, course.ended) == ("over", ended)
    assert refused > 100


def test_both_find_the_same_quotes_at_their_places():
    dice = Random(3)
    for _ in range(12):
        text = altered._text(dice)
        source = FoldedText(text)
        for start, end in altered._spans(dice, text, 20):
            quote = altered._refolded(dice, text[start:end])
            parts = [[one.start, one.end] for one in find_quote(quote, source).parts]
            assert verifier.quote_found(quote, text, parts)
            wrong = altered._altered(dice, quote)
            assert not wrong or not verifier.quote_found(wrong, text, parts)
