"""What comes next in a plan, and that every plan ends."""

import itertools
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plans.rules import course
from plans.rules.course import Begin, Close, Facts, Gated, Passed, Revision, Step, Think, Use, next_in, next_parts
from plans.rules.demands import OPEN_READS, POLICIES, STEP_BY_STEP, Kind, Policy, meaning
from plans.rules.words import AFTER, Cause, Effect, Event, NotPossible, Outcome, Owner, Standing, Status, after
from tests.plans.plays import Play

READS, WRITES, OUT = Effect
DONE = Status.COMPLETED


def facts(*steps, standing=Standing.ACCEPTED, **values):
    return Facts((Revision(1, standing),), tuple(steps), **values)


def approved(number, **values):
    return Step(number, Status.APPROVED, **values)


@given(st.sampled_from([*POLICIES.values()]), st.integers(0, 2**32), st.sampled_from([0, 5, 20, 60]))
def test_every_plan_ends_and_begins_nothing_that_its_policy_asks_about_unasked(policy, seed, trouble):
    play = Play(policy, seed, trouble).to_the_end()
    asked = {part.step for part in play.parts if isinstance(part, Gated) and part.kind is Kind.STEP}
    passed = {part.step for part in play.parts if isinstance(part, Passed)}
    assert len(play.begun) == len(set(play.begun))
    assert set(play.begun) <= passed | (asked & play.approved)


@given(st.integers(0, 2**32))
def test_a_plan_in_which_nothing_goes_wrong_is_done(seed):
    assert Play(POLICIES["Careful"], seed, trouble=0).to_the_end().outcome is Outcome.DONE


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
    for status, event in itertools.product(Status, Event):
        with suppress(NotPossible):
            came.add(f"{status} {event} {after(status, event)}")
    assert came == set(TABLE.strip().replace("\n", ", ").split(", "))


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.REJECTED, Status.SUPERSEDED])
def test_what_is_settled_stays(status):
    assert not [key for key in AFTER if key[0] is status]


def test_without_needs_a_step_waits_for_all_before_it():
    assert next_parts(facts(approved(1), approved(2))) == [Begin(1)]
    assert next_parts(facts(Step(1, DONE), approved(2))) == [Begin(2)]
    assert next_parts(facts(Step(1, Status.REJECTED), approved(2))) == [Begin(2)]


def test_with_needs_it_waits_for_these_alone():
    steps = (Step(1, Status.WORKING, Owner.PERSON), approved(2, needs=()), approved(3, needs=(2,)))
    assert [type(part) for part in next_parts(facts(*steps))] == [Gated, Begin]
    assert next_parts(facts(*steps))[1] == Begin(2)


def test_a_step_whose_needs_were_left_out_or_dropped_causes_a_revision():
    for steps in ((Step(1, Status.REJECTED), approved(2, needs=(1,))), (approved(2, needs=(1,)),)):
        assert next_parts(facts(*steps)) == [course.Order(2)]


def test_after_two_revisions_alone_a_person_is_asked():
    failures = tuple(Revision(number, Standing.REPLACED, Cause.FAILURE) for number in (2, 3))
    step = Step(1, Status.FAILED)
    tried = facts(step)
    assert next_parts(tried) == [course.Order(1)]
    tried = replace(tried, revisions=(*failures, *tried.revisions))
    assert next_parts(tried)[0].kind is Kind.FAILURE
    helped = replace(tried, revisions=(*failures, replace(tried.current, by_person=True)))
    assert next_parts(helped) == [course.Order(1)]


def test_the_plan_and_its_steps_are_asked_about_together_where_they_open_ahead():
    proposed = facts(Step(1, effect=WRITES), Step(2), standing=Standing.PROPOSED)
    assert [(part.kind, part.step) for part in next_parts(proposed)] == [(Kind.PLAN, None), (Kind.STEP, 1)]
    just_before = replace(proposed, policy=replace(Policy(), ahead=False))
    assert [(part.kind, part.step) for part in next_parts(just_before)] == [(Kind.PLAN, None)]


