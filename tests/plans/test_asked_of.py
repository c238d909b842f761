"""Whom a policy asks before what, in words, and how much one person's word can say."""

import pytest

from plans.rules.approval_policy import (
    CAREFUL_POLICY,
    OPEN,
    OPEN_READS,
    PERSON,
    POLICIES,
    STEP_BY_STEP,
    WATCHFUL_POLICY,
    ApprovalKind,
    TeamPolicy,
    may_pass_with_steps,
    required_approval,
    step_by_step_policy,
)
from plans.rules.enums import StepEffect
from plans.rules.policy_text import approvers_text, policy_columns, policy_lines, policy_summary

FOUR = {"who": "person", "four_eyes": True}
BOTH = {"who": "both", "council": "Spend"}


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (CAREFUL_POLICY, "Asks for the plan and external actions"),
        (WATCHFUL_POLICY, "Asks for the plan, every change and external actions"),
        (OPEN_READS, "Asks for external actions"),
        (STEP_BY_STEP, "Asks for every step and external actions"),
    ],
)
def test_a_policy_in_a_sentence(policy, said):
    assert policy_summary(policy) == said


def test_a_policy_in_three_lines():
    assert [line for _, _, line in policy_columns(CAREFUL_POLICY)] == [
        "You see all steps, and approve, change or leave out.",
        "Passes with the plan.",
        "You, each time.",
    ]
    assert [line for _, _, line in policy_columns(OPEN_READS)][:2] == [
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
    assert approvers_text(demand, "You") == said


def test_every_ready_made_policy_can_be_said():
    assert all(policy_summary(one) and len(policy_columns(one)) == 3 for one in POLICIES.values())


def test_what_reaches_out_is_asked_about_whatever_the_policy_and_the_rest_as_it_says():
    everything_open = TeamPolicy(calls=dict.fromkeys(StepEffect, OPEN))
    assert [required_approval(ApprovalKind.TOOL, effect, everything_open)["who"] for effect in StepEffect] == [
        "open",
        "open",
        "person",
    ]
    assert (
        required_approval(ApprovalKind.TOOL, StepEffect.REACHES_OUT, TeamPolicy(calls=dict.fromkeys(StepEffect, BOTH)))
        == BOTH
    )
    assert required_approval(ApprovalKind.STEP, StepEffect.READS, CAREFUL_POLICY) == {"who": "open"}
    assert required_approval(ApprovalKind.PLAN, StepEffect.READS, TeamPolicy(plan=FOUR)) == FOUR
    assert required_approval(ApprovalKind.FAILURE, StepEffect.READS, everything_open) == {"who": "person"}


def test_step_by_step_asks_about_the_plan_only_where_more_than_one_word_is_wanted():
    assert step_by_step_policy(CAREFUL_POLICY).plan == {"who": "open"}
    assert step_by_step_policy(TeamPolicy(plan=FOUR)).plan == FOUR
    assert step_by_step_policy(TeamPolicy(plan=BOTH)).plan == BOTH
    assert step_by_step_policy(TeamPolicy(plan={"who": "person", "persons": 2})).plan["persons"] == 2
    assert step_by_step_policy(CAREFUL_POLICY).steps[StepEffect.READS] == {"who": "person"}
    assert step_by_step_policy(TeamPolicy(steps=dict.fromkeys(StepEffect, BOTH))).steps[StepEffect.READS] == BOTH


def test_only_what_one_person_is_asked_about_twice_may_pass_with_its_step():
    assert may_pass_with_steps(WATCHFUL_POLICY)
    for each in ({"who": "open"}, FOUR, BOTH, {"who": "person", "persons": 2}):
        assert not may_pass_with_steps(TeamPolicy(calls=dict.fromkeys(StepEffect, each)))
    steps_open = dict.fromkeys(StepEffect, OPEN)
    assert not may_pass_with_steps(TeamPolicy(steps=steps_open, calls=dict.fromkeys(StepEffect, PERSON)))


def test_the_table_of_a_policy_says_how_and_until_when():
    ends = {"who": "person", "hours": 48, "expiry": "reject"}
    said = [
        row.rule
        for row in policy_lines(TeamPolicy(plan=ends, calls={**CAREFUL_POLICY.calls, StepEffect.REACHES_OUT: BOTH}))
    ]
    assert said[0] == "rejected after 48 hours"
    assert said[5] == "the person first, without seeing the verdict"
    seen = {**BOTH, "blind": False}
    assert [row.rule for row in policy_lines(TeamPolicy(calls={**CAREFUL_POLICY.calls, StepEffect.REACHES_OUT: seen}))][
        5
    ] == "each of them"
