"""Plans that begin from one that worked: what the planner is shown, who may, and what is kept in mind."""

import asyncio
import json

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from engine.audit.full_verification import verify_all
from engine.models import Gate, Run, ToolCall
from engine.models.runs import has_read_untrusted_input
from plans.models import Plan, queries
from runs.record import redaction
from tests.callers import ApiCaller, fields
from tests.conftest import NOBODYS_ID, ScriptedModels, perform
from tests.databases import copied
from tests.plans.scenes import SUM, SUMMARY, calls, plan, replies, steps
from tests.read_gates import decide_as_read

pytestmark = pytest.mark.django_db(transaction=True)
TASK = "Add two and three, and write it to Ada."


def carried_out(mira, models, by=None, **asked):
    models.will("test/planner", steps(SUM), SUMMARY)
    models.will("test/sums", calls("figures.calculate", expression="2 + 3"), replies("5."))
    made = plan(mira, **asked)
    asyncio.run(perform(made.pk, models))
    decide_as_read(Gate.objects.get(run=made.pk, step="plan-1").pk, by or mira, "approve", "", "all")
    asyncio.run(perform(made.pk, models))
    return Plan.objects.select_related("run").get(pk=made.pk)


@pytest.fixture
def done(mira):
    return _done(mira)


@copied
def _done(mira):
    return carried_out(mira, ScriptedModels())


def shown(pk):
    made = Plan.objects.planned().get(pk=pk)
    return queries.planner_brief(made, made.current).example


def test_the_planner_is_shown_the_steps_by_which_it_was_done(done, mira, mira_calls, models):
    asked = {"task": "Add four and five.", "team": done.team_version.name, "from": str(done.pk)}
    answer = mira_calls.post("/plans", asked)
    assert answer.status_code == 202, answer.content
    models.will("test/planner", steps(SUM))
    asyncio.run(perform(answer.json()["id"], models))
    material = json.loads(models.asked[-1][1][1]["content"].split("\n")[1])
    assert material["example"]["task"] == TASK
    assert [one["action"] for one in material["example"]["steps"]] == [SUM[0]]
    assert not verify_all().faults


def test_its_page_and_its_object_say_from_which_plan_it_began(done, client, mira, noor, mira_calls):
    begun = plan(mira, done.team_version, earlier=done)
    assert mira_calls.get(f"/plans/{begun.pk}").json()["from"] == str(done.pk)
    assert mira_calls.get(f"/plans/{done.pk}").json()["from"] is None
    client.force_login(mira)
    assert f"/plans/{done.pk}/" in client.get(f"/plans/{begun.pk}/").content.decode()


def test_who_may_not_see_that_plan_is_not_shown_its_title(done, client, mira, noor):
    begun = plan(mira, done.team_version, earlier=done)
    Run.objects.filter(pk=begun.pk).update(owner=noor)
    client.force_login(noor)
    page = client.get(f"/plans/{begun.pk}/")
    assert (page.status_code, f"/plans/{done.pk}/" in page.content.decode()) == (200, False)


def test_a_plan_of_its_own_is_shown_no_example(done, mira):
    assert shown(plan(mira, done.team_version).pk) is None


def test_none_that_is_not_there_or_not_ones_own_or_goes_on_or_was_erased_is_begun_from(done, mira, noor, mira_calls):
    going_on, asked = plan(mira, done.team_version), {"task": "Add.", "team": done.team_version.name}
    assert mira_calls.post("/plans", asked | {"from": ""}).status_code == 202
    for which in ("no id", NOBODYS_ID):
        assert list(fields(mira_calls.post("/plans", asked | {"from": which}))) == ["from"]
    assert list(fields(mira_calls.post("/plans", asked | {"from": str(going_on.pk)}))) == ["from"]
    assert list(fields(ApiCaller(noor).post("/plans", asked | {"from": str(done.pk)}))) == ["from"]
    redaction.redact_run(done.pk, "mira", "Old.")
    assert list(fields(mira_calls.post("/plans", asked | {"from": str(done.pk)}))) == ["from"]


def test_what_strangers_wrote_is_kept_in_mind_along_all_that_was_begun_from(done, mira, models):
    """Also through the matter of the one in between."""
    second = carried_out(mira, models, version=done.team_version, earlier=done, matter="Sums")
    third = carried_out(mira, models, version=done.team_version, matter="Sums")
    fourth = plan(mira, done.team_version, earlier=third)
    ours = [Run.objects.get(pk=one.pk) for one in (second, third, fourth)]
    assert not any(map(has_read_untrusted_input, ours))
    read = {"tool": "documents.read", "definition": "0" * 64, "effect": "reads", "status": "done", "outside": True}
    ToolCall.objects.create(run_id=done.pk, step="step-1-0-9", number=1, **read)
    assert all(map(has_read_untrusted_input, ours))
    assert queries.has_untrusted_input(Plan.objects.planned().get(pk=fourth.pk))


def test_whoever_erases_a_plan_is_told_of_those_begun_from_it(done, mira):
    later = plan(mira, done.team_version, earlier=done)
    assert queries.plans_shown_this_plan(done.pk) == [later]
    redaction.redact_run(done.pk, "mira", "Old.")
    assert shown(later.pk) is None


def test_the_page_of_a_done_plan_leads_to_another_one(done, page):
    assert f'href="/plans/new/?from={done.pk}"' in page.get(f"/plans/{done.pk}/").content.decode()
    html = page.get(f"/plans/new/?from={done.pk}").content.decode()
    assert (TASK in html, f'value="{done.pk}" checked' in html) == (True, True)


def test_the_page_begins_from_what_is_chosen_there(done, page, mira):
    version = done.team_version
    asked = {"task": "Add six.", "team": version.team_id, "team_version": version.number}
    assert page.post("/plans/new/", asked | {"from": str(done.pk)}).status_code == 302
    assert Plan.objects.latest("run__created").earlier_id == done.pk
    refused = page.post("/plans/new/", asked | {"from": "no id"})
    assert "You have no such plan" in refused.content.decode()


def test_plans_that_share_words_with_the_task_are_offered(done, page):
    def offered(task):
        return str(done.pk) in page.post("/plans/cost/", {"task": task}).content.decode()

    assert offered("Please write three letters to somebody.")
    assert not offered("Nothing alike.")
    assert not offered("")


def test_the_command_begins_from_what_the_command_line_asked_for(done, mira, models, capsys):
    version, chief = done.team_version, User.objects.create_superuser("chief")
    own, name = carried_out(None, models, by=chief, version=version), version.name
    call_command("plan", "Add six.", "--from", str(own.pk), "--team", name, "--no-wait")
    assert Plan.objects.latest("run__created").earlier_id == own.pk
    with pytest.raises(CommandError, match="You have no such plan"):
        call_command("plan", "Add six.", "--from", str(done.pk), "--team", name, "--no-wait")
