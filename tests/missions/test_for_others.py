"""A step of a plan becomes a mission: made once, waited for, judged by its own gates, and told in the plan's record."""

import asyncio

import pytest
from django.contrib.auth.models import User

from engine import run_control
from engine.audit.full_verification import verify_all
from engine.ledger.entries import CHILD, AuditEntry
from engine.models import Gate, ModelCall, Run, ToolCall
from judgements.models import Council
from missions import workspace
from plans.rules.approval_policy import OPEN_READS, TeamPolicy
from plans.rules.enums import StepEffect
from tests.conftest import ScriptedModels, agents, need, perform
from tests.missions.scenes import finishes, runs
from tests.plans.offline import entries_of_all, problems
from tests.plans.scenes import SUMMARY, calls, plan, replies, steps, team
from tests.read_gates import steer_as_read

pytestmark = pytest.mark.django_db

GOAL = "A file says hello."
WORK = ("Have a file written that says hello.", "Builder", ["mission.carry_out"])
AGENTS = [{"name": "Builder", "description": "Has things made.", "model": "test/builder", "tools": WORK[2]}]
ASKS = calls("mission.carry_out", goal=GOAL, check="grep hello said")


@pytest.fixture(autouse=True)
def held(settings):
    need("sandbox", not workspace.missing_programs(), workspace.missing_programs())
    settings.DEFAULT_MODEL = "test/one"


@pytest.fixture
def models():
    return ScriptedModels()


def performed(run, models):
    return asyncio.run(perform(run, models))


def begun(mira, models, *answers, policy=OPEN_READS, asks=ASKS):
    """A plan whose one step waits for its mission, which has these answers."""
    models.will("test/planner", steps(WORK), SUMMARY)
    models.will("test/builder", asks, replies("The file says hello."))
    models.will("test/one", *answers)
    made = plan(mira, team(policy, agents=AGENTS), task="Have a file written that says hello.")
    performed(made.pk, models)
    while gate := Gate.objects.pending().filter(run=made.pk).first():
        steer_as_read(gate.pk, mira, "approve", choice="all" if gate.kind == "plan" else "")
        performed(made.pk, models)
    return made.pk


def test_what_it_came_to_is_what_the_step_goes_on_with(mira: User, models):
    run = begun(mira, models, runs("echo hello > said"), finishes("It says hello."))
    child = Run.objects.get(parent=run)
    performed(child.pk, models)
    child.refresh_from_db()
    assert (child.procedure, child.outcome, child.owner, child.step) == ("mission", "done", mira, "step-1-0-1")
    ended, call = performed(run, models), ToolCall.objects.get(run=run)
    assert (ended.outcome, call.status, call.contained) == ("done", "done", True)
    assert call.output == (
        "The mission came out as done.\nResult: It says hello.\nThe check grep hello said ended with 0.\n"
        "Files that it changed: said (added)."
    )
    assert problems(entries_of_all()[str(run)]) == []
    assert AuditEntry.objects.filter(run=run, kind=CHILD).count() == 1
    assert verify_all().faults == []


def test_who_is_asked_about_the_call_is_asked_once_and_before_there_is_a_mission(mira: User, models):
    policy = TeamPolicy(calls={**TeamPolicy().calls, StepEffect.WRITES: {"who": "person"}})
    run = begun(mira, models, finishes(), policy=policy)
    asked = Gate.objects.filter(run=run, kind="tool").get()
    child = Run.objects.get(parent=run)
    assert (asked.state, asked.used is not None, child.created >= asked.closed) == ("approved", True, True)
    performed(child.pk, models)
    performed(run, models)
    call = ToolCall.objects.get(run=run)
    assert (call.gate_id, "came out as unproven. The check ended with 2." in call.output) == (asked.pk, True)
    assert problems(entries_of_all()[str(run)]) == []