def test_nothing_begins_before_the_plan_is_accepted():
    proposed = facts(approved(1), standing=Standing.PROPOSED)
    assert [type(part) for part in next_parts(proposed)] == [Gated]


def test_a_policy_that_asks_nobody_passes():
    proposed = facts(Step(1), standing=Standing.PROPOSED, policy=OPEN_READS)
    assert next_parts(proposed) == [Passed(None)]
    assert next_parts(facts(Step(1), policy=OPEN_READS)) == [Passed(1)]


def test_step_by_step_asks_about_what_only_reads_too():
    proposed = facts(Step(1), standing=Standing.PROPOSED, policy=STEP_BY_STEP)
    assert {type(part) for part in next_parts(proposed)} == {Passed, Gated}


def test_while_it_is_planned_anew_what_has_begun_goes_on_and_nothing_begins():
    steps = (Step(1, Status.WORKING, needs=()), approved(2, needs=()))
    ordered = facts(*steps, standing=Standing.ORDERED)
    assert next_parts(ordered) == [course.Revise(1), Think(1, 1)]


def test_a_branch_stays_in_its_step_and_then_takes_what_nobody_has():
    working = facts(Step(1, Status.WORKING, calls=True, needs=()), approved(2, needs=()))
    assert next_in(working, Think(1, 1), {2}) == [Use(1)]
    over = replace(working, steps=(Step(1, DONE), approved(2, needs=()), approved(3, needs=(1,))))
    assert next_in(over, Use(1), {2}) == [Begin(3)]
    assert next_in(over, Use(1), {2, 3}) == []


def test_a_branch_takes_what_is_due_where_another_waited_but_not_the_part_that_it_waits_at():
    proposed = facts(Step(1, DONE), standing=Standing.PROPOSED)
    [asked] = next_parts(proposed)
    assert next_in(proposed, Use(1), (), [asked]) == []
    assert next_in(facts(Step(1, DONE), standing=Standing.ORDERED), Use(1), (), [asked]) == [course.Revise(1)]


@pytest.mark.parametrize(
    ("statuses", "outcome"),
    [
        ([DONE, Status.REJECTED], Outcome.DONE),
        ([Status.REJECTED], Outcome.REJECTED),
        ([Status.FAILED, Status.REJECTED], Outcome.FAILED),
        ([DONE, Status.FAILED], Outcome.DONE),
    ],
)
def test_what_its_steps_come_to(statuses, outcome):
    steps = [Step(number, status, skipped=status is Status.FAILED) for number, status in enumerate(statuses, 1)]
    assert next_parts(facts(*steps)) == [Close(outcome)]


def test_where_the_money_is_used_up_a_person_is_asked_before_any_model():
    working = facts(Step(1, Status.WORKING, needs=()), Step(2, Status.WORKING, calls=True, needs=()), used_up=True)
    assert [part.step for part in next_parts(working)] == [2, None]
    assert next_parts(working)[1].kind is Kind.BUDGET
    assert next_parts(facts(Step(1, DONE), used_up=True)) == [Close(Outcome.DONE)]


def test_what_somebody_ended_is_rejected():
    assert next_parts(facts(Step(1, DONE), ended=True)) == [Close(Outcome.REJECTED)]


def test_a_step_that_spent_its_moves_or_was_refused_too_often_gives_up():
    for spent in ({"moves": course.MOVES}, {"refusals": course.REFUSALS}):
        assert next_parts(facts(Step(1, Status.WORKING, **spent))) == [course.GiveUp(1)]


@pytest.mark.parametrize("kind", Kind)
def test_to_override_a_council_means_what_an_approval_means(kind):
    assert meaning(kind, "override", "") is meaning(kind, "approve", "")


def test_counts_add_up():
    steps = [Step(number, status) for number, status in enumerate(Status, 1)]
    found = course.counts(steps)
    assert found.total == len(Status) - 1 == found.completed + found.pending + found.rejected + found.failed
