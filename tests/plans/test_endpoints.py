"""Plans over HTTP: what is taken, what is said, and what is refused."""

import pytest
from asgiref.sync import sync_to_async

from engine.models import McpTool, Run
from engine.models.mcp_tools import ToolListing
from plans.models import Plan, PlanStep
from plans.rules import actions
from tests.callers import ApiCaller
from tests.conftest import perform
from tests.plans.scenes import LETTER, SUM, planned, steps, team

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def proposed(mira, models):
    """Its one step may be changed, and waits with the plan."""
    pk = await planned(mira, models, steps(LETTER))
    return await Plan.objects.select_related("run").aget(pk=pk)


def test_a_task_is_taken_with_a_team_by_name(mira_calls):
    team(name="Helpers")
    answer = mira_calls.post("/plans", {"task": "Add it up.", "team": "Helpers", "matter": "Sums"})
    said = answer.json()
    assert answer.status_code == 202
    assert (said["team"]["name"], said["matter"], said["status"], said["steps"]) == ("Helpers", "Sums", "queued", [])


def test_what_cannot_be_planned_is_refused_with_its_place(mira_calls):
    team(name="Helpers")
    for wrong in ({"task": " . "}, {"team": "Nobody"}, {"spend": "-1"}, {"steps": []}):
        answer = mira_calls.post("/plans", {"task": "Add it up.", "team": "Helpers", **wrong})
        assert (answer.status_code, [one["path"] for one in answer.json()["errors"]]) == (422, [*wrong])
    assert not Plan.objects.exists()


def test_whoever_lets_too_many_wait_is_told_which(proposed, mira_calls, settings):
    settings.USER_WAITING = 1
    answer = mira_calls.post("/plans", {"task": "Add it up.", "team": "Desk"})
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "30")
    assert f"cancel some: “{proposed.run.title}”." in answer.json()["detail"]
    assert Plan.objects.count() == 1
    Run.objects.update(status="cancelled")
    assert mira_calls.post("/plans", {"task": "Add it up.", "team": "Desk"}).status_code == 202


def test_what_waits_stands_with_the_plan(proposed, mira_calls):
    said = mira_calls.get(f"/plans/{proposed.pk}").json()
    assert (said["status"], said["waits"]) == ("waiting", "person")
    assert [(one["kind"], one["step"]) for one in said["gates"]] == [("plan", "plan-1"), ("step", "step-1")]
    assert [one["status"] for one in said["steps"]] == ["awaiting_feedback"]


def test_a_step_is_changed_before_it_begins_and_then_asked_about_anew(proposed, mira_calls):
    path = f"/plans/{proposed.pk}/steps/1"
    answer = mira_calls.patch(path, {"action": "Write it to Ben.", "tools": ["mail.draft"]})
    [step] = answer.json()["steps"]
    assert answer.status_code == 200
    assert (step["action"], step["first_action"], step["tools"]) == ("Write it to Ben.", LETTER[0], ["mail.draft"])
    assert (step["status"], step["effect"]) == ("planned", "writes")
    assert answer.json()["gates"][1]["state"] == "void"


def test_a_change_that_changes_nothing_leaves_what_was_decided(proposed, mira_calls):
    for same in ({}, {"action": None}, {"action": LETTER[0]}, {"tools": LETTER[2] * 9}):
        assert mira_calls.patch(f"/plans/{proposed.pk}/steps/1", same).status_code == 200
    assert [one["state"] for one in mira_calls.get(f"/plans/{proposed.pk}").json()["gates"]] == ["pending"] * 2


CANNOT_BE = [
    (1, {"owner": "Nobody"}, 422, "owner"),
    (1, {"owner": "Sums", "tools": ["mail.send"]}, 422, "tools"),
    (1, {"needs": [1]}, 422, "needs"),
    (1, {"action": " "}, 422, "action"),
    (1, {"action": "a" * 2_001}, 422, "action"),
    (9, {"action": "Anything."}, 404, None),
]


def test_a_change_that_cannot_be_is_refused(proposed, mira_calls):
    for number, change, status, path in CANNOT_BE:
        answer = mira_calls.patch(f"/plans/{proposed.pk}/steps/{number}", change)
        places = [one["path"] for one in answer.json().get("errors", [])]
        assert (answer.status_code, places) == (status, [path] if path else []), change


def test_a_step_that_is_over_is_changed_no_more(proposed, mira_calls):
    PlanStep.objects.filter(plan=proposed.pk).update(status="completed")
    answer = mira_calls.patch(f"/plans/{proposed.pk}/steps/1", {"action": "Anything."})
    assert (answer.status_code, "is completed" in answer.json()["detail"]) == (409, True)


def test_a_step_is_told_and_changed_so_often_and_no_more(proposed, mira_calls, monkeypatch):
    monkeypatch.setattr(actions, "MAX_MESSAGES", 2)
    monkeypatch.setattr(actions, "CHANGED", 2)
    path = f"/plans/{proposed.pk}"
    words = [mira_calls.post(f"{path}/messages", {"text": "Soon.", "step": 1}) for _ in range(3)]
    changes = [mira_calls.patch(f"{path}/steps/1", {"action": f"Write it to {name}."}) for name in ("B", "C", "D")]
    assert [one.status_code for one in (*words, *changes)] == [202, 202, 409, 200, 200, 409]
    assert words[-1].json()["detail"].startswith("Step 1 was told 2 things, and is told no more.")
    assert changes[-1].json()["detail"].startswith("Step 1 was changed 2 times, and is not changed again.")


async def test_words_to_the_planner_have_it_plan_the_rest_anew(proposed, mira_calls, models):
    say = sync_to_async(mira_calls.post)
    assert (await say(f"/plans/{proposed.pk}/messages", {"text": "No letters."})).status_code == 202
    models.will("test/planner", steps(SUM))
    await perform(proposed.pk, models)
    assert "No letters." in models.asked[-1][1][1]["content"]
    said = (await sync_to_async(mira_calls.get)(f"/plans/{proposed.pk}")).json()
    assert (said["plan_revision"], [one["owner"] for one in said["steps"]]) == (2, ["Sums"])


def test_nobody_else_changes_a_plan_or_speaks_in_it(proposed, noor):
    path = f"/plans/{proposed.pk}"
    assert ApiCaller(noor).patch(f"{path}/steps/1", {"action": "Mine."}).status_code == 404
    assert ApiCaller(noor).post(f"{path}/messages", {"text": "Mine."}).status_code == 404


def test_teams_and_tools_are_told(mira_calls, settings):
    team(name="Helpers")
    settings.MCP_SERVERS = {"others": {"command": ("/no/such/program",)}}
    for server in ("others", "gone"):
        McpTool.objects.record_listing(server, ToolListing([], ["draw has no schema of an object"]))
    teams = {one["name"]: one for one in mira_calls.get("/teams").json()["results"]}
    answer = mira_calls.get("/tools").json()
    assert answer["left_out"] == [{"server": "others", "why": "draw has no schema of an object"}]
    tools = {one["name"]: one for one in answer["results"]}
    assert [one["name"] for one in teams["Helpers"]["agents"]] == ["Sums", "Letters"]
    assert (tools["mail.send"]["effect"], "to" in tools["mail.send"]["arguments"]["properties"]) == (
        "reaches_out",
        True,
    )
