"""The page on which a plan is begun."""

import pytest
from django.urls import reverse

from engine.models import Run
from engine.models.budgets import Budget
from office.models import Person
from plans.examples import EXAMPLES
from plans.models import Plan, Project
from plans.rules.approval_policy import OPEN_READS, WATCHFUL_POLICY
from tests.conftest import allow

from .scenes import plan, team

pytestmark = pytest.mark.django_db
NEW = "/plans/new/"
TASK = "Add two and three, and write it to Ada."


def posted(version, **more):
    return {"task": TASK, "team": version.team_id, "team_version": version.number, **more}


def test_what_is_written_is_planned(page, mira):
    version = team()
    answer = page.post(NEW, posted(version, title="Five", matter="Sums", spend="0.50"))
    made = Plan.objects.get()
    assert (answer.status_code, answer.url) == (302, reverse("plan-live", args=[made.pk]))
    assert (made.run.owner, made.run.title, made.matter.name, made.run.spend) == (mira, "Five", "Sums", 500_000_000)
    assert made.team_version == version


def test_it_says_that_pictures_are_no_input(page):
    assert "Pictures are no input." in page.get(NEW).content.decode()


def test_every_fault_is_said_with_a_link_to_its_field(page):
    html = page.post(NEW, {"task": " ", "spend": "much"}).content.decode()
    assert "3 things to correct" in html
    for place in ("task", "spend", "teams"):
        assert f'<a href="#{place}">' in html
        assert f'id="{place}"' in html
    assert not Plan.objects.exists()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: one.key)
def test_an_example_brings_its_task_and_its_team(page, example):
    for name in {"First", example.team}:
        team(name=name)
    context = page.get(NEW, {"example": example.key}).context
    assert (context["team"].name, context["form"]["task"].value()) == (example.team, example.task)


def test_without_its_team_an_example_has_the_first_one(page):
    team(name="Office")
    assert page.get(NEW, {"example": "onboard"}).context["team"].name == "Office"


def test_another_team_shows_whom_it_asks_and_leaves_what_was_typed(page):
    version = team(WATCHFUL_POLICY, examples=["Add two and two."])
    answer = page.post(NEW, posted(version, do="take-team", matter="Sums"))
    html = answer.content.decode()
    assert (answer.context["form"]["task"].value(), answer.context["form"]["matter"].value()) == (TASK, "Sums")
    assert "Asks for the plan, every change and external actions" in html
    assert "Add two and two." in html
    assert page.get(NEW, {"team": version.team_id, "task": "1"}).context["form"]["task"].value() == "Add two and two."
    assert page.get(NEW, {"team": version.team_id, "task": "9"}).context["form"]["task"].value() == ""


def test_a_team_that_changed_meanwhile_starts_nothing_and_comes_back_as_it_is(page, mira):
    version = team()
    version.team.revise(name="Desk", author=mira, agents=[{"name": "Sums"}])
    answer = page.post(NEW, posted(version))
    assert (answer.status_code, Plan.objects.count()) == (409, 0)
    assert 'name="team_version" value="2"' in answer.content.decode()
    version.team.archive(mira)
    assert "archived meanwhile" not in page.post(NEW, posted(version)).content.decode()


def test_a_budget_that_does_not_suffice_starts_nothing(page, mira):
    Budget.objects.create(owner=mira, limit=1)
    answer = page.post(NEW, posted(team(), spend="1.00"))
    assert (answer.status_code, Plan.objects.count()) == (402, 0)
    assert "The plan was not started" in answer.content.decode()


def test_what_was_typed_goes_along_to_another_kind_and_back(page):
    version = team()
    judging = {"title": "Hers", "content": "Hire her.", "a1-name": "Zed", "come": "judgement"}
    here = page.post(NEW, judging).context
    assert (here["form"]["title"].value(), here["form"]["task"].value()) == ("Hers", "Hire her.")
    there = page.post("/", {**posted(version, matter="Sums"), **here["along"], "come": "plan"}).context
    assert (there["form"]["content"].value(), there["agents"][0]["name"].value()) == (TASK, "Zed")
    again = page.post(NEW, {"content": "Add them.", **there["along"], "come": "judgement"}).context
    assert [again["form"][name].value() for name in ("task", "matter")] == ["Add them.", "Sums"]
    assert again["team"] == version


def test_ones_own_open_matters_are_offered_with_what_is_remembered(page, mira, noor):
    first = plan(mira, team(), matter="Sums")
    Run.objects.filter(pk=first.pk).update(outcome="done", status="finished")
    Project.objects.create(owner=noor, name="Secret")
    html = page.post(NEW, posted(first.team_version, do="take-team", matter="Sums")).content.decode()
    assert '<option value="Sums">' in html
    assert "Secret" not in html
    assert reverse("plan-live", args=[first.pk]) in html


def test_what_it_may_cost_is_said_beforehand(page, settings):
    settings.PROVIDERS = {"paid": {"base_url": "http://127.0.0.1:9/v1", "api_key": "", "prices": {"*": (1, 1)}}}
    rehearsed = team(name="Rehearsed", planner="rehearsal/instant", agents=[{"name": "Sums"}])
    paid = team(OPEN_READS, planner="paid/x", agents=[{"name": "Sums", "model": "paid/x"}])
    html = " ".join(page.post("/plans/cost/", posted(paid)).content.decode().split())
    assert "about $" in html
    assert "2 to 12 calls for each step" in html
    assert "It begins as it was planned." in html
    assert "it costs nothing" in page.post("/plans/cost/", {"team": rehearsed.team_id}).content.decode()
    assert page.post("/plans/cost/", {}).status_code == 200


def test_it_is_one_of_the_kinds_of_work(page):
    assert f'formaction="{NEW}"' in page.get("/").content.decode()
    assert NEW in page.get("/plans/").content.decode()


# ---- policies in words ------------------------------------------------------------------------------------------


def test_each_agent_stands_there_with_its_tools_and_what_they_do(page):
    html = page.get(f"{NEW}?team={team().team_id}").content.decode()
    hands = html[html.index('class="hands"') :].partition("</ul>")[0]
    assert hands.index("Sums") < hands.index("figures.calculate") < hands.index("Letters") < hands.index("mail.send")
    assert ("reads" in hands, "reaches out" in hands) == (True, True)


# ---- the office that there is to try in -----------------------------------------------------------------------


def test_who_may_fills_an_empty_office_from_the_page_and_what_was_typed_stays(page, mira):
    allow(mira, "office.add_person")
    assert "The office is empty" in page.get(NEW).content.decode()
    filled = page.post(NEW, {"task": TASK, "do": "load-office"})
    assert (Person.objects.count(), filled.context["form"]["task"].value()) == (12, TASK)
    assert "The example office is there" in filled.content.decode()
    assert "The office is empty" not in page.get(NEW).content.decode()


def test_who_may_not_is_offered_nothing_and_fills_nothing(page):
    assert "The office is empty" not in page.post(NEW, {"task": TASK, "do": "load-office"}).content.decode()
    assert not Person.objects.exists()
