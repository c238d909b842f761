"""The source's events: each with exactly its keys, once, and in an order by which one goes on."""

import asyncio

import pytest
from asgiref.sync import sync_to_async

from automation_api.schemas import EVENT_NAMES
from engine.models import Run
from plans.models import Plan
from runs import run_actions
from tests.conftest import allow
from tests.databases import copied_async
from tests.plans.scenes import ADD, SUM, SUMMARY, move, plan, replies, steps
from tests.plans.source import Events, PlanProgram, PlanScript, Steps, begun

pytestmark = pytest.mark.django_db(transaction=True)

KEYS = {
    "approval_request": "step_id plan_id session_id approved human_feedback updated_action user_id",
    "action_request": "session_id plan_id step_id action user_id",
    "action_response": "status message data user_id",
    "plan_state_update": "plan_id session_id new_state user_id timestamp",
    "group_chat_message": "message_id session_id user_id content timestamp",
    "request_to_speak": "request_id session_id user_id reason timestamp",
}


def ended(told):
    return any(name == "plan_state_update" for _, name, _ in told)


def two_asked(told):
    return len(of(told, "approval_request")) > 1


def of(told, name):
    return [data for _, one, data in told if one == name]


@pytest.fixture
async def these(program, models, working):
    """Two sums, which wait for an approval."""
    return await begun(program, models, steps(SUM, ("Add six and one.", *SUM[1:])), SUMMARY)


@pytest.fixture
async def followed(program, models, working, mira):
    """What two that followed it were told, of a plan that was carried out."""
    plan_id, told = await _followed(program, PlanScript(models, steps(SUM, ("Add six and one.", *SUM[1:]))), mira)
    return Steps(program, {"plan_id": plan_id, "session_id": "s-1"}), told


@copied_async
async def _followed(program, script, owner):
    script.models.will("test/sums", move("ask", "Which two?"), ADD, replies("It is 5."), replies("It is 7."))
    these = await begun(program, script.models, script.answer, SUMMARY)
    programs = [program, await sync_to_async(PlanProgram)(owner)]
    following = [asyncio.create_task(Events(one, "s-1").until(ended)) for one in programs]
    await these.all()
    await these.stand("awaiting_feedback", "approved")
    await these.read()
    await these.say((await these.stand())[0], human_feedback="Two and three.")
    await these.comes_to("completed")
    return these.plan, await asyncio.gather(*following)


async def test_what_happens_is_told_once_in_order_and_with_exactly_its_keys(followed):
    these, (told, _) = followed
    assert {name: set(data) for _, name, data in told} == {name: set(keys.split()) for name, keys in KEYS.items()}
    assert set(EVENT_NAMES) == set(KEYS)
    assert [number for number, _, _ in told] == list(range(1, len(told) + 1))
    first, second = await these.stand()
    asked = [(one["step_id"], one["approved"]) for one in of(told, "approval_request")]
    assert asked == [(None, False), (first["id"], False)]
    assert [one["step_id"] for one in of(told, "action_request")] == [first["id"], second["id"]]
    assert [(one["status"], one["message"]) for one in of(told, "action_response")] == [
        ("success", "It is 5."),
        ("success", "It is 7."),
    ]
    [given] = of(told, "action_response")[0]["data"]
    assert (given["function"], given["status"], "5" in given["result"]) == ("figures.calculate", "done", True)
    assert [one["new_state"] for one in of(told, "plan_state_update")] == ["completed"]
    assert [one["reason"] for one in of(told, "request_to_speak")] == ["Which two?"]


async def test_two_that_follow_are_told_the_thread_by_the_same_numbers_by_which_one_goes_on(followed):
    these, (told, as_well) = followed
    assert told == as_well
    thread, spoken = await these.program.said("/agent_messages/s-1"), of(told, "group_chat_message")
    assert [one["message_id"] for one in spoken] == [one["id"] for one in thread]
    assert {one["user_id"] for one in spoken} == {"mira", "Planner", "GroupChatManager", "Sums"}
    headers = {"Last-Event-ID": str(told[2][0])}
    assert await Events(these.program, "s-1", **headers).until(ended) == told[3:]


async def test_events_come_as_they_happen_and_of_each_plan_of_the_session(these, models):
    events = Events(these.program, "s-1")
    following = asyncio.create_task(events.until(two_asked))
    await events.begins()
    models.script["test/planner"].insert(0, steps(SUM))
    second = await these.program.begin("Add it again.", "s-1")
    asked = of(await following, "approval_request")
    assert [one["plan_id"] for one in asked] == [these.plan, second["plan_id"]]


async def test_what_was_sent_as_an_event_can_be_decided(these, mira):
    other = these.of(await sync_to_async(PlanProgram)(mira))
    [first, _] = await these.stand()
    assert (await other.say(first)).status_code == 409
    await Events(other.program, "s-1").until(lambda told: of(told, "approval_request"))
    assert (await other.say(first)).status_code == 200


async def test_a_failed_plan_that_goes_on_says_both(program, models, working, mira):
    models.will("test/planner", *["nothing that could be read"] * 4)
    these = Steps(program, await program.begin())
    models.will("test/planner", steps(SUM))
    row = await Plan.objects.select_related("run").aget(pk=these.plan)
    await sync_to_async(run_actions.retry)(row, mira)
    await these.stand("awaiting_feedback")
    told = await Events(program, "s-1").until(lambda told: of(told, "approval_request"))
    assert [one["new_state"] for one in of(told, "plan_state_update")] == ["failed", "in_progress"]


async def test_a_stream_ends_with_its_session(these, mira):
    program = these.program
    await sync_to_async(allow)(mira, "engine.redact_run")
    events = Events(program, "s-1")
    following = asyncio.create_task(events.until(lambda told: False))
    await events.begins()
    await program.delete("/messages", confirm="mira")
    assert await following
    assert (await program.get("/events/s-1")).status_code == 404


async def test_other_peoples_events_are_not_there(mira, noor, house):
    await sync_to_async(plan)(noor, house, matter="s-1")
    program = await sync_to_async(PlanProgram)(mira)
    assert (await program.get("/events/s-1")).status_code == 404
    assert await Run.objects.acount() == 1
