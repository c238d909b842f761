"""The source's calls: words to the planner, and everything deleted."""

import pytest
from asgiref.sync import sync_to_async

from engine.audit.full_verification import verify_all
from engine.models import Gate, GateDecision, ModelCall, Run
from plans import projects
from plans.models import Plan, PlanMessage, PlanStep, PlanStepState, Project
from plans.rules.approval_policy import TeamPolicy
from plans.rules.enums import StepEffect
from tests.conftest import allow
from tests.plans.scenes import SUM, plan, questions, steps, team
from tests.plans.source import HeldModels, PlanProgram, Steps, begun
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)


async def clarify(these, words="Until Friday.", **more):
    said = {"plan_id": these.plan, "session_id": "s-1", "human_clarification": words}
    return await these.program.post("/human_clarification_on_plan", **{**said, **more})


def told(models):
    """What the planner was told last."""
    return next(asked for model, asked in reversed(models.asked) if model == "test/planner")[1]["content"]


@pytest.fixture
async def these(program, models, working):
    return await begun(program, models, steps(SUM))


async def test_a_question_of_the_planner_is_answered_and_the_plan_comes(program, models, working):
    these = await begun(program, models, questions("Until when?"), steps(SUM))
    answer = await clarify(these)
    assert answer.json() == {"status": "Answered: the planner goes on", "session_id": "s-1"}
    await these.stand("awaiting_feedback")
    assert "Until Friday." in told(models)
    said = [one["content"] for one in await program.said("/agent_messages/s-1")]
    assert said[:3] == ["Add two and three.", "Until when?", "Until Friday."]


async def test_where_nothing_is_asked_the_rest_is_planned_anew(these, models):
    models.will("test/planner", steps(("Add three and three.", *SUM[1:])))
    assert (await clarify(these, "Take three.")).status_code == 200
    newest = PlanStep.objects.filter(plan=these.plan, number=2)
    await until(newest.aexists, "another step")
    assert "Take three." in told(models)
    said = [(one["source"], one["content"]) for one in await these.program.said("/agent_messages/s-1")]
    assert ("Human", "Take three.") in said


CANNOT_BE_TAKEN = [
    ({"human_clarification": " "}, 422, "human_clarification"),
    ({"human_clarification": "a" * 4_001}, 422, "human_clarification"),
    ({"session_id": "s-2"}, 422, "session_id"),
    ({"plan_id": "none"}, 404, None),
    ({"user_id": "noor"}, 403, None),
]


async def test_words_that_cannot_be_taken_are_refused_with_their_place(these):
    for more, status, path in CANNOT_BE_TAKEN:
        answer = await clarify(these, **more)
        places = [one["path"] for one in answer.json().get("errors", [])]
        assert (answer.status_code, places) == (status, [path] if path else []), more
    assert not await PlanMessage.objects.filter(source="Human").aexists()


async def test_a_plan_that_is_over_hears_nothing(these):
    assert (await these.all(approved=False)).status_code == 200
    await these.comes_to("failed")
    assert (await clarify(these)).status_code == 409


async def test_without_the_scope_nothing_is_said_or_deleted(these, mira):
    without = these.of(await sync_to_async(PlanProgram)(mira, scopes=("submit", "decide")))
    assert (await clarify(without)).status_code == 403
    assert (await without.program.delete("/messages", confirm="mira")).status_code == 403


# ---- everything deleted -----------------------------------------------------------------------------------


@pytest.fixture
async def deleter(program, mira):
    program.user = await sync_to_async(allow)(mira, "engine.redact_run")
    return program


async def test_nothing_is_deleted_without_the_own_name(these, deleter):
    for sent in ({}, {"confirm": ""}, {"confirm": "noor"}, {"confirm": "yes"}):
        answer = await deleter.delete("/messages", **sent)
        assert (answer.status_code, [one["path"] for one in answer.json()["errors"]]) == (422, ["confirm"])
    assert len(await deleter.said("/plans")) == 1


async def test_who_may_not_erase_is_told_so(these):
    answer = await these.program.delete("/messages", confirm="mira")
    assert (answer.status_code, "redact it" in answer.json()["detail"]) == (403, True)
    assert len(await these.program.said("/plans")) == 1


