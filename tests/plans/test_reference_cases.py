"""Cases that others show their planners with: what the user does, how often they are asked, and what is there after.

Onboarding, the press release and the guard before what leaves the house stand in `test_asked_seldom.py`, an answer in
the middle of a step in `test_procedure.py`, a plan from a finished one in `test_begun_from.py`.
"""

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings

from engine.models import Gate, GateDecision, Run
from office import example
from office.models import OfficeDocument, Task
from plans import comments
from plans.models import Plan
from plans.rules.approval_policy import TeamPolicy
from tests.conftest import perform
from tests.plans.scenes import SUMMARY, calls, plan, replies, steps, team
from tests.read_gates import decide_as_read

pytestmark = pytest.mark.django_db(transaction=True)

DESK = [{"name": "Desk", "description": "Keeps order.", "tools": ["tasks.add", "tasks.find"]}]
ANALYST = [
    {"name": "Analyst", "description": "Reads and counts.", "tools": ["documents.read", "figures.calculate"]},
    {"name": "Writer", "description": "Writes.", "tools": ["documents.write", "tasks.add"]},
]
ADDS = ["tasks.add"]


def step(action):
    return action, "Desk", ADDS


def adds(title):
    return calls("tasks.add", title=title), replies(f"{title} is there.")


@pytest.fixture
def decide(mira):
    """One act of hers at the pending gate of this kind, of this step where one is named."""

    @sync_to_async
    def decide(run, decision, choice="", text="", kind="plan", at=""):
        asked = Gate.objects.pending().filter(run=run, kind=kind)
        gate = asked.get(step=at) if at else asked.get()
        decide_as_read(gate.pk, mira, decision, text, choice)

    return decide


async def begun(models, mira, agents, *answers):
    models.will(settings.DEFAULT_MODEL, *answers)
    version = await sync_to_async(team)(TeamPolicy(), "Reference", agents, planner=settings.DEFAULT_MODEL)
    made = await sync_to_async(plan)(mira, version, task="As it was shown.")
    await perform(made.pk, models)
    return made.pk


async def test_planned_together_two_steps_are_edited_one_is_added_and_one_dropped_before_it_starts(
    models, mira, decide
):
    first = steps(*(step(f"Add task {n}.") for n in (1, 2, 3)))
    again = steps(*(step(f"Add task {n}.") for n in ("one", "two", 3, 4)))
    done = (*adds("one"), *adds("two"), *adds("4"))
    run = await begun(models, mira, DESK, first, again, *done, SUMMARY)
    for number, word in ((1, "one"), (2, "two")):
        await sync_to_async(comments.change_step)(
            run, mira, number, {"action": f"Add task {word}.", "tools": ["tasks.add"]}
        )
        await perform(run, models)
    await sync_to_async(comments.post_comment)(run, mira, "Add a fourth task, too.")
    await perform(run, models)
    dropped = (await sync_to_async(Plan.objects.planned().get)(pk=run)).steps_now[2]
    await decide(run, "reject", "skip", kind="step", at=dropped.gate_step)
    await perform(run, models)
    await decide(run, "approve", "all")
    assert (await perform(run, models)).outcome == "done"
    assert [one async for one in Task.objects.order_by("pk").values_list("title", flat=True)] == ["one", "two", "4"]
    # she dropped one and approved the rest, which is one act and a decision at each of three gates of steps
    assert [one async for one in GateDecision.objects.values_list("decision", flat=True)].count("reject") == 1
    assert await GateDecision.objects.filter(gate__kind="plan").acount() == 1


@pytest.mark.slow
async def test_satisfaction_is_analysed_and_a_plan_proposed_and_she_is_asked_once(models, mira, decide):
    await sync_to_async(example.load)()
    await OfficeDocument.objects.acreate(name="Survey", text="Desk 3 of 5. Heating 2 of 5. Coffee 5 of 5.")
    proposed = steps(
        ("Read the survey.", "Analyst", ["documents.read"]),
        ("Work out the mean.", "Analyst", ["figures.calculate"]),
        ("Write what to do.", "Writer", ["documents.write"]),
        ("Add a task for the worst of it.", "Writer", ADDS),
    )
    read = (calls("documents.read", name="Survey"), replies("Heating is the worst."))
    worked_out = (calls("figures.calculate", expression="(3 + 2 + 5) / 3"), replies("3.33."))
    written = (calls("documents.write", name="Plan", text="Mend the heating."), replies("It is written."))
    run = await begun(models, mira, ANALYST, proposed, *read, *worked_out, *written, *adds("Mend the heating"), SUMMARY)
    await decide(run, "approve", "all")
    assert (await perform(run, models)).outcome == "done"
    assert (await OfficeDocument.objects.aget(name="Plan")).text == "Mend the heating."
    assert await Task.objects.filter(title="Mend the heating").aexists()
    assert await GateDecision.objects.filter(gate__kind="plan").acount() == 1
    assert not await Gate.objects.filter(run=run, kind="tool").aexists()
    assert (await Run.objects.aget(pk=run)).status == "finished"
