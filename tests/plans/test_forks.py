"""A plan goes on from a step of another one: its planner is told what was done, and nothing of it is done again."""

import asyncio
import json

import pytest

from engine.audit.full_verification import verify_all
from engine.models import Fork, Gate, ToolCall
from plans.models import Plan
from runs.forking import ForkRefused, NoForkPoint, fork, preview
from runs.record.document import record_line
from tests.conftest import ScriptedModels, perform
from tests.databases import copied
from tests.plans.scenes import LETTER, SUM, SUMMARY, calls, plan, replies, steps
from tests.read_gates import decide_as_read
from tests.tools.offline import verified_forks

pytestmark = pytest.mark.django_db(transaction=True)


@copied
def _done(mira):
    """Two steps: the first is done, the second waits for somebody."""
    models = ScriptedModels()
    models.will("test/planner", steps(SUM, LETTER), SUMMARY)
    models.will("test/sums", calls("figures.calculate", expression="2 + 3"), replies("It is 5."))
    made = plan(mira)
    asyncio.run(perform(made.pk, models))
    decide_as_read(Gate.objects.get(run=made.pk, step="plan-1").pk, mira, "approve", "", "accept")
    asyncio.run(perform(made.pk, models))
    return made.pk


def whole(pk):
    return Plan.objects.with_steps().get(pk=pk)


def test_its_planner_has_the_results_and_no_call_is_made_again(mira, models):
    row = whole(_done(mira))
    made = fork(row, 1, words="Be brief.", owner=mira)
    models.will("test/planner", steps(LETTER))
    asyncio.run(perform(made.pk, models))
    material = json.loads(models.asked[-1][1][1]["content"].split("\n")[1])
    assert all(one in material["notes"] for one in ("It is 5.", "sha256", "mira adds: Be brief."))
    assert "example" not in material
    assert not ToolCall.objects.filter(run=made.pk).exists()
    lines = [record_line(one.pk) for one in (row, made)]
    assert (verified_forks(lines), verified_forks(lines[1:])) == (([], 0), ([], 1))
    assert [(one.origin_id, one.number) for one in Fork.objects.all()] == [(row.pk, 1)]
    assert verify_all().faults == []


def test_a_step_that_has_not_ended_is_not_forked(mira, page):
    row = whole(_done(mira))
    with pytest.raises(ForkRefused, match="This step has not ended"):
        preview(row, 2)
    with pytest.raises(NoForkPoint):
        preview(row, 9)
    shown = page.get(f"/plans/{row.pk}/fork/?step=1").content.decode()
    assert "Go on from step 1" in shown
    began = page.post(f"/plans/{row.pk}/fork/", {"step": "1"})
    assert began.url == f"/plans/{Fork.objects.get().pk}/"