async def test_what_was_deleted_is_in_no_answer_and_no_table(these, deleter, models, noor, house):
    other = await sync_to_async(plan)(noor, house, matter="s-1", task="Of somebody else.")
    await clarify(these, "Quetzalcoatlus flies.")
    assert (await deleter.delete("/messages", confirm="mira")).json() == {"status": "1 plan deleted"}
    assert await deleter.said("/plans") == await deleter.said("/messages") == []
    for path in (f"/steps/{these.plan}", "/agent_messages/s-1"):
        assert (await deleter.get(path)).status_code == 404
    assert await sync_to_async(texts_left)(these.plan) == set()
    assert not (await sync_to_async(verify_all)()).faults
    assert (await Plan.objects.aget(pk=other.pk)).task == "Of somebody else."


def texts_left(pk):
    return {
        *Plan.objects.filter(pk=pk).values_list("task", flat=True),
        *PlanStepState.objects.filter(step__plan=pk).values_list("action", flat=True),
        *PlanMessage.objects.filter(plan=pk).values_list("content", flat=True),
        *Gate.objects.filter(run=pk).values_list("text", flat=True),
        *GateDecision.objects.filter(gate__run=pk).values_list("text", flat=True),
        *ModelCall.objects.filter(run=pk).values_list("answer", flat=True),
        *Plan.objects.filter(pk=pk).values_list("matter__name", flat=True),
    } - {""}


async def test_what_ran_is_cancelled_and_a_session_of_the_same_name_begins_anew(these, deleter, models):
    assert (await Run.objects.aget(pk=these.plan)).status == Run.Status.WAITING
    await deleter.delete("/messages", confirm="mira")
    run = await Run.objects.aget(pk=these.plan)
    assert (run.status, run.redacted is not None) == (Run.Status.CANCELLED, True)
    models.will("test/planner", steps(SUM))
    second = await deleter.begin()
    assert [one["id"] for one in await deleter.said("/plans", session_id="s-1")] == [second["plan_id"]]
    assert await Project.objects.acount() == 2


@pytest.fixture
def models():
    return HeldModels("test/sums")


async def test_a_step_under_way_is_cancelled_and_nothing_comes_after(these, deleter, models):
    await these.all()

    async def asks():
        return [model for model, _ in models.asked].count("test/sums")

    await until(asks, "its agent is asked")
    assert (await deleter.delete("/messages", confirm="mira")).json() == {"status": "1 plan deleted"}
    models.will("test/planner", steps(SUM))
    await deleter.begin("Add it again.", "s-2")  # meanwhile the engine looks for what there is to do
    run = await Run.objects.aget(pk=these.plan)
    assert (run.status, run.redacted is not None, await asks()) == (Run.Status.CANCELLED, True, 1)
    assert await sync_to_async(texts_left)(these.plan) == set()


async def test_judgements_at_its_gates_are_erased_with_it(deleter, models, working, council, settings):
    both = {effect: {"who": "both", "council": "Magi"} for effect in StepEffect}
    await sync_to_async(team)(TeamPolicy(steps=both), name="Judged")
    settings.COMPAT_TEAM = "Judged"
    models.will("test/planner", steps(SUM))
    these = Steps(deleter, await deleter.begin())
    await these.stand("awaiting_feedback")
    child = await Run.objects.aget(parent=these.plan)
    await deleter.delete("/messages", confirm="mira")
    child = await Run.objects.aget(pk=child.pk)
    assert (child.is_ended, child.redacted is not None) == (True, True)


async def test_what_a_broken_deletion_left_is_erased_later(mira, house):
    left = await sync_to_async(plan)(mira, house, matter="s-1")
    await sync_to_async(Project.objects.delete_for_owner)(mira)
    assert not await sync_to_async(projects.erase_deleted_projects)()
    run = await Run.objects.aget(pk=left.pk)
    assert (run.status, run.redacted is not None) == (Run.Status.CANCELLED, True)


async def test_what_is_left_is_counted(deleter, mira, house, monkeypatch):
    monkeypatch.setattr(projects, "ERASURE_BATCH", 2)
    for _ in range(3):
        await sync_to_async(plan)(mira, house, matter="s-1")
    assert (await deleter.delete("/messages", confirm="mira")).json() == {"status": "2 plans deleted, 1 still ending"}
    assert await deleter.said("/plans") == []
