"""What decides what is due in a plan and is no evidence itself is held against what is."""

import asyncio
from datetime import timedelta

import pytest
from django.utils import timezone

from engine.audit.full_verification import verify_all
from engine.models import Gate
from plans import comments
from plans.models import Plan, PlanRevision, PlanStep, PlanStepMove, Project
from tests.columns import faults
from tests.conftest import ScriptedModels, perform
from tests.databases import copied, tampering
from tests.plans.scenes import ADD, SUM, SUMMARY, plan, replies, steps
from tests.read_gates import decide_as_read

pytestmark = pytest.mark.django_db(transaction=True)

BEFORE, AFTER = timezone.now() - timedelta(days=1), timezone.now() + timedelta(days=1)
ANSWER = steps(SUM, ("Add it again.", "Sums", ["figures.calculate"]))


@pytest.fixture
def done(mira):
    """Of two steps, the first of which used a tool."""
    return _done(mira)


@copied
def _done(mira):
    models = ScriptedModels()
    models.will("test/planner", ANSWER, SUMMARY)
    models.will("test/sums", ADD, replies("5."), replies("5."))
    made = plan(mira, matter="Sums")
    asyncio.run(perform(made.pk, models))
    decide_as_read(Gate.objects.get(run=made.pk).pk, mira, "approve", "", "all")
    asyncio.run(perform(made.pk, models))
    assert not verify_all().faults
    return made.pk


# what is there in place of what is possible; another value of each column stands in test_columns
CHANGES = [
    (Plan, {"stopped": True}),
    *[(PlanRevision, {"standing": standing}) for standing in ("proposed", "ordered", "replaced")],
    *[
        (PlanRevision, {"call": None}),
        (PlanRevision, {"places": [2, 1]}),
        (PlanStep, {"agent": None}),
        (PlanStep, {"began": None}),
    ],
    *[(PlanStep, {"last_in": 1}), (PlanStep, {"position": 1})],
    *[(Project, {"owner": None}), (Project, {"name": ""}), *[(Project, {"created": one}) for one in (BEFORE, AFTER)]],
    (PlanStepMove, {"settled": None}),
    *[(Project, {"name": "", "erased": BEFORE}), (Project, {"erased": AFTER})],
]


def test_each_change_of_a_column_that_says_what_is_due_is_found(done):
    unseen = []
    with tampering():
        for model, change in CHANGES:
            row = model.objects.last()
            before = {name: getattr(row, name) for name in change}
            model.objects.filter(pk=row.pk).update(**change)
            unseen += [] if faults(done) else [(model.__name__, change)]
            model.objects.filter(pk=row.pk).update(**before)
    assert (unseen, verify_all().faults) == ([], [])


def test_so_is_a_move_that_is_given_the_answer_or_the_call_of_another(done):
    first, last = PlanStepMove.objects.earliest("pk"), PlanStepMove.objects.latest("pk")
    other = first.tool_call
    with tampering():
        for change in ({"tool_call": None, "settled": timezone.now()}, {"step_id": last.step_id, "number": 9}):
            before = {name: getattr(first, name) for name in change}
            PlanStepMove.objects.filter(pk=first.pk).update(**change)
            assert faults(done)
            PlanStepMove.objects.filter(pk=first.pk).update(**before)
        PlanStepMove.objects.filter(pk=first.pk).update(tool_call=None)
        PlanStepMove.objects.filter(pk=last.pk).update(tool_call=other)
        assert faults(done)


def test_steps_of_a_later_revision_come_after_all_before_them(mira, models):
    """However often it was planned anew with the same steps."""
    three = [(f"Add {number}.", "Sums", ["figures.calculate"], []) for number in range(3)]
    models.will("test/planner", steps(*three), steps(*three), steps(three[2], SUM))
    made = plan(mira)
    for words in ("", "Again.", "The last one first."):
        if words:
            comments.post_comment(made.pk, mira, words, None)
        asyncio.run(perform(made.pk, models))
    made = Plan.objects.planned().get(pk=made.pk)
    assert [step.number for step in made.steps_now] == [3, 4]
    assert [one.places for one in made.revisions.all()] == [[1, 2, 3], [1, 2, 3], [3, 4]]
    assert not verify_all().faults
