"""What an agent says that it did and no tool shows is nowhere told as done."""

import pytest
from asgiref.sync import sync_to_async

from engine.audit.full_verification import verify_all
from engine.models import Run
from plans.entries import inconsistent_runs
from plans.models import Plan, queries
from plans.prompts import summary
from plans.rules.claims import claim_note, figures
from plans.rules.enums import PlanOutcome, StepEffect, StepOwner, StepStatus
from plans.rules.scheduling import StepSituation, outcome_of
from plans.spec import chat_answer
from runs.procedure.spec import snapshot_of, spec_of_run
from runs.run_object import run_object
from tests.conftest import ScriptedModels, perform
from tests.databases import copied_async, tampering
from tests.plans.offline import entries_of_all, problems
from tests.plans.scenes import ADD, LETTER, SUM, SUMMARY, plan, planned, replies, says, steps, team

pytestmark = pytest.mark.django_db(transaction=True)
NOTE = "Claimed: no tool was used."
FIGURES = "0 of 1 completed steps that write or send used a tool for it. No tool changed or sent anything."


def done(effect, used=None, owner=StepOwner.ASSISTANT, status=StepStatus.COMPLETED):
    return StepSituation(1, status, owner, StepEffect(effect), used=used and StepEffect(used))


def test_a_completed_step_claims_where_no_call_did_as_much_as_it_was_there_for():
    notes = {
        ("writes", None): "Claimed: no tool was used.",
        ("writes", "reads"): "Claimed: no tool that writes was used.",
        ("reaches_out", "writes"): "Claimed: no tool that sends was used.",
        ("writes", "writes"): "",
        ("writes", "reaches_out"): "",
        ("reaches_out", "reaches_out"): "",
        ("reads", None): "",
    }
    assert {about: claim_note(done(*about)) for about in notes} == notes
    assert (
        claim_note(done("writes", owner=StepOwner.PERSON)) == claim_note(done("writes", status=StepStatus.FAILED)) == ""
    )


def test_a_plan_with_a_claim_is_not_plainly_done():
    assert outcome_of([done("writes", "writes"), done("reads")]) is PlanOutcome.DONE
    assert outcome_of([done("writes", "writes"), done("writes")]) is PlanOutcome.CLAIMED


def test_figures_count_calls_and_read_no_text():
    told = figures([done("writes", "writes"), done("reaches_out")], [("files.write", StepEffect.WRITES)] * 2)
    of_steps = "1 of 2 completed steps that write or send used a tool for it."
    assert told == f"{of_steps} Tools that changed or sent something: files.write (2). Nothing was sent."
    assert figures([done("reads")], [("people.find", StepEffect.READS)]) == "No tool changed or sent anything."


@pytest.fixture
async def claimed(mira, models):
    """A letter that its agent only says to have sent, and a sum that comes after it."""
    run, asked = await _claimed(mira)
    models.asked += asked
    return run


@copied_async
async def _claimed(mira):
    models = ScriptedModels()
    run = await planned(mira, models, steps(LETTER, SUM), SUMMARY)
    models.will("test/letters", replies("The letter was sent."))
    models.will("test/sums", ADD, replies("It is 5."))
    await says(run, mira, "approve", "all")
    return await perform(run, models), models.asked


async def test_every_reader_of_a_plan_meets_the_claim(claimed):
    row = await sync_to_async(lambda: spec_of_run(claimed).rows().get(pk=claimed.pk))()
    told = await sync_to_async(run_object)(row, "")
    first, second = told["steps"]
    assert (claimed.outcome, told["figures"]) == ("claimed", FIGURES)
    assert [first["claimed"], first["note"], second["claimed"], second["note"]] == [True, NOTE, False, None]
    assert f"{NOTE} The letter was sent." in chat_answer(told, "claimed")["reason"]
    assert FIGURES in chat_answer(told, "claimed")["reason"]
    shown = await sync_to_async(lambda: spec_of_run(claimed).display(snapshot_of(claimed)))()
    assert (shown.word, shown.can_start_another, shown.figures, shown.claims) == ("Claimed", False, FIGURES, True)
    assert [(step.word, step.note) for step in shown.steps] == [("Claimed", NOTE), ("Completed", "")]


async def test_later_agents_and_the_closing_summary_are_told_of_the_claim(claimed, models):
    told = {model: request[1]["content"] for model, request in models.asked}
    assert NOTE in told["test/sums"]
    assert NOTE in told["test/planner"]
    assert FIGURES in told["test/planner"]
    plan = await sync_to_async(queries.load_plan)(claimed.pk)
    ending = await sync_to_async(queries.ending_of)(plan)
    assert f"{NOTE} The letter was sent." in summary.rule_summary(PlanOutcome.CLAIMED, ending)


async def test_a_later_plan_is_told_that_an_earlier_one_was_only_claimed(mira, models):
    run = await planned(mira, models, steps(LETTER), SUMMARY, matter="Ada")
    models.will("test/letters", replies("The letter was sent."))
    await says(run, mira, "approve", "all")
    await perform(run, models)
    models.will("test/planner", steps(SUM))
    again = await sync_to_async(plan)(mira, await sync_to_async(team)(name="Other"), matter="Ada")
    await perform(again.pk, models)
    told = models.asked[-1][1][1]["content"]
    assert '"outcome": "claimed"' in told
    assert FIGURES in told


async def test_the_claim_follows_from_the_record_for_all_who_verify_it(claimed):
    entries = (await sync_to_async(entries_of_all)())[str(claimed.pk)]
    assert problems(entries) == []
    entries[-1]["facts"]["outcome"] = "done"
    assert problems(entries) == ["The outcome does not follow from the steps: done, not claimed"]
    entries[0]["facts"]["prompt_version"] = "2"  # of a plan that was over before there was such an outcome
    assert problems(entries) == []
    assert not (await sync_to_async(verify_all)()).faults


def turn_to_done(run, prompt_version="3"):
    with tampering():
        Run.objects.filter(pk=run).update(outcome="done")
        Plan.objects.filter(pk=run).update(prompt_version=prompt_version)
    return [text for _, text in inconsistent_runs([run])]


async def test_a_claim_that_is_turned_to_done_is_noticed_and_of_older_plans_it_is_how_they_ended(claimed):
    assert await sync_to_async(turn_to_done)(claimed.pk) == ["Its steps came to claimed, and it says done."]
    assert not await sync_to_async(turn_to_done)(claimed.pk, prompt_version="2")
