"""The source's calls: yes and no to steps, to all of them, and to what is asked within one."""

import asyncio
import json
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from automation_api import feedback
from engine.llm.errors import Unauthorized
from engine.models import Gate, GateDecision, GateRule, Run, ToolCall
from engine.queue.worker import Worker
from plans import comments
from plans.rules.approval_policy import TeamPolicy, step_by_step_policy
from plans.rules.enums import StepEffect
from runs.api.errors import ApiError
from tests.conftest import perform
from tests.databases import copied_async
from tests.plans.scenes import LETTER, SUM, SUMMARY, calls, move, plan, replies, steps, team
from tests.plans.source import HeldModels, PlanProgram, PlanScript, Steps, begun
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)

SEVEN = ("Add six and one.", *SUM[1:])
SEND = calls("mail.send", to=["ada@example.org"], subject="Five", text="It is 5.")
AWAITING = ("awaiting_feedback",) * 3


@pytest.fixture
async def these(program, models, working):
    """Sums, a letter and sums again: each is asked about."""
    models.will("test/sums", replies("It is 5."), replies("It is 7."))
    return await begun(program, models, steps(SUM, LETTER, SEVEN))


@pytest.fixture
async def others(mira, these):
    """The same plan, by another token."""
    return these.of(await sync_to_async(PlanProgram)(mira))


def names(owner, *tools):
    """A planner's answer about a step that was changed."""
    return json.dumps({"thought": "", "owner": owner, "tools": list(tools)})


def told(models, who):
    """What it was told last."""
    return next(asked for model, asked in reversed(models.asked) if model == who)[1]["content"]


async def alone(program, models, step, *answers, model="test/sums"):
    """A plan of one step that is approved, by an agent that answers so."""
    models.will(model, *answers)
    these = await begun(program, models, steps(step), SUMMARY)
    [found] = await these.stand()
    assert (await these.say(found)).status_code == 200
    return these, found


async def test_three_steps_in_three_ways(these, models):
    first, second, third = await these.stand()
    models.will("test/planner", names("Sums", *SUM[2]), SUMMARY)
    answer = await these.say(first, human_feedback="Quickly.")
    assert answer.json() == {"status": "Step 1 approved", "session_id": "s-1", "step_id": first["id"]}
    assert (await these.say(second, approved=False)).json()["status"] == "Step 2 rejected"
    assert (await these.say(third, updated_action="Add six and two.")).json()["status"] == "Step 3 approved"
    since = third["ts"]
    first, second, third = await these.stand("completed", "rejected", "completed")
    assert (third["ts"] > since, {one["user_id"] for one in (first, second, third)}) == (True, {"mira"})
    [found] = await these.program.said("/plans")
    assert [found[f"{name}_steps"] for name in ("total", "completed", "pending")] == [3, 2, 0]
    assert (first["human_feedback"], first["agent_reply"]) == ("Quickly.", "It is 5.")
    assert (third["action"], third["updated_action"]) == ("Add six and one.", "Add six and two.")
    assert [one["human_feedback_status"] for one in (first, second, third)] == ["addressed", "rejected", "addressed"]
    asked = [messages[1]["content"] for model, messages in models.asked if model == "test/sums"]
    assert ("Quickly." in asked[0], "Add six and two." in asked[1]) == (True, True)
    await these.comes_to("completed")


async def test_what_was_not_sent_to_a_token_is_not_decided_by_it(these, others):
    [step, *_] = await these.stand()
    answer = await others.say(step)
    assert (answer.status_code, "awaiting_feedback" in answer.json()["detail"]) == (409, True)
    await others.stand()
    assert (await others.say(step)).status_code == 200


async def test_what_changed_since_it_was_sent_is_looked_at_first(these, mira):
    [first, *_] = await these.stand()
    await sync_to_async(comments.change_step)(
        UUID(these.plan), mira, 1, {"action": "Add two and four.", "tools": SUM[2]}
    )
    assert (await these.say(first)).status_code == 409
    await these.stand(*AWAITING)
    assert (await these.say(first)).status_code == 200


