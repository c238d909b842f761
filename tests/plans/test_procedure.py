"""A plan, carried out: whom it asks, what it does, and where it goes on."""

from collections import Counter

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from engine import gate_decisions
from engine.audit.full_verification import verify_all
from engine.models import BudgetExceeded, Gate, GateRule, ModelCall, Run, ToolCall
from engine.models.budgets import Budget
from engine.policy import parse_policy
from plans import comments
from plans import gate_decisions as deciding
from plans.models import Plan, PlanRevision, PlanStep, PlanStepMove, PlanStepState, Project, queries, writes
from plans.rules.actions import PlanState, choices_of
from plans.rules.approval_policy import OPEN_READS, ApprovalKind
from tests.conftest import perform
from tests.plans.scenes import (
    ADD,
    AGENTS,
    LETTER,
    SUM,
    SUMMARY,
    calls,
    move,
    pending,
    plan,
    planned,
    questions,
    replies,
    says,
    steps,
    team,
)
from tests.read_gates import decide_as_read
from tests.statements import counted

pytestmark = pytest.mark.django_db(transaction=True)


def statuses(run):
    return list(PlanStep.objects.filter(plan=run).order_by("number").values_list("status", flat=True))


async def test_nothing_begins_before_somebody_approved_and_then_all_is_done(mira, models):
    run = await planned(mira, models, steps(SUM), SUMMARY)
    assert await sync_to_async(statuses)(run) == ["planned"]
    models.will("test/sums", ADD, replies("It is 5."))
    await says(run, mira, "approve", "all")
    ended = await perform(run, models)
    call = await ToolCall.objects.aget(run=run)
    assert (ended.status, ended.outcome) == (Run.Status.FINISHED, "done")
    assert (call.status, "5" in call.output) == ("done", True)
    assert (await Plan.objects.aget(pk=run)).summary == "All of it was done."
    assert not (await sync_to_async(verify_all)()).faults


@pytest.fixture
def statements():
    with counted("writer", "reader") as found:
        yield found


async def test_a_plan_takes_no_more_looks_statements_and_commits_than_it_did(mira, models, monkeypatch, statements):
    """What one more costs is paid at each of its parts; who finds a way with fewer lowers these."""
    looks, look = [], queries.load_plan
    monkeypatch.setattr(queries, "load_plan", lambda pk: looks.append(pk) or look(pk))
    models.will("test/sums", ADD, replies("It is 5."), ADD, replies("Five again."))
    version = await sync_to_async(team)(OPEN_READS)
    run = await planned(mira, models, steps(SUM, SUM), SUMMARY, version=version)
    ended = await Run.objects.aget(pk=run)
    assert ended.outcome == "done"
    assert (len(looks), ended.revision) == (13, 21)
    assert len(statements.made) <= 330  # a few of them are the idle engine's


async def test_one_act_approves_the_plan_and_each_step_and_what_leaves_is_asked_again(mira, models):
    run = await planned(mira, models, steps(SUM, LETTER), SUMMARY)
    assert [one.kind for one in await sync_to_async(pending)(run)] == ["plan", "step"]
    models.will("test/sums", ADD, replies("It is 5."))
    draft = calls("mail.draft", to=["ada@example.org"], subject="Five", text="It is 5.")
    models.will(
        "test/letters",
        draft,
        calls("mail.send", to=["ada@example.org"], subject="Five", text="It is 5."),
        replies("Sent."),
    )
    await says(run, mira, "approve", "all")
    assert (await perform(run, models)).status == Run.Status.WAITING
    [gate] = await sync_to_async(pending)(run)
    assert (gate.kind, gate.tool) == ("tool", "mail.send")


@pytest.mark.parametrize("kind", ["plan", "step"])
async def test_a_rule_of_the_installation_asks_about_what_the_team_asks_nobody(mira, models, kind):
    await GateRule.objects.acreate(procedure="plan", kind=kind, who="person")
    run = await planned(mira, models, steps(SUM), version=await sync_to_async(team)(OPEN_READS))
    assert [one.kind for one in await sync_to_async(pending)(run)] == [kind]


async def test_what_was_rejected_with_a_reason_is_planned_anew_by_it(mira, models):
    run = await planned(mira, models, steps(SUM), steps(("Add three and three.", *SUM[1:])))
    await says(run, mira, "reject", "revise", "Take three.")
    await perform(run, models)
    assert "Take three." in models.asked[-1][1][1]["content"]
    assert await sync_to_async(statuses)(run) == ["superseded", "planned"]
    assert [one.step for one in await sync_to_async(pending)(run)] == ["plan-2"]


