"""Where the gates of a plan stand on the page of what waits: by what follows from them, the plan before its steps."""

import asyncio

import pytest

from engine.models import Gate
from runs.approvals.pending import EXTERNAL_GROUP, WORK_GROUP, group_gates, group_of
from tests.conftest import perform
from tests.plans.scenes import LETTER, SUM, plan, steps, team

pytestmark = pytest.mark.django_db(transaction=True)


def waits(mira, models, *planned):
    models.will("test/planner", steps(*planned))
    made = plan(mira, team())
    asyncio.run(perform(made.pk, models))
    return list(Gate.objects.pending().filter(run=made.pk).listed().order_by("-made", "-pk"))


def test_what_reaches_out_leaves_the_house_and_the_plan_stands_before_its_steps(mira, models):
    [group] = group_gates(waits(mira, models, SUM, LETTER))
    assert group.name == EXTERNAL_GROUP[0]
    assert [item.gate.kind for item in group.items] == ["plan", "step"]
    assert group.items[1].title == f"Step 2: {LETTER[0]}"


def test_a_plan_that_only_reads_is_not_said_to_change_something(mira, models):
    [gate] = waits(mira, models, SUM)
    assert group_of(gate) == WORK_GROUP
