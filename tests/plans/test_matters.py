"""Matters: what is told of them, what their owner may change, and the plans that are found by them."""

import asyncio

import pytest

from engine.audit.full_verification import verify_all
from engine.models import Gate
from plans.models import Project
from tests.callers import ApiCaller, fields, problem
from tests.conftest import ScriptedModels, perform
from tests.databases import copied
from tests.plans.scenes import LETTER, plan, steps, team

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sums(mira):
    """A matter with a plan that waits and one that has just begun."""
    return _sums(mira)


@copied
def _sums(mira):
    models = ScriptedModels()
    models.will("test/planner", steps(LETTER))
    first = plan(mira, matter="Sums", task="Add it up.")
    asyncio.run(perform(first.pk, models))
    plan(mira, first.team_version, matter="Sums", task="Add it again.")
    return Project.objects.get(name="Sums")


def found(caller, **query):
    return [one["task"] for one in caller.get("/plans", full="1", **query).json()["results"]]


def test_a_matter_says_whether_work_goes_on_and_what_waits(sums, mira_calls):
    [said] = mira_calls.get("/matters").json()["results"]
    assert (said["id"], said["name"], said["title"], said["closed"]) == (str(sums.pk), "Sums", "Add it up.", False)
    newest = Gate.objects.pending().latest("pk")
    assert (said["current_status"], said["message_to_user"]) == ("active", newest.title)


def test_its_owner_calls_it_otherwise_and_closes_it(sums, mira_calls):
    said = mira_calls.patch(f"/matters/{sums.pk}", {"title": "All sums", "closed": True}).json()
    assert (said["title"], said["closed"]) == ("All sums", True)
    assert mira_calls.get("/matters").json()["results"] == []
    assert len(mira_calls.get("/matters", closed="true").json()["results"]) == 1
    assert "closed" in fields(mira_calls.patch(f"/matters/{sums.pk}", {"closed": 0}))
    said = mira_calls.patch(f"/matters/{sums.pk}", {"closed": False, "title": ""}).json()
    assert (said["title"], said["closed"]) == ("Add it up.", False)


def test_matters_of_others_are_not_there(sums, noor, mira_calls):
    others = ApiCaller(noor)
    assert others.get("/matters").json()["results"] == []
    problem(others.patch(f"/matters/{sums.pk}", {"closed": True}), 404)
    assert list(fields(others.get("/plans", matter="Sums"))) == ["matter"]
    assert list(fields(mira_calls.patch(f"/matters/{sums.pk}", {"title": "x" * 121}))) == ["title"]


def test_plans_are_found_by_matter_by_team_and_by_whom_they_wait_for(sums, mira, mira_calls):
    other = plan(mira, team(name="Others"), task="Something else.")
    assert found(mira_calls, matter="Sums") == ["Add it again.", "Add it up."]
    assert found(mira_calls, matter=str(sums.pk)) == found(mira_calls, matter="Sums")
    assert found(mira_calls, team="Others") == found(mira_calls, team=other.team_version.team_id) == ["Something else."]
    assert found(mira_calls, waits_for="me") == ["Add it up."]
    assert list(fields(mira_calls.get("/plans", team="Nobody"))) == ["team"]


def test_the_history_of_plans_is_asked_for_a_team_and_for_a_matter(sums, page, mira):
    other = plan(mira, team(name="Others"), task="Something else.")
    by_team = page.get("/plans/", {"team": other.team_version.team_id}).content.decode()
    by_matter = page.get("/plans/", {"matter": str(sums.pk)}).content.decode()
    assert ("Something else." in by_team, "Add it up." in by_team) == (True, False)
    assert ("Something else." in by_matter, "Add it up." in by_matter) == (False, True)


def test_the_history_offers_and_finds_no_matter_of_others(sums, client, noor):
    client.force_login(noor)
    html = client.get("/plans/", {"matter": str(sums.pk)}).content.decode()
    assert ("Sums" in html, "You have no such matter." in html) == (False, True)


def test_what_is_found_by_its_matter_is_found_by_nothing_wrong(sums):
    assert not verify_all().faults


def test_a_name_that_no_database_holds_is_of_no_matter(mira, mira_calls):
    assert list(fields(mira_calls.get("/plans", matter="Su\x00ms"))) == ["matter"]
    assert not Project.objects.named(mira, "Su\x00ms").exists()


# ---- its page ----------------------------------------------------------------------------------------------------


def test_the_next_plan_is_begun_from_the_page_of_its_matter_unless_that_is_closed(sums, page):
    address, link = f"/plans/matters/{sums.pk}/", 'href="/plans/new/?matter=Sums"'
    assert link in page.get(address).content.decode()
    page.post(address, {"do": "switch"})
    assert link not in page.get(address).content.decode()


def test_a_plan_leads_to_the_page_of_its_matter_where_its_plans_stand_in_their_order(sums, page):
    address = f"/plans/matters/{sums.pk}/"
    first = sums.plans.order_by("run__created").first()
    assert f'href="{address}"' in page.get(f"/plans/{first.pk}/").content.decode()
    html = page.get(address).content.decode()
    assert html.index(f"/plans/{first.pk}/") < html.index("Add it again.")
    assert "Waits for you" in html


def test_its_owner_calls_it_otherwise_and_closes_it_on_its_page(sums, page, client, noor):
    address = f"/plans/matters/{sums.pk}/"
    page.post(address, {"title": "All sums"})
    page.post(address, {"do": "switch"})
    sums.refresh_from_db()
    assert (sums.title, sums.closed is not None) == ("All sums", True)
    assert page.post(address, {"title": "x" * 121}).status_code == 422
    client.force_login(noor)
    assert [client.get(address).status_code, client.post(address, {"title": "Mine"}).status_code] == [404, 404]
