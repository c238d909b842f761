"""Steps that fail, and what is said meanwhile: the planner is asked anew."""

import re

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from engine.llm.prompt_blocks import read_fence
from engine.models import ModelCall, Run
from plans import comments
from plans.display import display_of
from plans.models import PlanStep, writes
from plans.prompts.planner import ProposedPlan, ProposedStep
from plans.rules.approval_policy import OPEN_READS
from plans.rules.places import StepPlace, place_of
from runs.live.feed import snapshot_of
from tests.conftest import perform
from tests.plans.scenes import LETTER, SUM, SUMMARY, move, pending, planned, says, steps, team

pytestmark = pytest.mark.django_db(transaction=True)


async def test_a_step_that_fails_is_planned_anew_twice_and_then_a_person_is_asked(mira, models):
    version = await sync_to_async(team)(OPEN_READS)
    models.will("test/sums", *[move("give_up", f"No {number}.") for number in range(3)])
    again = [steps((f"Add it, way {number}.", *SUM[1:])) for number in range(3)]
    run = await planned(mira, models, *again, SUMMARY, version=version)
    [gate] = await sync_to_async(pending)(run)
    assert gate.kind == "failure"
    assert "No 2." in gate.text
    models.will("test/sums", move("give_up", "No 3."))
    await says(run, mira, "approve", "again")
    await perform(run, models)
    await says(run, mira, "reject", "skip")
    assert (await perform(run, models)).outcome == "failed"
    shown = display_of(await sync_to_async(lambda: snapshot_of(Run.objects.get(pk=run)))())
    assert (shown.steps[0].word, shown.steps[0].error) == ("Left out", "No 3.")
    assert shown.progress == "0 of 1 steps completed, 1 left out, revision 3 in place of steps 1, 2"


async def test_a_step_that_fails_while_the_plan_waits_has_it_planned_anew(mira, models):
    run = await planned(mira, models, *[steps(SUM)] * 3)
    models.will("test/sums", move("ask", "Which two?"))
    await says(run, mira, "approve", "all")
    await perform(run, models)
    await sync_to_async(comments.post_comment)(run, mira, "And then twice that.")
    await perform(run, models)
    models.will("test/sums", move("give_up", "I cannot."))
    await says(run, mira, "answer", text="Two and three.", kind="question")
    await perform(run, models)
    assert [one.step for one in await sync_to_async(pending)(run)] == ["plan-3"]


async def test_all_that_is_said_to_the_planner_before_it_plans_is_planned_by(mira, models):
    run = await planned(mira, models, steps(SUM), steps(LETTER))
    await says(run, mira, "reject", "revise", "No sums.")
    for words in ("Use Ada's new address.", "And be short."):
        await sync_to_async(comments.post_comment)(run, mira, words)
    await perform(run, models)
    asked = models.asked[-1][1][1]["content"]
    assert all(words in asked for words in ("No sums.", "Use Ada's new address.", "And be short."))


async def test_however_much_is_said_before_it_plans_it_can_be_planned_anew_later(mira, models):
    run = await planned(mira, models, *[steps(SUM)] * 2)
    for number in range(15):
        await sync_to_async(comments.post_comment)(run, mira, f"And then {number}.")
    await perform(run, models)
    await sync_to_async(comments.post_comment)(run, mira, "Once more.")
    assert (await sync_to_async(writes.PlanRevision.objects.filter(plan=run).latest)("number")).number == 17


async def test_a_step_that_fails_while_it_is_planned_anew_is_seen_to(mira, models):
    run = await planned(mira, models, steps(SUM))
    await says(run, mira, "approve", "all")
    models.will("test/sums", move("ask", "Which two?"))
    await perform(run, models)
    await sync_to_async(comments.post_comment)(run, mira, "Otherwise.")
    await sync_to_async(fail_and_plan)(run)
    models.will("test/planner", steps(LETTER))
    await perform(run, models)
    assert "Step 1 failed: I cannot." in models.asked[-1][1][1]["content"]
    assert [one.step for one in await sync_to_async(pending)(run)] == ["plan-3", "step-3"]


