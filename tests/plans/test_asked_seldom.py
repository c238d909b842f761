"""People are asked seldom and about what matters: five uses with ready-made teams, whose policy is the usual one."""

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings

from engine.models import Gate, Letter, Run
from office import example
from office.models import CalendarEntry, Person, Request, Task
from plans.migrations._ready_made import POLICY, TEAMS
from plans.models import PlanStep, Team
from plans.rules.approval_policy import TeamPolicy
from tests.conftest import perform, some_of
from tests.plans.scenes import SUMMARY, calls, plan, questions, replies, steps, team
from tests.read_gates import decide_as_read

pytestmark = pytest.mark.django_db(transaction=True)

DAY = "2026-12-0"
JESSICA = "jessica.smith@example.org"


def letter(tool, to, about):
    return calls(tool, to=[to], subject=about, text=f"{about}. More on the first day.")


@dataclass(frozen=True)
class Use:
    """`acts`: how often somebody decides. `letters`: what became of them. `answers`: of the models, in their order."""

    name: str
    team: str
    acts: int
    letters: tuple[str, ...]
    answers: tuple[str, ...]


ONBOARD = Use(
    "onboard",
    "People",
    2,
    ("draft", "kept"),
    (
        steps(
            ("Enter Jessica Smith.", "People partner", ["people.find", "people.add"]),
            ("Find an hour for her orientation.", "Calendar", ["calendar.free"]),
            ("Enter the orientation.", "Calendar", ["calendar.add"]),
            ("Add tasks for laptop and contract.", "People partner", ["tasks.add"]),
            ("Welcome her by mail.", "Letters", ["mail.draft", "mail.send"]),
        ),
        calls("people.find", query="Jessica"),
        calls("people.add", name="Jessica Smith", mail=JESSICA),
        replies("She is entered."),
        calls("calendar.free", people=[JESSICA], minutes=60, start=f"{DAY}1T09:00", end=f"{DAY}2T17:00"),
        replies("On Tuesday at nine."),
        calls("calendar.add", title="Orientation", people=[JESSICA], start=f"{DAY}1T09:00", end=f"{DAY}1T10:00"),
        replies("It is entered."),
        calls("tasks.add", title="Order a laptop"),
        calls("tasks.add", title="Prepare the contract"),
        replies("Both are there."),
        letter("mail.draft", JESSICA, "Welcome"),
        letter("mail.send", JESSICA, "Welcome"),
        replies("It is sent."),
    ),
)
PRESS = Use(
    "press",
    "Marketing",
    3,
    ("kept",),
    (
        questions("To whom does it go?"),
        steps(
            ("Read what there is about the lamp.", "Researcher", ["items.find", "documents.read"]),
            ("Write the release.", "Writer", ["documents.write"]),
            ("Read it for promises.", "Legal reader", ["documents.read"]),
            ("Send it to the press.", "Letters", ["mail.send"]),
        ),
        calls("items.find", query="lamp"),
        calls("documents.read", name="Press release, how we write"),
        replies("One page, no superlatives."),
        calls("documents.write", name="Release", text="A lamp that dims itself."),
        replies("It is written."),
        calls("documents.read", name="Release"),
        replies("It promises nothing."),
        letter("mail.send", "press@example.org", "A lamp that dims itself"),
        replies("It is sent."),
    ),
)
ORDER = Use(
    "order",
    "Procurement",
    1,
    (),
    (
        steps(
            ("What is there, and what is asked for?", "Buyer", ["items.find", "purchases.find"]),
            ("What do 40 cost?", "Buyer", ["figures.calculate"]),
            ("Ask for 40 monitors.", "Buyer", ["purchases.request"]),
        ),
        calls("items.find", query="monitor"),
        calls("purchases.find", query="monitor"),
        replies("17 are there."),
        calls("figures.calculate", expression="40 * 219"),
        replies("8,760."),
        calls("purchases.request", lines=[{"what": "Monitor 27", "number": 40, "price": "219.00"}]),
        replies("It is asked for."),
    ),
)
MOVE = Use(
    "move",
    "Office",
    3,
    ("kept", "kept"),
    (
        steps(
            ("What is there on both Fridays?", "Calendar", ["calendar.find"]),
            ("Move the review.", "Calendar", ["calendar.move"]),
            ("Tell Ada.", "Letters", ["mail.send"]),
            ("Tell Ben.", "Letters", ["mail.send"]),
        ),
        calls("calendar.find", start=f"{DAY}4T00:00", end="2026-12-12T00:00"),
        replies("The review alone."),
        calls("calendar.move", entry=0, start="2026-12-11T10:00", end="2026-12-11T11:00"),
        replies("It is moved."),
        letter("mail.send", "ada@example.org", "The review is a week later"),
        replies("She knows."),
        letter("mail.send", "ben@example.org", "The review is a week later"),
        replies("He knows."),
    ),
)
MONDAY = Use(
    "monday",
    "Office",
    1,
    ("draft", "draft"),
    (
        steps(
            ("Which tasks are overdue?", "Desk", ["tasks.find"]),
            ("Draft a letter to each assignee.", "Letters", ["mail.draft"]),
        ),
        calls("tasks.find", due_until="2026-12-01"),
        replies("Two are."),
        letter("mail.draft", "ada@example.org", "Your task is due"),
        letter("mail.draft", "ben@example.org", "Your task is due"),
        replies("Both are drafted."),
    ),
)