async def test_what_a_person_approved_is_taken_once_however_old_the_look_of_the_run_is(mira, models):
    run = await planned(mira, models, steps(LETTER))
    await says(run, mira, "approve", kind="step")
    gate = await Gate.objects.aget(run=run, kind="step")
    await sync_to_async(deciding.accept_plan)(run, gate.pk)
    assert await sync_to_async(statuses)(run) == ["approved"]


async def test_a_question_about_a_plan_that_was_replaced_opens_nothing_of_the_next_one(mira, models):
    run = await planned(mira, models, steps(SUM), steps(LETTER))
    await says(run, mira, "reject", "revise", "No.")
    await perform(run, models)
    old = await Gate.objects.select_related("run").aget(run=run, step="plan-1")
    same = {name: getattr(old, name) for name in ("run", "step", "kind", "title", "text", "policy", "choices")}
    stale = await sync_to_async(Gate.objects.open)(old, **same)
    with pytest.raises(gate_decisions.GateClosed, match="not asked any more"):
        await sync_to_async(decide_as_read)(stale.pk, mira, "approve", "", "all")
    assert await PlanRevision.objects.filter(plan=run, standing="proposed").aexists()


async def test_an_approval_of_steps_as_they_were_accepts_no_other_ones(mira, models):
    run = await planned(mira, models, steps(LETTER))
    gate = await Gate.objects.aget(run=run, kind="plan")
    await sync_to_async(comments.change_step)(run, mira, 1, {"action": "Write it to Ben.", "tools": LETTER[2]})
    with pytest.raises(gate_decisions.GateClosed):
        await sync_to_async(decide_as_read)(gate.pk, mira, "approve", "", "all")
    await perform(run, models)
    newest = await Gate.objects.filter(run=run, kind="plan").alatest("number")
    assert (newest.number, "Write it to Ben." in newest.text) == (2, True)


async def test_what_a_council_allowed_and_somebody_decided_otherwise_is_asked_anew_and_breaks_nothing(mira, models):
    version = await sync_to_async(team)()
    run = await planned(mira, models, steps(LETTER), version=version)
    judged = (await sync_to_async(plan)(mira, version)).run
    gate = await Gate.objects.aget(run=run, kind="step")
    await gate.decisions.acreate(by="council Trio", decision="approve", judged_by=judged)
    await says(run, mira, "approve", kind="step")
    await Run.objects.filter(pk=judged.pk).aupdate(override="rejected")
    await says(run, mira, "approve", "all")
    assert (await perform(run, models)).status == Run.Status.WAITING
    assert [one.number async for one in Gate.objects.filter(run=run, kind="step", state="pending")] == [2]


@pytest.mark.parametrize("kind", ["plan", "step"])
async def test_a_council_that_refuses_what_cannot_be_planned_again_leaves_it_out(mira, models, kind):
    run = await planned(mira, models, steps(LETTER))
    await PlanRevision.objects.filter(plan=run).aupdate(standing="replaced")
    await PlanRevision.objects.abulk_create(
        PlanRevision(plan_id=run, number=number, cause="rejection", standing="proposed") for number in range(2, 13)
    )
    gate = await Gate.objects.aget(run=run, kind="step")
    step = gate.step if kind == "step" else "plan-12"
    gate = await refused(gate, kind, step)
    await sync_to_async(deciding.accept_plan)(run, gate.pk)
    assert await sync_to_async(statuses)(run) == ["rejected"]  # with the plan that ends, too
    assert (await Plan.objects.aget(pk=run)).stopped == (kind == "plan")


@sync_to_async
def refused(like, kind, step):
    """A gate there that a council has refused."""
    before = Gate.objects.newest(like.run_id, step)
    gate = Gate.objects.open(before, run=like.run, step=step, kind=kind, policy=like.policy)
    gate.decisions.create(by="council Trio", decision="reject")
    Gate.objects.filter(pk=gate.pk).update(state="rejected")
    return gate


async def test_an_answer_is_words_and_not_too_many(mira, models):
    run = await planned(mira, models, questions("By when?"))
    [gate] = await sync_to_async(pending)(run)
    for answer in ("", "x" * 4_001, {"by": "Friday"}):
        with pytest.raises(gate_decisions.InvalidAnswer):
            await sync_to_async(decide_as_read)(gate.pk, mira, "answer", answer=answer)


async def test_an_answer_of_characters_that_no_database_takes_is_taken(mira, models):
    run = await planned(mira, models, questions("By when?"), steps(SUM))
    [gate] = await sync_to_async(pending)(run)
    await sync_to_async(decide_as_read)(gate.pk, mira, "answer", answer="a\x00b\ud800")
    await perform(run, models)
    assert await sync_to_async(statuses)(run) == ["planned"]


