"""The source's calls: who may, what they give, and a task that is planned by them."""

from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from automation_api import input_task
from plans.models import Plan, Project
from tests.plans.scenes import LETTER, SUM, questions, steps
from tests.plans.source import EVERY_SCOPE, A, PlanProgram, begun

pytestmark = pytest.mark.django_db(transaction=True)

STEP = "id data_type plan_id session_id user_id action agent status agent_reply human_feedback human_feedback_status"
STEP_KEYS = {*STEP.split(), "updated_action", "ts"}
LINE_KEYS = set("id data_type session_id user_id initial_goal overall_status ts total_steps".split())
PLAN_KEYS = {*LINE_KEYS, "completed_steps", "pending_steps", "steps"}
MESSAGE_KEYS = set("id data_type session_id user_id plan_id content source ts step_id".split())


TEN_CALLS = {
    ("post", "/input_task"),
    ("post", "/human_feedback"),
    ("post", "/human_clarification_on_plan"),
    ("post", "/approve_step_or_steps"),
    ("get", "/plans"),
    ("get", "/steps/{plan_id}"),
    ("get", "/agent_messages/{session_id}"),
    ("delete", "/messages"),
    ("get", "/messages"),
    ("get", "/api/agent-tools"),
}


@pytest.fixture
def few_queries(django_assert_max_num_queries):
    return django_assert_max_num_queries


async def test_a_task_is_answered_as_soon_as_it_is_planned(program, models, working):
    models.will("test/planner", steps(SUM, LETTER))
    said = await program.begin("Add two and three, and write it.", "s-1")
    assert set(said) == {"status", "session_id", "plan_id", "description", "user_id"}
    assert (said["status"], said["session_id"], said["user_id"]) == ("Planned: 2 steps", "s-1", "mira")
    assert said["description"] == "Add two and three, and write it."
    assert [one["status"] for one in await program.said(f"/steps/{said['plan_id']}")] == ["awaiting_feedback"] * 2


async def test_what_the_planner_asks_is_the_answer(program, models, working):
    models.will("test/planner", questions("Until when?"))
    assert (await program.begin())["status"] == "The planner asks: Until when?"


async def test_a_plan_that_nobody_makes_has_failed(program, models, working):
    models.will("test/planner", *["nothing that could be read"] * 4)
    said = await program.begin()
    assert said["status"].startswith("Failed: ")
    assert [one["overall_status"] for one in await program.said("/plans")] == ["failed"]


async def test_where_nobody_plans_it_the_answer_comes_all_the_same(program, monkeypatch):
    monkeypatch.setattr(input_task, "WAIT_SECONDS", 0.05)
    said = await program.begin()
    assert said["status"] == "Planning goes on"
    assert [one["id"] for one in await program.said("/plans")] == [said["plan_id"]]


async def test_without_a_session_a_new_one_is_named(program, monkeypatch):
    monkeypatch.setattr(input_task, "WAIT_SECONDS", 0)
    sent = ({}, {"session_id": ""}, {"session_id": None})
    answers = [(await program.post("/input_task", description="Add it up.", **more)).json() for more in sent]
    assert len({UUID(one["session_id"]) for one in answers}) == 3


async def test_a_session_is_answered_letter_by_letter_and_has_many_plans(program, monkeypatch):
    monkeypatch.setattr(input_task, "WAIT_SECONDS", 0)
    first, second = [await program.begin("Add it up.", " one/two ") for _ in range(2)]
    listed = await program.said("/plans", session_id=" one/two ")
    assert [one["id"] for one in listed] == [second["plan_id"], first["plan_id"]]
    assert {one["session_id"] for one in listed} == {" one/two "}
    assert len(await program.said("/agent_messages/ one/two ")) == 2
    assert await Project.objects.acount() == 1


NO_TASKS = [
    ({}, "description"),
    ({"description": " "}, "description"),
    ({"description": "Add.", "session_id": "s" * 101}, "session_id"),
    ({"description": "Add.", "session_id": "\0"}, "session_id"),
]


async def test_what_cannot_be_a_task_is_refused_with_its_place(program):
    for sent, path in NO_TASKS:
        answer = await program.post("/input_task", **sent)
        assert (answer.status_code, [one["path"] for one in answer.json()["errors"]]) == (422, [path]), sent
    assert not await Plan.objects.aexists()


async def test_keys_that_are_not_known_are_left_alone(program, monkeypatch):
    monkeypatch.setattr(input_task, "WAIT_SECONDS", 0)
    answer = await program.post("/input_task", description="Add it up.", tier=3, user_id="mira")
    assert answer.status_code == 200


async def test_a_user_who_is_named_beside_the_token_must_be_its_owner(mira, house, monkeypatch):
    monkeypatch.setattr(input_task, "WAIT_SECONDS", 0)
    for header in ("user_principal_id", "user-principal-id", "x-ms-client-principal-id"):
        for name, status in (("noor", 403), ("mira", 200)):
            program = await sync_to_async(PlanProgram)(mira, **{header: name})
            assert (await program.post("/input_task", description="Add it up.")).status_code == status, header
    assert await Plan.objects.acount() == 3


async def test_a_body_that_names_another_user_is_refused(program):
    answer = await program.post("/input_task", description="Add it up.", user_id="noor")
    assert (answer.status_code, "mira" in answer.json()["detail"]) == (403, True)
    assert not await Plan.objects.aexists()


