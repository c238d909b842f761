"""What comes next in a plan, and that every plan ends."""

import itertools
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plans.rules import scheduling
from plans.rules.approval_policy import OPEN_READS, POLICIES, STEP_BY_STEP, ApprovalKind, TeamPolicy, meaning
from plans.rules.enums import (
    TRANSITIONS,
    PlanOutcome,
    RevisionCause,
    RevisionStatus,
    StepEffect,
    StepEvent,
    StepOwner,
    StepStatus,
    TransitionNotAllowed,
    next_status,
)
from plans.rules.scheduling import (
    BeginAction,
    CloseAction,
    GateAction,
    PassAction,
    PlanSituation,
    RevisionSituation,
    StepSituation,
    ThinkAction,
    UseToolAction,
    branch_actions,
    next_actions,
)
from tests.plans.plays import PlanPlay

READS, WRITES, OUT = StepEffect
DONE = StepStatus.COMPLETED


def facts(*steps, standing=RevisionStatus.ACCEPTED, **values):
    return PlanSituation((RevisionSituation(1, standing),), tuple(steps), **values)


def approved(number, **values):
    return StepSituation(number, StepStatus.APPROVED, **values)


@given(st.sampled_from([*POLICIES.values()]), st.integers(0, 2**32), st.sampled_from([0, 5, 20, 60]))
def test_every_plan_ends_and_begins_nothing_that_its_policy_asks_about_unasked(policy, seed, trouble):
    play = PlanPlay(policy, seed, trouble).to_the_end()
    asked = {part.step for part in play.parts if isinstance(part, GateAction) and part.kind is ApprovalKind.STEP}
    passed = {part.step for part in play.parts if isinstance(part, PassAction)}
    assert len(play.begun) == len(set(play.begun))
    assert set(play.begun) <= passed | (asked & play.approved)


@given(st.integers(0, 2**32))
def test_a_plan_in_which_nothing_goes_wrong_is_done(seed):
    assert PlanPlay(POLICIES["Careful"], seed, trouble=0).to_the_end().outcome is PlanOutcome.DONE


# status, event, status: all that there is, written down a second time
TABLE = """
planned passed approved, planned asked awaiting_feedback
awaiting_feedback approve approved, awaiting_feedback reject rejected
planned changed planned, awaiting_feedback changed planned, approved changed planned
planned drop superseded, awaiting_feedback drop superseded, approved drop superseded
planned skip rejected, awaiting_feedback skip rejected, approved skip rejected
approved begin action_requested
action_requested reply completed, action_requested give_up failed, action_requested skip failed
failed again action_requested, failed skip failed
"""


def test_a_step_changes_by_the_table_alone():
    """Of every pair of the eight statuses and the events: what it comes to, or nothing."""
    came = set()
    for status, event in itertools.product(StepStatus, StepEvent):
        with suppress(TransitionNotAllowed):
            came.add(f"{status} {event} {next_status(status, event)}")
    assert came == set(TABLE.strip().replace("\n", ", ").split(", "))


@pytest.mark.parametrize("status", [StepStatus.COMPLETED, StepStatus.REJECTED, StepStatus.SUPERSEDED])
def test_what_is_settled_stays(status):
    assert not [key for key in TRANSITIONS if key[0] is status]


def test_without_needs_a_step_waits_for_all_before_it():
    assert next_actions(facts(approved(1), approved(2))) == [BeginAction(1)]
    assert next_actions(facts(StepSituation(1, DONE), approved(2))) == [BeginAction(2)]
    assert next_actions(facts(StepSituation(1, StepStatus.REJECTED), approved(2))) == [BeginAction(2)]


def test_with_needs_it_waits_for_these_alone():
    steps = (StepSituation(1, StepStatus.WORKING, StepOwner.PERSON), approved(2, needs=()), approved(3, needs=(2,)))
    assert [type(part) for part in next_actions(facts(*steps))] == [GateAction, BeginAction]
    assert next_actions(facts(*steps))[1] == BeginAction(2)


def test_a_step_whose_needs_were_left_out_or_dropped_causes_a_revision():
    for steps in ((StepSituation(1, StepStatus.REJECTED), approved(2, needs=(1,))), (approved(2, needs=(1,)),)):
        assert next_actions(facts(*steps)) == [scheduling.OrderAction(2)]


def test_after_two_revisions_alone_a_person_is_asked():
    failures = tuple(RevisionSituation(number, RevisionStatus.REPLACED, RevisionCause.FAILURE) for number in (2, 3))
    step = StepSituation(1, StepStatus.FAILED)
    tried = facts(step)
    assert next_actions(tried) == [scheduling.OrderAction(1)]
    tried = replace(tried, revisions=(*failures, *tried.revisions))
    assert next_actions(tried)[0].kind is ApprovalKind.FAILURE
    helped = replace(tried, revisions=(*failures, replace(tried.current, by_person=True)))
    assert next_actions(helped) == [scheduling.OrderAction(1)]


