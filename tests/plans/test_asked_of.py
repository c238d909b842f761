"""Whom a policy asks before what, in words, and how much one person's word can say."""

import pytest

from plans.rules.asking import asked, in_short, in_three, whom
from plans.rules.demands import (
    CAREFUL,
    OPEN,
    OPEN_READS,
    PERSON,
    POLICIES,
    STEP_BY_STEP,
    WATCHFUL,
    Kind,
    Policy,
    demand_of,
    may_pass_with_steps,
    step_by_step,
)
from plans.rules.words import Effect

FOUR = {"who": "person", "four_eyes": True}
BOTH = {"who": "both", "council": "Spend"}


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (CAREFUL, "Asks for the plan and external actions"),
        (WATCHFUL, "Asks for the plan, every change and external actions"),
        (OPEN_READS, "Asks for external actions"),
        (STEP_BY_STEP, "Asks for every step and external actions"),
    ],
)
def test_a_policy_in_a_sentence(policy, said):
    assert in_short(policy) == said


def test_a_policy_in_three_lines():
    assert [line for _, _, line in in_three(CAREFUL)] == [
        "You see all steps, and approve, change or leave out.",
        "Passes with the plan.",
        "You, each time.",
    ]
    assert [line for _, _, line in in_three(OPEN_READS)][:2] == [
        "Nobody is asked: it begins as it was planned.",
        "You, each time.",
    ]


@pytest.mark.parametrize(
    ("demand", "said"),
    [
        ({"who": "open"}, "Nobody"),
        ({"who": "person", "persons": 2}, "2 persons"),
        ({"who": "council", "council": "Spend"}, "The council “Spend”"),
        ({"who": "both", "council": "Spend"}, "You and the council “Spend”"),
    ],
)
def test_who_is_asked_in_words(demand, said):
    assert whom(demand, "You") == said


def test_every_ready_made_policy_can_be_said():
    assert all(in_short(one) and len(in_three(one)) == 3 for one in POLICIES.values())


def test_what_reaches_out_is_asked_about_whatever_the_policy_and_the_rest_as_it_says():
    everything_open = Policy(calls=dict.fromkeys(Effect, OPEN))
    assert [demand_of(Kind.TOOL, effect, everything_open)["who"] for effect in Effect] == ["open", "open", "person"]
    assert demand_of(Kind.TOOL, Effect.REACHES_OUT, Policy(calls=dict.fromkeys(Effect, BOTH))) == BOTH
    assert demand_of(Kind.STEP, Effect.READS, CAREFUL) == {"who": "open"}
    assert demand_of(Kind.PLAN, Effect.READS, Policy(plan=FOUR)) == FOUR
    assert demand_of(Kind.FAILURE, Effect.READS, everything_open) == {"who": "person"}


def test_step_by_step_asks_about_the_plan_only_where_more_than_one_word_is_wanted():
    assert step_by_step(CAREFUL).plan == {"who": "open"}
    assert step_by_step(Policy(plan=FOUR)).plan == FOUR
    assert step_by_step(Policy(plan=BOTH)).plan == BOTH
    assert step_by_step(Policy(plan={"who": "person", "persons": 2})).plan["persons"] == 2
    assert step_by_step(CAREFUL).steps[Effect.READS] == {"who": "person"}
    assert step_by_step(Policy(steps=dict.fromkeys(Effect, BOTH))).steps[Effect.READS] == BOTH


def test_only_what_one_person_is_asked_about_twice_may_pass_with_its_step():
    assert may_pass_with_steps(WATCHFUL)
    for each in ({"who": "open"}, FOUR, BOTH, {"who": "person", "persons": 2}):
        assert not may_pass_with_steps(Policy(calls=dict.fromkeys(Effect, each)))
    steps_open = dict.fromkeys(Effect, OPEN)
    assert not may_pass_with_steps(Policy(steps=steps_open, calls=dict.fromkeys(Effect, PERSON)))


def test_the_table_of_a_policy_says_how_and_until_when():
    ends = {"who": "person", "hours": 48, "expiry": "reject"}
    said = [row.rule for row in asked(Policy(plan=ends, calls={**CAREFUL.calls, Effect.REACHES_OUT: BOTH}))]
    assert said[0] == "rejected after 48 hours"
    assert said[5] == "the person first, without seeing the verdict"
    seen = {**BOTH, "blind": False}
    assert [row.rule for row in asked(Policy(calls={**CAREFUL.calls, Effect.REACHES_OUT: seen}))][5] == "each of them"