async def test_a_step_at_which_nothing_waits_says_how_it_stands(these):
    [first, *_] = await these.stand()
    await these.say(first)
    await these.stand("completed", "awaiting_feedback", "awaiting_feedback")
    for more in ({}, {"updated_action": "Add nothing."}):
        answer = await these.say(first, **more)
        assert (answer.status_code, "completed" in answer.json()["detail"]) == (409, True)
    assert await GateDecision.objects.acount() == 1


async def test_all_steps_are_approved_by_one_call(these, models):
    models.will("test/letters", replies("Written."))
    assert (await these.all()).json() == {"status": "3 steps approved"}
    await these.comes_to("completed")
    assert await GateDecision.objects.acount() == 3
    assert (await these.all()).status_code == 409


async def test_one_of_all_that_changed_since_is_left(these, mira):
    await these.stand()
    await sync_to_async(comments.change_step)(
        UUID(these.plan), mira, 2, {"action": "Write it to Ben.", "tools": LETTER[2]}
    )
    changed = Gate.objects.filter(state="pending", text__contains="Write it to Ben.")
    await until(changed.aexists, "the changed step is asked about")
    assert (await these.all()).json() == {"status": "2 steps approved, 1 had changed"}


async def test_no_to_all_ends_the_plan(these):
    assert (await these.all(approved=False)).json() == {"status": "Plan rejected: it ends"}
    await these.comes_to("failed")


async def test_no_to_all_with_words_has_it_made_anew(these, models):
    models.script["test/planner"].insert(0, steps(("Add three and three.", *SUM[1:])))
    assert (await these.all(approved=False, human_feedback="Take three.")).status_code == 200
    [found] = await these.stand("awaiting_feedback")
    assert found["action"] == "Add three and three."
    assert "Take three." in told(models, "test/planner")


async def test_the_plans_own_gate_is_decided_with_all(program, models, working):
    await GateRule.objects.acreate(procedure="plan", kind="plan", who="person")
    models.will("test/planner", steps(SUM), SUMMARY)
    models.will("test/sums", replies("It is 5."))
    these = Steps(program, await program.begin())
    assert (await these.all()).json() == {"status": "1 step approved"}
    await these.comes_to("completed")


async def test_a_letter_is_approved_when_its_text_was_sent(program, models, working):
    these, step = await alone(program, models, LETTER, SEND, replies("Sent."), model="test/letters")
    await these.stand("awaiting_feedback")
    assert (await these.say(step)).status_code == 409
    letter = await these.read()
    assert ("ada@example.org" in letter["content"], letter["step_id"]) == (True, step["id"])
    assert (await these.say(step)).json()["status"] == "Step 1 approved"
    await these.comes_to("completed")
    assert await ToolCall.objects.filter(tool="mail.send", status="done").acount() == 1


async def test_a_letter_that_is_refused_is_told_to_its_agent(program, models, working):
    these, step = await alone(program, models, LETTER, SEND, replies("Not sent."), model="test/letters")
    await these.stand("awaiting_feedback")
    await these.read()
    await these.say(step, approved=False, human_feedback="Not to Ada.")
    [found] = await these.stand("completed")
    assert (found["agent_reply"], found["human_feedback"]) == ("Claimed: no tool was used. Not sent.", "Not to Ada.")
    assert "Not to Ada." in told(models, "test/letters")


async def test_an_agents_question_is_answered_in_words(program, models, working):
    these, step = await alone(program, models, SUM, move("ask", "Which two?"), replies("It is 5."))
    await these.stand("awaiting_feedback")
    asked = await these.read()
    assert (asked["content"], asked["source"]) == ("Which two?", "Sums")
    refused = await these.say(step)
    assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "human_feedback")
    assert (await these.say(step, human_feedback="Two and three.")).json()["status"] == "Step 1 answered"
    await these.comes_to("completed")


async def test_a_step_of_a_person_is_completed_by_a_reply(program, models, working):
    these = await begun(program, models, steps(("Sign the contract.", "Person", [])), SUMMARY)
    [step] = await these.stand("awaiting_feedback")
    assert (await these.read())["content"] == "Sign the contract."
    assert (await these.say(step, human_feedback="Signed.")).status_code == 200
    [found] = await these.stand("completed")
    assert (found["agent"], found["agent_reply"]) == ("Person", "Signed.")