def test_all_files_that_a_mission_is_handed_are_in_the_text_and_too_much_for_a_council_is_a_persons(mira, models):
    Council.objects.create_first(name="Trio", owner=mira, agents=agents("test/a", "test/b", "test/c"))
    policy = TeamPolicy(calls={**TeamPolicy().calls, StepEffect.WRITES: {"who": "council", "council": "Trio"}})
    files = [{"path": f"{n:02}.py", "text": f"first of {n} {'x' * 1_200} last of {n}"} for n in range(20)]
    run = begun(mira, models, policy=policy, asks=calls("mission.carry_out", goal=GOAL, check="", files=files))
    gate = Gate.objects.with_decisions().get(run=run, kind="tool")
    assert [one["text"] for one in files if one["text"] not in gate.text] == []
    assert (gate.council, gate.cut, [one.decision for one in gate.decisions.all()]) == (
        None,
        False,
        ["turn", "approve"],
    )
    assert gate.last_decision.by == "mira"


def test_what_is_asked_in_the_mission_is_asked_there(mira: User, models):
    run = begun(mira, models, runs("true", network=["example.org:443"]), finishes("Nobody let me out."))
    child = Run.objects.get(parent=run)
    assert performed(child.pk, models).status == Run.Status.WAITING
    [gate] = Gate.objects.pending().filter(kind="tool")
    assert (gate.run_id, Run.objects.get(pk=run).status) == (child.pk, Run.Status.WAITING)
    steer_as_read(gate.pk, mira, "reject", choice="refuse", text="Not out there.")
    performed(child.pk, models)
    assert performed(run, models).outcome == "done"
    assert verify_all().faults == []


def test_its_agent_reads_that_a_mission_was_cancelled(mira: User, models):
    run = begun(mira, models, runs("true"))
    run_control.cancel(Run.objects.get(parent=run).pk, mira)
    assert performed(run, models).outcome == "claimed"
    assert ToolCall.objects.get(run=run).error == f"“{GOAL}” was cancelled."
    assert verify_all().faults == []


def test_a_plan_that_is_cancelled_takes_its_mission_with_it(mira: User, models):
    run = begun(mira, models, runs("true"))
    run_control.cancel(run, mira)
    assert [one.status for one in Run.objects.filter(parent=run)] == ["cancelled"]
    assert verify_all().faults == []


def test_what_cannot_be_a_mission_is_none_and_its_agent_reads_why(mira: User, models):
    models.will("test/planner", steps(WORK), SUMMARY)
    models.will("test/builder", calls("mission.carry_out", goal=GOAL, crew="Nobody"), replies("There is no such crew."))
    made = plan(mira, team(OPEN_READS, agents=AGENTS), task="Have a file written that says hello.")
    performed(made.pk, models)
    for gate in Gate.objects.pending().filter(run=made.pk):
        steer_as_read(gate.pk, mira, "approve")
    assert performed(made.pk, models).outcome == "claimed"
    assert "There is no crew “Nobody”" in ToolCall.objects.get(run=made.pk).error
    assert not Run.objects.filter(procedure="mission").exists()
    assert verify_all().faults == []


def test_a_plan_that_is_rehearsed_has_its_mission_rehearsed(mira: User):
    crew = [{**AGENTS[0], "model": "rehearsal/instant"}]
    version = team(OPEN_READS, agents=crew, planner="rehearsal/instant")
    made = plan(mira, version, task="Have a crew of agents carry out the goal “Sums are right” in a sandbox.")
    performed(made.pk, None)
    for gate in Gate.objects.pending().filter(run=made.pk):
        steer_as_read(gate.pk, mira, "approve")
        performed(made.pk, None)
    child = Run.objects.get(parent=made.pk)
    assert performed(child.pk, None).outcome == "done"
    ended = performed(made.pk, None)
    assert (ended.outcome, child.title) == ("done", "Sums are right")
    assert ModelCall.objects.filter(run=child).exclude(model="rehearsal/instant").count() == 0
    assert problems(entries_of_all()[str(made.pk)]) == verify_all().faults == []
