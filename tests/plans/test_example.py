"""Each example that somebody new tries changes the example office, though no model is there to plan it."""

import json

import pytest

from engine.tools import get_tool
from office import example
from office.models import CalendarEntry, Person, Request, Task
from plans import rehearsal
from plans.examples import EXAMPLES
from plans.migrations._ready_made import TEAMS
from plans.prompts import agent, planner
from plans.prompts.agent import OfferedTool, StepWork
from plans.prompts.planner import PlannerBrief, PromptOwner, PromptTool

FIRST, REVIEW, MONITORS = EXAMPLES


def rehearsed(of):
    """Tool and arguments of each step."""
    agents = next(one["agents"] for one in TEAMS if one["name"] == of.team)
    owners = tuple(PromptOwner(name, what, tuple(map(shown, tools))) for name, what, tools in agents)
    for step in json.loads(rehearsal.rehearse_planner(planner.planner_messages(PlannerBrief(of.task, owners))))[
        "steps"
    ]:
        [name] = step["tools"]
        usable = OfferedTool(name, shown(name).description, get_tool(name).schema)
        work = StepWork(step["owner"], "", "", of.task, step["action"], [usable], left=12)
        yield get_tool(name), json.loads(json.loads(rehearsal.rehearse_agent(agent.step_messages(work)))["arguments"])


def shown(name):
    tool = get_tool(name)
    return PromptTool(name, tool.effect, tool.description)


def done_of(of):
    """The tools that were used, with what they said; letters stay where they are."""
    example.load()
    for tool, arguments in rehearsed(of):
        given = tool.arguments.model_validate(arguments)
        yield tool.name, "" if tool.name == "mail.draft" else tool.change(given, None)


@pytest.mark.django_db
def test_the_first_enters_a_person_an_appointment_and_tasks_and_drafts_a_letter():
    done = [name for name, _ in done_of(FIRST)]
    assert done == ["people.add", "calendar.add", "tasks.add", "tasks.add", "mail.draft"]
    jessica = Person.objects.get(name="Jessica Smith")
    assert CalendarEntry.objects.get(title="Welcome in Sales").people.get() == jessica
    assert Task.objects.filter(title__contains="Jessica", example=False).count() == 2


@pytest.mark.django_db
def test_the_second_enters_a_review_and_drafts_a_letter():
    assert [name for name, _ in done_of(REVIEW)] == ["calendar.add", "mail.draft"]
    assert CalendarEntry.objects.get(title="Launch review").people.get().name == "Priya Raman"


@pytest.mark.django_db
def test_the_third_looks_at_the_stock_and_then_requests_the_purchase():
    (look, stock), (other, _), (asks, _) = done_of(MONITORS)
    assert (look, other, asks) == ("items.find", "purchases.find", "purchases.request")
    assert "17 in stock" in stock
    [request] = Request.objects.all()
    assert [one["number"] for one in request.lines] == [40]
    assert request.total < 9_000