@copied_async
async def _failed_thrice(program, script):
    """Its step has failed as often as that goes without a question, each time approved before."""
    models = script.models
    models.will("test/sums", *[move("give_up", "I cannot.")] * 3)
    these = await begun(program, models, *[script.answer] * 3)
    for _ in range(3):
        [step] = await these.stand("awaiting_feedback")
        assert (await these.say(step)).status_code == 200
    await until(Run.objects.filter(status="waiting", gates__kind="failure").aexists, "it is asked what to do")
    return these.plan


@pytest.mark.parametrize(("approved", "status"), [(True, "completed"), (False, "failed")])
async def test_a_failure_is_tried_again_or_left_out(program, models, working, approved, status):
    plan_id = await _failed_thrice(program, PlanScript(models, steps(SUM)))
    these = Steps(program, {"plan_id": plan_id, "session_id": "s-1"})
    models.will("test/sums", replies("It is 5."))
    models.will("test/planner", SUMMARY)
    [step] = await these.stand("awaiting_feedback")
    assert "I cannot." in (await these.read())["content"]
    await these.say(step, approved)
    await these.comes_to(status)


CANNOT_BE_SAID = [
    ({"approved": False, "updated_action": "Add nothing."}, 422, "updated_action"),
    ({"updated_action": "a" * 2_001}, 422, "updated_action"),
    ({"session_id": "s-2"}, 422, "session_id"),
    ({"human_feedback": "a" * 4_001}, 422, "human_feedback"),
    ({"plan_id": "none"}, 404, None),
    ({"step_id": "none"}, 404, None),
    ({"step_id": None}, 422, "step_id"),
    ({"approved": None}, 422, "approved"),
]


async def test_what_cannot_be_said_is_refused_with_its_place(these):
    [first, *_] = await these.stand()
    said = {"plan_id": these.plan, "session_id": "s-1", "step_id": first["id"], "approved": True}
    for more, status, path in CANNOT_BE_SAID:
        answer = await these.program.post("/human_feedback", **{**said, **more})
        places = [one["path"] for one in answer.json().get("errors", [])]
        assert (answer.status_code, places) == (status, [path] if path else []), more
    assert not await GateDecision.objects.aexists()


async def test_one_text_is_not_the_action_of_many_steps(these):
    answer = await these.all(updated_action="Add nothing.")
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "updated_action")


async def test_a_step_of_another_plan_is_refused(these, program, models):
    models.script["test/planner"].insert(0, steps(SUM))
    second = Steps(program, await program.begin())
    [step] = await second.stand()
    answer = await these.say(step)
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "step_id")


async def test_who_is_somebody_else_or_has_not_the_scope_decides_nothing(these, mira, noor):
    [first, *_] = await these.stand()
    assert (await these.of(await sync_to_async(PlanProgram)(noor)).say(first)).status_code == 404
    without = these.of(await sync_to_async(PlanProgram)(mira, scopes=("submit", "steer")))
    answer = await without.say(first)
    assert (answer.status_code, "decide" in answer.json()["detail"]) == (403, True)
    assert not await GateDecision.objects.aexists()


async def test_where_four_eyes_are_wanted_the_sentence_says_who_is_asked(mira, models, working):
    eyes = {"who": "person", "four_eyes": True}
    policy = TeamPolicy(steps=dict.fromkeys(StepEffect, eyes))
    await sync_to_async(team)(policy, name="House")
    models.will("test/planner", steps(SUM))
    program = await sync_to_async(PlanProgram)(mira)
    these = Steps(program, await program.begin())
    answer = await these.say((await these.stand())[0])
    assert (answer.status_code, "is asked, not you" in answer.json()["detail"]) == (403, True)
    assert (await these.say((await these.stand())[0], updated_action="Add nothing.")).status_code == 403
    assert (await these.stand())[0]["updated_action"] is None
    assert (await these.all()).json() == {"status": "0 steps approved, 1 still waiting"}


async def test_what_nobody_decided_in_time_is_gone(mira, models, working):
    soon = {"who": "person", "hours": 0.0003, "expiry": "reject"}
    await sync_to_async(team)(TeamPolicy(steps=dict.fromkeys(StepEffect, soon)), name="House")
    models.will("test/planner", steps(SUM), SUMMARY)
    program = await sync_to_async(PlanProgram)(mira)
    these = Steps(program, await program.begin())
    [step] = await these.stand()
    await until(lambda: Gate.objects.filter(expires__lte=timezone.now()).aexists(), "it is too late")
    answer = await these.say(step)
    assert (answer.status_code, "was over" in answer.json()["detail"]) == (410, True)


