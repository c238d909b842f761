"""Models whose answers cannot be used: a step fails, a person is asked, and no plan that has begun is lost."""

import pytest
from asgiref.sync import sync_to_async

from engine.audit.full_verification import verify_all
from plans import comments
from plans.display import display_of
from plans.models import Plan, PlanMessage, PlanStep
from plans.rules.approval_policy import OPEN_READS
from runs.live.feed import snapshot_of
from tests.conftest import perform
from tests.plans.offline import entries_of_all, problems
from tests.plans.scenes import SUM, SUMMARY, pending, planned, replies, says, steps, team
from tests.plans.source import begun

pytestmark = pytest.mark.django_db(transaction=True)
UNUSABLE = ["I would rather not say."] * 4
OTHERWISE = steps(("Add two and three, otherwise.", *SUM[1:]))


async def failed_once(mira, models, *answers):
    models.will("test/sums", *UNUSABLE)
    return await planned(mira, models, steps(SUM), *answers, version=await sync_to_async(team)(OPEN_READS))


async def test_four_unusable_moves_fail_the_step_and_the_planner_plans_the_rest_anew(mira, models):
    models.will("test/sums", *UNUSABLE, replies("It is 5."))
    version = await sync_to_async(team)(OPEN_READS)
    run = await planned(mira, models, steps(SUM), OTHERWISE, SUMMARY, version=version)
    plan = await sync_to_async(Plan.objects.planned().get)(pk=run)
    assert [(one.number, one.status) for one in plan.steps.all()] == [(1, "failed"), (2, "completed")]
    assert plan.step(1).error.startswith("Sums gave no next move in step 1 after 4 attempts: ")
    assert (plan.run.outcome, plan.revision) == ("done", 2)
    assert await PlanMessage.objects.filter(
        plan=run, source="GroupChatManager", content=f"Step 1: {plan.step(1).error}"
    ).aexists()
    assert (await sync_to_async(verify_all)()).faults == []
    assert problems((await sync_to_async(entries_of_all)())[str(run)]) == []


async def test_by_the_calls_of_the_source_alone_the_failure_gate_leads_on_to_completed(program, models, working):
    models.will("test/sums", *UNUSABLE * 3, replies("It is 5."))
    these = await begun(program, models, steps(SUM), OTHERWISE, steps(SUM), SUMMARY)
    for standing in (["awaiting_feedback"], ["awaiting_feedback"], ["awaiting_feedback"]):
        await these.stand(*standing)
        assert (await these.all(approved=True)).status_code == 200
    await these.stand("awaiting_feedback")
    said = [(one["source"], one["content"]) for one in await program.said("/agent_messages/s-1")]
    assert said[-1][0] == "GroupChatManager"
    assert "Sums gave no next move in step 3 after 4 attempts" in said[-1][1]
    assert (await these.all(approved=True)).json() == {"status": "1 step approved"}  # to try it again
    await these.comes_to("completed")
    [step] = await these.stand("completed")
    assert (step["agent_reply"], step["human_feedback_status"]) == ("It is 5.", "addressed")


async def test_a_planner_that_gives_no_plan_for_the_rest_has_people_asked(mira, models):
    run = await failed_once(mira, models, *UNUSABLE)
    [gate] = await sync_to_async(pending)(run)
    assert (gate.kind, gate.step) == ("question", "questions-2")
    assert gate.text.startswith("The planner gave no plan after 4 attempts: ")
    models.will("test/planner", OTHERWISE, SUMMARY)
    models.will("test/sums", replies("It is 5."))
    await says(run, mira, "answer", text="Add them by hand.")
    assert (await perform(run, models)).outcome == "done"
    assert "Add them by hand." in models.asked[-3][1][1]["content"]
    assert (await sync_to_async(verify_all)()).faults == []


async def test_a_planner_that_names_no_tools_gives_the_step_to_a_person(mira, models):
    run = await planned(mira, models, steps(SUM), *UNUSABLE)
    await sync_to_async(comments.change_step)(run, mira, 1, {"action": "Send the sum to Ada."})
    await perform(run, models)
    step = await PlanStep.objects.select_related("agent").aget(plan=run)
    plan = await sync_to_async(Plan.objects.with_steps().get)(pk=run)
    shown = await sync_to_async(lambda: display_of(snapshot_of(plan.run)))()
    assert (step.owner, step.tools_due, plan.run.status) == ("Person", False, "waiting")
    assert shown.thread[-1].source == "MAGI"
    assert shown.thread[-1].content.endswith("Step 1 is for a person now.")