async def test_a_step_that_is_planned_again_as_it_was_keeps_its_gate_and_its_approval(mira, models):
    run = await planned(mira, models, steps(LETTER, SUM), steps(LETTER))
    await says(run, mira, "approve", kind="step")
    await says(run, mira, "reject", "revise", "No sums.", kind="plan")
    await perform(run, models)
    assert await sync_to_async(statuses)(run) == ["approved", "superseded"]
    assert [one.kind for one in await sync_to_async(pending)(run)] == ["plan"]


async def test_the_planner_asks_and_plans_with_the_answer(mira, models):
    run = await planned(mira, models, questions("By when?"), steps(SUM))
    await says(run, mira, "answer", text="By Friday.")
    await perform(run, models)
    assert "By Friday." in models.asked[-1][1][1]["content"]
    assert [one.kind for one in await sync_to_async(pending)(run)] == ["plan"]


async def test_whoever_ends_the_plan_ends_it(mira, models):
    run = await planned(mira, models, steps(SUM), SUMMARY)
    await says(run, mira, "reject", "end")
    assert (await perform(run, models)).outcome == "rejected"
    assert await sync_to_async(statuses)(run) == ["rejected"]


async def test_a_step_of_a_person_waits_for_that_person_and_their_words_are_its_reply(mira, models):
    run = await planned(mira, models, steps(("Sign it.", "Person", [])), SUMMARY)
    await says(run, mira, "approve", "all")
    await perform(run, models)
    assert [one.kind for one in await sync_to_async(pending)(run)] == ["person"]
    await says(run, mira, "answer", text="Signed.")
    assert (await perform(run, models)).outcome == "done"
    assert (await PlanStep.objects.prefetch_related("states").aget(plan=run)).reply == "Signed."


async def test_an_agent_asks_in_the_middle_of_a_step_and_reads_the_answer(mira, models):
    version = await sync_to_async(team)(OPEN_READS)
    models.will("test/sums", move("ask", "Which two?"))
    run = await planned(mira, models, steps(SUM), SUMMARY, version=version)
    models.will("test/sums", replies())
    await says(run, mira, "answer", text="Two and three.")
    assert (await perform(run, models)).outcome == "done"
    assert any("Two and three." in messages[1]["content"] for model, messages in models.asked if model == "test/sums")


async def test_what_strangers_wrote_is_kept_in_mind_in_later_plans_of_a_matter(mira, models):
    version = await sync_to_async(team)()
    run = await planned(mira, models, steps(SUM), SUMMARY, version=version, matter="Letters")
    await says(run, mira, "reject", "end")
    await perform(run, models)
    read = {"tool": "documents.read", "definition": "0" * 64, "effect": "reads", "status": "done", "outside": True}
    await ToolCall.objects.acreate(run_id=run, step="step-1-0-1", number=1, **read)
    later = await planned(mira, models, steps(LETTER), version=version, matter="Letters")
    assert "All of it was done." in models.asked[-1][1][1]["content"]
    models.will("test/letters", calls("mail.draft", to=["ada@example.org"], subject="Five", text="It is 5."))
    await says(later, mira, "approve", "all")
    await perform(later, models)
    assert [one.tool for one in await sync_to_async(pending)(later)] == ["mail.draft"]
    assert [one.pk for one in await sync_to_async(queries.plans_shown_this_plan)(run)] == [later]


def test_nobodys_plans_find_a_matter_even_where_two_have_its_name(mira):
    Project.objects.create(name="Letters")
    Project.objects.create(name="Letters")
    assert plan(None, matter="Letters").matter == Project.objects.earliest("created")


async def test_the_same_call_is_not_made_twice_where_it_changes_something(mira, models):
    run = await planned(mira, models, steps(LETTER), SUMMARY)
    draft = calls("mail.draft", to=["ada@example.org"], subject="Five", text="It is 5.")
    models.will("test/letters", draft, draft, replies("Drafted."))
    await says(run, mira, "approve", "all")
    assert (await perform(run, models)).outcome == "claimed"  # it was there to send it
    assert await ToolCall.objects.filter(run=run).acount() == 1


async def test_independent_steps_go_on_beside_one_that_waits(mira, models):
    version = await sync_to_async(team)(OPEN_READS)
    models.will("test/sums", replies("One."))
    answer = steps(("Sign it.", "Person", []), ("Add it.", "Sums", [], []))
    run = await planned(mira, models, answer, version=version)
    assert await sync_to_async(statuses)(run) == ["action_requested", "completed"]


