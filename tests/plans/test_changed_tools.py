"""A step whose action was changed has its tools named again: nothing is approved that its agent can only pretend."""

import json

import pytest
from asgiref.sync import sync_to_async
from django.urls import reverse

from engine.audit.full_verification import verify_all
from engine.models import Run
from plans import comments, rehearsal
from plans.models import Plan, PlanStep, writes
from plans.prompts.planner import NamedTools, PromptOwner, PromptTool, ToolsBrief, name_tools, read_tools
from plans.rules.approval_policy import OPEN_READS
from plans.rules.enums import RevisionStatus
from plans.rules.scheduling import NameTools, PlanSituation, RevisionSituation, next_actions
from plans.rules.scheduling import StepSituation as StepFacts
from runs.procedure.spec import spec_of_run
from runs.run_object import run_object
from tests.conftest import perform
from tests.plans.offline import entries_of_all, problems
from tests.plans.scenes import SUM, pending, planned, says, steps, team

pytestmark = pytest.mark.django_db(transaction=True)
SENDS = {"action": "Send the sum to Ada."}


def names(owner, *tools):
    return json.dumps({"thought": "So it can be done.", "owner": owner, "tools": list(tools)})


async def changed(mira, models, change, *answers, version=None):
    """A sum that was planned, and changed before anybody decided about it."""
    run = await planned(mira, models, steps(SUM), *answers, version=version)
    await sync_to_async(comments.change_step)(run, mira, 1, change)
    return run


async def told(run):
    row = await sync_to_async(lambda: spec_of_run(Run.objects.get(pk=run)).rows().get(pk=run))()
    return (await sync_to_async(run_object)(row, ""))["steps"][0]


async def test_the_planner_names_owner_and_tools_of_a_changed_action_before_anybody_is_asked(mira, models):
    run = await changed(mira, models, SENDS, names("Letters", "mail.send"))
    now = await told(run)
    assert (now["tools"], now["tools_due"], now["effect"]) == ([], True, "reads")
    assert not await sync_to_async(pending)(run)
    await perform(run, models)
    now = await told(run)
    assert (now["owner"], now["tools"], now["tools_due"]) == ("Letters", ["mail.send"], False)
    asked = await sync_to_async(pending)(run)
    assert [(gate.kind, "Tool: mail.send" in gate.text) for gate in asked] == [("plan", True), ("step", True)]
    entries = (await sync_to_async(entries_of_all)())[str(run)]
    assert (problems(entries), (await sync_to_async(verify_all)()).faults) == ([], [])


async def test_what_no_tool_can_do_becomes_a_persons(mira, models):
    run = await changed(mira, models, {"action": "Shake hands with Ada."}, names("Person"))
    await perform(run, models)
    await says(run, mira, "approve", "all")
    await perform(run, models)
    assert [gate.kind for gate in await sync_to_async(pending)(run)] == ["person"]


async def test_another_owner_without_the_tools_of_a_step_has_them_named(mira, models):
    run = await changed(mira, models, {"owner": "Letters"}, names("Letters", "mail.draft"))
    await perform(run, models)
    assert (await told(run))["tools"] == ["mail.draft"]


async def test_tools_that_somebody_names_are_taken_as_they_are(mira, models):
    run = await changed(mira, models, {**SENDS, "owner": "Letters", "tools": ["mail.send"]})
    now = await told(run)
    assert (now["tools"], now["tools_due"]) == (["mail.send"], False)


async def test_where_neither_action_nor_owner_changes_the_tools_stay(mira, models):
    run = await changed(mira, models, {"action": SUM[0], "needs": []})
    now = await told(run)
    assert (now["tools"], now["tools_due"], now["needs"]) == (SUM[2], False, [])


async def test_an_answer_about_an_older_change_is_none(mira, models):
    run = await changed(mira, models, SENDS)
    step = await PlanStep.objects.aget(plan=run)
    await sync_to_async(comments.change_step)(run, mira, 1, {"action": "Add four and five."})
    await sync_to_async(writes.save_named_tools)(step.pk, 2, NamedTools("", "Letters", ("mail.send",)))
    assert (await told(run))["tools_due"]


async def test_a_step_that_nobody_is_asked_about_begins_with_its_new_tools_alone(mira, models):
    version = await sync_to_async(team)(OPEN_READS)
    run = await planned(mira, models, steps(("Write it.", "Letters", ["mail.draft"])), version=version)
    await sync_to_async(comments.change_step)(run, mira, 1, {"action": "Add two and two.", "owner": "Sums"})
    assert await sync_to_async(lambda: Plan.objects.planned().get(pk=run).step(1).status)() == "planned"
    models.will("test/planner", "{", names("Sums", "figures.calculate"))
    models.will("test/sums", '{"thought": "", "act": "ask", "tool": "", "arguments": "", "text": "Which two?"}')
    await perform(run, models)
    [step] = [one async for one in PlanStep.objects.filter(plan=run)]
    assert (step.status, step.tools) == ("action_requested", ["figures.calculate"])


def test_nothing_else_is_due_of_a_plan_while_tools_are_named():
    steps_ = (StepFacts(1, tools_due=True), StepFacts(2))
    facts = PlanSituation((RevisionSituation(1, RevisionStatus.PROPOSED),), steps_)
    assert next_actions(facts) == [NameTools(1)]


OWNERS = [
    PromptOwner("Sums", "", [PromptTool("figures.calculate", "reads", "Calculates a sum.")]),
    PromptOwner("Person", ""),
]
BRIEF = ToolsBrief("The task.", "Calculate the sum.", "Sums", OWNERS, 2)


def test_the_answer_is_an_owner_with_tools_of_its_own():
    assert read_tools(names("Sums", "figures.calculate"), BRIEF).tools == ("figures.calculate",)
    wrong = [names("Nobody"), names("Sums", "mail.send"), names("Person", "figures.calculate"), "{}"]
    for answer in wrong:
        with pytest.raises(ValueError, match=r"owner|tool|form"):
            read_tools(answer, BRIEF)


def test_a_rehearsal_names_tools_by_its_rule():
    assert json.loads(rehearsal.tools(name_tools(BRIEF)))["tools"] == ["figures.calculate"]


async def test_the_form_asks_the_planner_unless_somebody_ticks_tools_anew(mira, models, client):
    run = await planned(mira, models, steps(SUM))
    await sync_to_async(client.force_login)(mira)
    address = reverse("plan-step", args=[run, 1])
    typed = {"owner": "Sums", "needs": "all", "tools Sums": "figures.calculate"}
    due = []
    for more in ({"action": "Add one.", "planner": "1"}, {"action": "Add two."}):
        answer = await sync_to_async(client.post)(address, typed | more)
        due.append((answer.status_code, (await told(run))["tools_due"]))
    assert due == [(302, True), (302, False)]