@pytest.mark.parametrize("kind", ["uncertain", "budget"])
def test_where_more_can_be_said_than_yes_and_no_the_page_is_named(rf, kind):
    with pytest.raises(ApiError) as refused:
        feedback.decide(rf.post("/"), Gate(pk=7, kind=kind), {})
    assert (refused.value.status, "/gates/7/" in refused.value.detail) == (409, True)


async def test_what_failed_as_a_whole_waits_for_nobody(program, models, working, mira):
    models.will("test/sums", Unauthorized("No key."))
    these = await begun(program, models, steps(SUM, (*LETTER, [])))
    await these.say((await these.stand())[0])
    await these.comes_to("failed")
    letter = (await these.stand())[1]
    assert (letter["status"], letter["human_feedback_status"]) == ("planned", None)
    assert (await these.say(letter)).status_code == 409


async def test_no_tools_are_approved_that_were_not_seen(program, models, working):
    models.will("test/letters", replies("The letter was sent."))
    these = await begun(program, models, steps(SUM), names("Letters", "mail.send"), SUMMARY)
    [step] = await these.stand("awaiting_feedback")
    answer = await these.say(step, updated_action="Send it to Ada.")
    assert (answer.status_code, "has another agent or other tools now" in answer.json()["detail"]) == (409, True)
    [step] = await these.stand("awaiting_feedback")
    assert (step["agent"], step["updated_action"]) == ("Letters", "Send it to Ada.")
    assert (await these.say(step, updated_action="Send it to Ada.")).json()["status"] == "Step 1 approved"
    [step] = await these.stand("completed")
    assert step["agent_reply"] == "Claimed: no tool was used. The letter was sent."
    await these.comes_to("completed")


async def test_what_no_tool_can_do_is_approved_by_no_yes_to_a_step(program, models, working):
    these = await begun(program, models, steps(SUM), names("Person"))
    [step] = await these.stand("awaiting_feedback")
    answer = await these.say(step, updated_action="Shake hands with Ada.")
    assert (answer.status_code, "is for a person now" in answer.json()["detail"]) == (409, True)


async def test_a_changed_step_that_nobody_asks_about_yet_is_said(program, house, models, mira, monkeypatch):
    monkeypatch.setattr(feedback, "WAIT_SECONDS", 0.05)
    models.will("test/planner", steps(SUM))
    found = await sync_to_async(plan)(mira, house, matter="s-1", policy=step_by_step_policy(TeamPolicy()))
    await perform(found.pk, models)
    these = Steps(program, {"plan_id": str(found.pk), "session_id": "s-1"})
    [step] = await these.stand("awaiting_feedback")
    answer = await these.say(step, updated_action="Add nothing.")
    assert (answer.status_code, "is not asked about yet" in answer.json()["detail"]) == (409, True)
    assert (await these.stand("planned"))[0]["updated_action"] == "Add nothing."


@pytest.fixture
def thoughtful():
    return HeldModels("test/letters")


@pytest.fixture
async def busy(thoughtful):
    engine = Worker(models=thoughtful)
    performing = asyncio.create_task(engine.run())
    yield
    await engine.stop(grace=0)
    await performing


async def test_it_is_seen_how_each_step_stands(program, thoughtful, busy):
    idle, asks, eight = (("Write nothing.", "Letters", []), ("Add it.", "Sums", []), ("Add eight.", "Sums", []))
    thoughtful.will("test/planner", steps(SUM, idle, asks, LETTER, SEVEN, eight, ("Sign it.", "Person", [])))
    thoughtful.will("test/sums", replies("It is 5."), move("ask", "Which two?"))
    these = Steps(program, await program.begin())
    found = await these.stand()
    for step in (found[0], *found[2:5]):
        await these.say(step)
    await these.say(found[1], approved=False)
    await these.stand("completed", "rejected", "awaiting_feedback", "approved", "approved", AWAITING[0], "approved")
    await these.read()
    await these.say(found[2], approved=False)
    await these.stand("completed", "rejected", "failed", "action_requested", "approved", AWAITING[0], "approved")