@pytest.fixture
def office(db):
    example.load()
    at = datetime(2026, 12, 4, 10, tzinfo=UTC)
    return CalendarEntry.objects.create(title="Launch review", start=at, end=at.replace(hour=11))


def ready_made(name):
    """The team that each installation has, which the tests' databases have lost."""
    known = next(one for one in TEAMS if one["name"] == name)
    agents = [{"name": who, "description": what, "tools": tools} for who, what, tools in known["agents"]]
    return team(TeamPolicy.of(POLICY), f"{name} {Team.objects.count()}", agents, planner=settings.DEFAULT_MODEL)


def test_the_policy_of_ready_made_teams_is_the_usual_one():
    assert TeamPolicy.of(POLICY).as_json() == POLICY == TeamPolicy().as_json()


async def decided(run, models, user):
    """How often somebody decided until it was done: whatever is asked first, and all of it where that can be said."""
    for acts in range(20):
        if (await perform(run, models)).is_ended:
            return acts
        gate = await Gate.objects.filter(run=run, state="pending").order_by("pk").afirst()
        said = {"plan": ("approve", "", "all"), "question": ("answer", "press@example.org")}
        await sync_to_async(decide_as_read)(gate.pk, user, *said.get(gate.kind, ("approve",)))
    raise AssertionError("it asks and asks")


async def carried_out(use, models, mira, office):
    answers = [one.replace('\\"entry\\": 0', f'\\"entry\\": {office.pk}') for one in use.answers]
    models.will(settings.DEFAULT_MODEL, *answers, SUMMARY)
    version = await sync_to_async(ready_made)(use.team)
    made = await sync_to_async(plan)(mira, version, task="As the team is used to.")
    return made.pk, await decided(made.pk, models, mira)


@pytest.mark.parametrize("use", some_of([ONBOARD, PRESS, MONDAY, ORDER, MOVE], 3), ids=lambda use: use.name)
async def test_somebody_decides_once_about_the_plan_and_once_about_each_text_that_leaves(use, models, mira, office):
    run, acts = await carried_out(use, models, mira, office)
    assert ((await Run.objects.aget(pk=run)).outcome, acts) == ("done", use.acts)
    assert not models.script[settings.DEFAULT_MODEL], "all of it was done"
    reading = [one async for one in PlanStep.objects.filter(plan=run, effect="reads")]
    places = [one async for one in Gate.objects.filter(run=run).values_list("step", flat=True)]
    assert reading
    for step in reading:
        assert not [place for place in places if place.startswith(f"step-{step.number}-") or place == step.gate_step]
    assert [one async for one in Letter.objects.values_list("state", flat=True).order_by("pk")] == list(use.letters)
    assert await Person.objects.filter(mail=JESSICA).aexists() == (use is ONBOARD)
    bought = Task.objects.filter(title__in=("Order a laptop", "Prepare the contract"))
    assert await bought.acount() == (2 if use is ONBOARD else 0)
    assert await Request.objects.acount() == (use is ORDER)