async def test_who_has_no_token_or_too_little_of_one_is_refused(mira, house, program):
    program.headers = {}
    assert (await program.get("/plans")).status_code == 401
    reader = await sync_to_async(PlanProgram)(mira, scopes=())
    answer = await reader.post("/input_task", description="Add it up.")
    assert (answer.status_code, "submit" in answer.json()["detail"]) == (403, True)
    assert await reader.said("/plans") == []


async def test_a_plan_has_the_keys_of_the_source_and_its_steps(program, models, working):
    these = await begun(program, models, steps(SUM, LETTER))
    [found] = await program.said("/plans")
    assert (set(found), {frozenset(one) for one in found["steps"]}) == (PLAN_KEYS, {frozenset(STEP_KEYS)})
    assert (found["initial_goal"], found["overall_status"]) == ("Add two and three.", "in_progress")
    assert [found[f"{name}_steps"] for name in ("total", "completed", "pending")] == [2, 0, 2]
    assert found["steps"] == await these.stand()
    assert [(one["agent"], one["action"]) for one in found["steps"]] == [("Sums", SUM[0]), ("Letters", LETTER[0])]
    assert {one["human_feedback_status"] for one in found["steps"]} == {"pending"}


async def test_everybody_sees_their_own_alone(program, noor, monkeypatch):
    monkeypatch.setattr(input_task, "WAIT_SECONDS", 0)
    mine = await program.begin()
    other = await sync_to_async(PlanProgram)(noor)
    assert await other.said("/plans") == await other.said("/messages") == []
    for path in (f"/steps/{mine['plan_id']}", "/agent_messages/s-1", "/steps/none", f"/steps/{UUID(int=1)}"):
        assert (await other.get(path)).status_code == 404
    assert (await other.get("/plans", session_id="s-1")).status_code == 404


async def test_the_thread_says_what_was_asked_and_planned(program, models, working):
    await begun(program, models, steps(SUM))
    found = await program.said("/agent_messages/s-1")
    assert {frozenset(one) for one in found} == {frozenset(MESSAGE_KEYS)}
    assert [one["source"] for one in found] == ["Human", "Planner", "GroupChatManager"]
    assert [one["content"] for one in found[:2]] == ["Add two and three.", "So it goes."]
    assert SUM[0] in found[2]["content"]
    assert len({UUID(one["id"]) for one in found}) == 3
    assert [one["ts"] for one in found] == sorted(one["ts"] for one in found)


async def test_everything_of_all_sessions_is_told_in_lines(program, models, working):
    models.will("test/planner", steps(SUM), questions("Until when?"))
    await program.begin("Add two and three.", "s-1")
    await program.begin("Add more of them.", "s-2")
    lines = await program.said("/messages")
    assert {one["data_type"] for one in lines} == {"session", "plan", "step", "agent_message"}
    assert all({"id", "data_type", "session_id", "content", "ts"} <= one.keys() for one in lines)
    sessions = {one["session_id"]: one for one in lines if one["data_type"] == "session"}
    assert sessions["s-2"]["message_to_user"] == "Until when?"
    assert {one["current_status"] for one in sessions.values()} == {"active"}
    assert {one["content"] for one in lines if one["data_type"] == "step"} == {SUM[0]}


async def test_lists_take_as_many_queries_however_many_plans_there_are(program, models, working, few_queries):
    def counted(path):
        client = Client()
        client.get(f"{A}{path}", headers=program.headers)  # it is noted what was sent, and that the token was used
        with few_queries(20) as queries:
            assert client.get(f"{A}{path}", headers=program.headers).status_code == 200
        return len(queries)

    async def all_counted():
        models.will("test/planner", steps(SUM, LETTER))
        await program.begin()
        return [await sync_to_async(counted)(path) for path in ("/plans", "/messages", "/agent_messages/s-1")]

    assert await all_counted() == await all_counted()


async def test_the_tools_of_agents_are_listed_with_their_arguments(program):
    found = {(one["agent"], one["function"]): one for one in await program.said("/api/agent-tools")}
    assert set(found) == {("Sums", "figures.calculate"), ("Letters", "mail.draft"), ("Letters", "mail.send")}
    letter = found["Letters", "mail.send"]
    assert set(letter) == {"agent", "function", "description", "arguments"}
    assert (letter["arguments"]["to"]["required"], letter["arguments"]["to"]["type"]) == (True, "array")


async def test_a_wrong_name_of_the_team_is_said(program, settings):
    settings.COMPAT_TEAM = "Nobody"
    answer = await program.post("/input_task", description="Add it up.")
    assert (answer.status_code, "MAGI_COMPAT_TEAM" in answer.json()["detail"]) == (409, True)


def test_the_ten_calls_are_described_on_a_page_and_for_programs(client, db):
    described = client.get(f"{A}/openapi.json").json()
    called = {(method, path.removeprefix(A)) for path, calls in described["paths"].items() for method in calls}
    assert called == TEN_CALLS | {("get", "/events/{session_id}")}
    page = client.get(f"{A}/docs").content.decode()
    assert f"POST {A}/input_task" in page
    assert "/api/v1/judgements" not in page
    assert set(EVERY_SCOPE) >= {
        one["x-scope"] for calls in described["paths"].values() for one in calls.values() if "x-scope" in one
    }