def test_the_plan_and_its_steps_are_asked_about_together_where_they_open_ahead():
    proposed = facts(StepSituation(1, effect=WRITES), StepSituation(2), standing=RevisionStatus.PROPOSED)
    assert [(part.kind, part.step) for part in next_actions(proposed)] == [
        (ApprovalKind.PLAN, None),
        (ApprovalKind.STEP, 1),
    ]
    just_before = replace(proposed, policy=replace(TeamPolicy(), ahead=False))
    assert [(part.kind, part.step) for part in next_actions(just_before)] == [(ApprovalKind.PLAN, None)]


def test_nothing_begins_before_the_plan_is_accepted():
    proposed = facts(approved(1), standing=RevisionStatus.PROPOSED)
    assert [type(part) for part in next_actions(proposed)] == [GateAction]


def test_a_policy_that_asks_nobody_passes():
    proposed = facts(StepSituation(1), standing=RevisionStatus.PROPOSED, policy=OPEN_READS)
    assert next_actions(proposed) == [PassAction(None)]
    assert next_actions(facts(StepSituation(1), policy=OPEN_READS)) == [PassAction(1)]


def test_step_by_step_asks_about_what_only_reads_too():
    proposed = facts(StepSituation(1), standing=RevisionStatus.PROPOSED, policy=STEP_BY_STEP)
    assert {type(part) for part in next_actions(proposed)} == {PassAction, GateAction}


def test_while_it_is_planned_anew_what_has_begun_goes_on_and_nothing_begins():
    steps = (StepSituation(1, StepStatus.WORKING, needs=()), approved(2, needs=()))
    ordered = facts(*steps, standing=RevisionStatus.ORDERED)
    assert next_actions(ordered) == [scheduling.ReviseAction(1), ThinkAction(1, 1)]


def test_a_branch_stays_in_its_step_and_then_takes_what_nobody_has():
    working = facts(StepSituation(1, StepStatus.WORKING, calls=True, needs=()), approved(2, needs=()))
    assert branch_actions(working, ThinkAction(1, 1), {2}) == [UseToolAction(1)]
    over = replace(working, steps=(StepSituation(1, DONE), approved(2, needs=()), approved(3, needs=(1,))))
    assert branch_actions(over, UseToolAction(1), {2}) == [BeginAction(3)]
    assert branch_actions(over, UseToolAction(1), {2, 3}) == []


def test_a_branch_takes_what_is_due_where_another_waited_but_not_the_part_that_it_waits_at():
    proposed = facts(StepSituation(1, DONE), standing=RevisionStatus.PROPOSED)
    [asked] = next_actions(proposed)
    assert branch_actions(proposed, UseToolAction(1), (), [asked]) == []
    assert branch_actions(
        facts(StepSituation(1, DONE), standing=RevisionStatus.ORDERED), UseToolAction(1), (), [asked]
    ) == [scheduling.ReviseAction(1)]


@pytest.mark.parametrize(
    ("statuses", "outcome"),
    [
        ([DONE, StepStatus.REJECTED], PlanOutcome.DONE),
        ([StepStatus.REJECTED], PlanOutcome.REJECTED),
        ([StepStatus.FAILED, StepStatus.REJECTED], PlanOutcome.FAILED),
        ([DONE, StepStatus.FAILED], PlanOutcome.DONE),
    ],
)
def test_what_its_steps_come_to(statuses, outcome):
    steps = [
        StepSituation(number, status, skipped=status is StepStatus.FAILED) for number, status in enumerate(statuses, 1)
    ]
    assert next_actions(facts(*steps)) == [CloseAction(outcome)]


def test_where_the_money_is_used_up_a_person_is_asked_before_any_model():
    working = facts(
        StepSituation(1, StepStatus.WORKING, needs=()),
        StepSituation(2, StepStatus.WORKING, calls=True, needs=()),
        used_up=True,
    )
    assert [part.step for part in next_actions(working)] == [2, None]
    assert next_actions(working)[1].kind is ApprovalKind.BUDGET
    assert next_actions(facts(StepSituation(1, DONE), used_up=True)) == [CloseAction(PlanOutcome.DONE)]


def test_what_somebody_ended_is_rejected():
    assert next_actions(facts(StepSituation(1, DONE), ended=True)) == [CloseAction(PlanOutcome.REJECTED)]


def test_a_step_that_spent_its_moves_or_was_refused_too_often_gives_up():
    for spent in ({"moves": scheduling.MOVES}, {"refusals": scheduling.REFUSALS}):
        assert next_actions(facts(StepSituation(1, StepStatus.WORKING, **spent))) == [scheduling.GiveUpAction(1)]


@pytest.mark.parametrize("kind", ApprovalKind)
def test_to_override_a_council_means_what_an_approval_means(kind):
    assert meaning(kind, "override", "") is meaning(kind, "approve", "")


def test_counts_add_up():
    steps = [StepSituation(number, status) for number, status in enumerate(StepStatus, 1)]
    found = scheduling.counts(steps)
    assert found.total == len(StepStatus) - 1 == found.completed + found.pending + found.rejected + found.failed