def fail_and_plan(run):
    """As it comes about where a step works while the planner is asked."""
    step = PlanStep.objects.get(plan=run)
    writes.fail_step(run, 1, "I cannot.")
    call = ModelCall.objects.create(run_id=run, step="plan-2", series=0, attempt=1, deadline=timezone.now())
    letter = ProposedStep("Write it.", "Letters", ("mail.draft",), (1,))
    writes.save_plan(run, 2, call, ProposedPlan("So.", steps=(letter,)), known_failures=[])
    step.refresh_from_db()
    assert (step.status, step.last_in) == ("failed", None)


def test_a_step_keeps_its_number_where_it_comes_after_the_same_steps_as_before():
    done, new, new_after_all = StepPlace(1, ()), StepPlace(5, (1,), is_new=True), StepPlace(5, None, is_new=True)
    after_one, after_all = StepPlace(3, (1,)), StepPlace(3, None)
    found = {
        "a new step comes later": place_of(after_one, [done, new], {1, 2}),
        "the new step comes after all": place_of(after_one, [done, new_after_all], {1, 2}),
        "a later step has begun": place_of(after_one, [done, StepPlace(4, ())], {1}),
        "after all, and they are the same": place_of(after_all, [done, StepPlace(2, ())], {1, 2}),
        "after all, and one is gone": place_of(after_all, [done], {1, 2}),
        "after all, and one is new": place_of(after_all, [done, new], {1}),
    }
    assert [said for said, place in found.items() if place is not None] == [
        "a new step comes later",
        "after all, and they are the same",
    ]
    assert found["a new step comes later"] == 1


@pytest.mark.parametrize("needs", [[1], None])
async def test_an_approval_stays_where_a_step_and_what_it_comes_after_stay_and_else_says_what_changed(
    needs, page, mira, models
):
    again = steps(("Add it twice.", *SUM[1:], [] if needs else None), (*LETTER, needs))
    run = await planned(mira, models, steps(SUM, (*LETTER, needs)), again)
    models.will("test/sums", move("ask", "Which two?"))
    await says(run, mira, "approve", "all")
    await perform(run, models)
    await sync_to_async(comments.post_comment)(run, mira, "And then twice that.")
    await perform(run, models)
    [left] = read_fence(models.asked[-1][1][1]["content"])["left"]
    assert left == {"number": 2, "owner": "Letters", "action": LETTER[0], "tools": LETTER[2], "needs": needs}
    asked = {one.step: one.pk for one in await sync_to_async(pending)(run)}
    letter, told = ("step-2", "plan-2") if needs else ("step-4", "step-4")
    html = await sync_to_async(lambda: page.get(f"/gates/{asked[told]}/").content.decode())()
    stays = "Step 2 is approved already." in html
    again = "Unchanged since you approved it as step 2 on" in html and "but other steps come before it now." in html
    assert (letter in asked, stays, again) == ((False, True, False) if needs else (True, False, True))


async def test_a_step_that_was_approved_and_changed_says_what_of_it_changed(page, mira, models):
    run = await planned(mira, models, steps(SUM, LETTER))
    models.will("test/sums", move("ask", "Which two?"))
    await says(run, mira, "approve", "all")
    await perform(run, models)
    await sync_to_async(comments.change_step)(run, mira, 2, {"action": "Write it to Ben.", "tools": ["mail.draft"]})
    await perform(run, models)
    asked = {one.step: one.pk for one in await sync_to_async(pending)(run)}
    html = await sync_to_async(lambda: page.get(f"/gates/{asked['step-2']}/").content.decode())()
    assert re.search(
        r"Changed since you approved it on [^:]+:\d\d UTC: its tools or their descriptions and action\.", html
    )