async def test_each_owner_is_asked_by_its_model_and_told_what_its_step_needs_alone(mira, models):
    more, told = ("Add five and one.", "Sums", ["figures.calculate"]), ("Say the first one.", "Letters", [], [1])
    models.will("test/sums", replies("It is 5."), replies("It is 6."))
    models.will("test/letters", replies("Said."))
    version = await sync_to_async(team)(OPEN_READS)
    run = await planned(mira, models, steps(SUM, more, told), SUMMARY, version=version)
    assert (await Run.objects.aget(pk=run)).outcome == "done"
    [read] = [messages[1]["content"] for model, messages in models.asked if model == "test/letters"]
    assert ("It is 5." in read, "It is 6." in read) == (True, False)
    asked = [call.model async for call in ModelCall.objects.filter(run=run).order_by("pk")]
    assert Counter(asked) == {"test/planner": 2, "test/sums": 2, "test/letters": 1}


async def test_what_becomes_possible_meanwhile_is_not_held_up_by_one_that_waits(mira, models):
    version = await sync_to_async(team)(OPEN_READS)
    models.will("test/sums", replies("One."), replies("Two."))
    answer = steps(("Sign it.", "Person", [], []), ("Add it.", "Sums", [], []), ("Add it again.", "Sums", [], [2]))
    run = await planned(mira, models, answer, version=version)
    assert await sync_to_async(statuses)(run) == ["action_requested", "completed", "completed"]


async def test_what_has_cost_what_it_may_cost_goes_on_when_a_person_says_so(mira, models):
    made = await sync_to_async(plan)(mira, spend=1_000)
    await sync_to_async(spend)(made.run, 1_000)
    await perform(made.pk, models)
    [gate] = await sync_to_async(pending)(made.pk)
    assert (gate.kind, models.asked) == ("budget", [])
    await says(made.pk, mira, "approve", "more")
    models.will("test/planner", steps(SUM))
    await perform(made.pk, models)
    await sync_to_async(spend)(made.run, 1_000)
    await says(made.pk, mira, "approve", "all")
    await perform(made.pk, models)
    assert [one.step for one in await sync_to_async(pending)(made.pk)] == ["budget-2"]
    await says(made.pk, mira, "reject", "end")
    assert (await perform(made.pk, models)).outcome == "rejected"


def spend(run, cost):
    step = f"spent {run.calls.count()}"
    run.calls.create(step=step, series=0, attempt=1, deadline=timezone.now(), status="answered", cost=cost)


def test_where_there_is_a_budget_a_plan_needs_no_limit_of_its_own(mira):
    Budget.objects.create(owner=mira, limit=1)
    with pytest.raises(BudgetExceeded):
        plan(mira)  # nobody knows what its models cost
    rehearsed = team(name="Stage", agents=[{**AGENTS[0], "model": "rehearsal/instant"}], planner="rehearsal/instant")
    assert plan(mira, rehearsed).run.reserved == 0


async def test_a_summary_that_no_model_gives_is_made_from_the_rows(mira, models):
    version = await sync_to_async(team)(OPEN_READS)
    models.will("test/sums", replies("It is 5."))
    run = await planned(mira, models, steps(SUM), *["nonsense"] * 4, version=version)
    assert (await Plan.objects.aget(pk=run)).summary == "The plan is done. Step 1 is completed: It is 5."


def test_what_was_cut_short_is_the_engines_question_and_leaving_the_step_is_the_plans(mira):
    made = plan(mira)
    step = PlanStep.objects.create(
        plan=made, number=1, position=1, first_in=1, effect="writes", status="action_requested"
    )
    PlanStepState.objects.create(step=step, number=1, status="planned", action="Post it.", held={})
    call = ModelCall.objects.create(run=made.run, step="step-1-0-2", series=0, attempt=1, deadline=made.run.created)
    PlanStepMove.objects.create(step=step, series=0, number=2, act="call", tool="mail.send", call=call)
    asked = {"kind": "uncertain", "title": "Did it happen?", "text": "Nobody knows.", "policy": parse_policy(None)}
    choices = [{"word": word, "decision": "answer", "sentence": word} for word in ("happened", "do", "leave")]
    choices += choices_of(ApprovalKind.TOOL, PlanState(), queries.step_situation(step))
    for number, (decision, choice) in enumerate((("answer", "happened"), ("reject", "skip")), 1):
        gate = Gate.objects.open(None, run=made.run, step=f"step-1-0-{number}", choices=choices, **asked)
        decide_as_read(gate.pk, mira, decision, "I looked.", choice)
    step.refresh_from_db()
    assert (step.status, step.skipped, Gate.objects.filter(used=None).count()) == ("failed", True, 2)


async def test_what_was_changed_since_the_look_is_asked_about_only_if_it_still_has_to_be(mira, models):
    run = await planned(mira, models, steps(LETTER))
    await sync_to_async(comments.change_step)(run, mira, 1, {"owner": "Person"})
    await sync_to_async(writes.await_approval)(run, 1)
    assert (await PlanStep.objects.aget(plan=run)).status == "planned"
