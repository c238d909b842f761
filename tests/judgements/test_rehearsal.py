import importlib
import json
import re

import pytest
from asgiref.sync import sync_to_async
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.models import ModelCall
from judgements import prompts, rehearsal
from judgements.examples import EXAMPLES, REFUND, RELEASE, TRAVEL
from judgements.models import Judgement, RoundDecision
from judgements.prompts import EarlierDecision, PromptCase
from judgements.rules import ROUNDS, SEATS, AgentDecision, Verdict, rounds_with_change, verdict
from tests.conftest import agents, perform

CRITERIA = [
    "Approve everything.",
    "Always reject.",
    "Approve a release that was tested.",
    "Reject a journey.",
    "I approve. I reject.",
]
CONTENTS = ["A tested release.", "An untested, risky journey.", "Tea.", "Release and journey, unknown and tested."]

decisions = st.sampled_from(AgentDecision)
histories = st.fixed_dictionaries({(number, seat): decisions for number in (1, 2) for seat in SEATS})


@st.composite
def cases(draw):
    number, said = draw(st.sampled_from(ROUNDS)), draw(histories)
    earlier = tuple(EarlierDecision(n, seat, decision, "So.") for (n, seat), decision in said.items() if n < number)
    criteria = draw(st.one_of(st.sampled_from(CRITERIA), st.text(max_size=80)))
    content = draw(st.one_of(st.sampled_from(CONTENTS), st.text(max_size=80)))
    return PromptCase(draw(st.sampled_from(SEATS)), criteria, content, number, earlier)


@settings(max_examples=settings.default.max_examples // 2)
@given(cases())
def test_a_reason_ends_in_the_decision_that_was_taken(case):
    decision, reason = rehearsal.decide(case)
    assert reason.endswith(f" I {decision}.")


def test_who_joins_the_others_says_so_and_no_more_that_its_own_view_holds():
    said = [
        EarlierDecision(1, "A", AgentDecision.APPROVE, "So."),
        *(EarlierDecision(1, s, AgentDecision.REJECT, "No.") for s in "BC"),
    ]
    found = {
        rehearsal.decide(PromptCase("A", "Approve what was tested.", f"A tested release, {n}.", 2, tuple(said)))[1]
        for n in range(20)
    }
    assert {reason[reason.index("In round") :] for reason in found} == {
        "In round 1 both other agents decided to reject, and that convinces me: I reject.",
        "In round 1 both other agents decided to reject, but that is no reason in my criteria: I approve.",
    }


# ---- the examples ------------------------------------------------------------------------------------------


def histories_of(example):
    return {seat: {n: example.answer(seat, n)[0] for n in ROUNDS} for seat in SEATS}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.key)
def test_an_examples_reasons_end_in_its_decisions(example):
    for seat, number in ((seat, number) for seat in SEATS for number in ROUNDS):
        decision, reason = example.answer(seat, number)
        last = re.split(r"(?<=[.:]) ", reason)[-1]
        assert f"{decision}." in last
        assert prompts.read_answer(json.dumps({"reason": reason, "decision": decision})).reason == reason


def test_one_is_approved_by_a_change_of_mind_one_is_rejected_and_one_asks_twice():
    changes = {seat: rounds_with_change(history) for seat, history in histories_of(RELEASE).items()}
    assert changes == {"A": (2,), "B": (), "C": ()}
    found = [verdict(histories_of(example)) for example in (RELEASE, TRAVEL, REFUND)]
    assert found == [Verdict.APPROVED, Verdict.REJECTED, Verdict.APPROVED]
    assert [bool(sum(len(part.stumbles) for part in one.parts)) for one in EXAMPLES] == [False, False, True]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.key)
def test_its_agents_are_those_of_a_ready_made_council(example):
    ready = importlib.import_module("judgements.migrations._ready_made").FIRST_COUNCILS[example.council]
    assert [(part.name, part.criteria) for part in example.parts] == ready


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.key)
async def test_it_is_rehearsed_word_by_word(example, mira):
    run = await perform((await submitted(mira, example)).pk)
    said = {
        (d.agent.seat, d.round): (d.decision, d.reason) async for d in RoundDecision.objects.select_related("agent")
    }
    assert said == {(seat, n): example.answer(seat, n) for seat in SEATS for n in ROUNDS}
    assert run.outcome == verdict(histories_of(example))


@pytest.mark.django_db(transaction=True)
async def test_an_answer_in_no_agreed_form_is_asked_for_again(mira):
    await perform((await submitted(mira, REFUND)).pk)
    first, second = [call async for call in ModelCall.objects.filter(step="B2").order_by("pk")]
    assert (first.status, first.answer) == ("failed", REFUND.failure("B", 2))
    assert (second.status, json.loads(second.answer)["reason"]) == ("answered", REFUND.answer("B", 2)[1])


@pytest.mark.django_db(transaction=True)
async def test_other_agents_judge_an_example_by_the_stated_rule(mira):
    trio = RELEASE.agents("rehearsal/instant")
    trio[2] = agents()[2]
    await perform((await submitted(mira, RELEASE, trio)).pk)
    played = RoundDecision.objects.exclude(reason__startswith="Rehearsal.").values_list("agent__seat", "round")
    assert {key async for key in played} == {("A", 1), ("B", 1)}  # who saw nothing of another yet


async def submitted(owner, example, trio=None):
    trio = trio or example.agents("rehearsal/instant")
    return await sync_to_async(Judgement.objects.submit)(owner=owner, content=example.content, agents=trio)
