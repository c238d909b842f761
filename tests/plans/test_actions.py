"""What is offered of a plan is not refused, and what is not offered is, at its page and in the API alike."""

from contextlib import suppress

import pytest
from asgiref.sync import sync_to_async
from django.db import transaction
from django.utils import timezone

from engine import gate_decisions, run_control
from engine.models import Gate, Run
from engine.run_control import RunEnded
from engine.runtime.procedure import InvalidAnswer
from plans import comments
from plans.models import Plan, PlanRevision, PlanStepState, queries, writes
from plans.rules.actions import PlanState, choices_of, refused_at
from plans.rules.approval_policy import OPEN_READS, ApprovalKind
from plans.rules.enums import RevisionCause, StepStatus
from plans.rules.scheduling import ORDERS, REVISIONS, STEPS_IN_ALL, StepSituation
from plans.viewer_actions import message_readers
from runs.approvals.pending import options
from runs.procedure.spec import snapshot_of, spec_of_run
from runs.run_actions import retry
from runs.run_object import gate_object, run_object
from tests.conftest import ScriptedModels, perform
from tests.databases import copied_async, tampering
from tests.plans.scenes import (
    ADD,
    LETTER,
    SUM,
    SUMMARY,
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

pytestmark = pytest.mark.django_db(transaction=True)
GIVES_UP = move("give_up", "It cannot be done.")


async def proposed(mira, models):
    return await planned(mira, models, steps(SUM, LETTER), SUMMARY)


async def asking(mira, models):
    return await planned(mira, models, questions("Which Ada?"))


async def working(mira, models):
    return await _working(mira)


@copied_async
async def _working(mira):
    models = ScriptedModels()
    run = await proposed(mira, models)
    models.will("test/sums", ADD, replies("5."))
    models.will("test/letters", move("ask", "Which Ada?"))
    await says(run, mira, "approve", "all")
    await perform(run, models)
    return run


async def failed_step(mira, models):
    version = await sync_to_async(team)(OPEN_READS)
    models.will("test/sums", GIVES_UP, GIVES_UP, GIVES_UP)
    return await planned(mira, models, *[steps(SUM, LETTER)] * 3, version=version)


async def ended_by_somebody(mira, models):
    run = await proposed(mira, models)
    await says(run, mira, "reject", "end")
    return run


async def over_by_somebody(mira, models):
    run = await ended_by_somebody(mira, models)
    await perform(run, models)
    return run


async def in_error(mira, models):
    run = await proposed(mira, models)
    await says(run, mira, "approve", "all")
    await Run.objects.filter(pk=run).aupdate(status="failed", error={"code": "internal"}, ended=timezone.now())
    return run


async def redacted_in_error(mira, models):
    run = await in_error(mira, models)
    await sync_to_async(redact)(run)
    return run


def redact(run):
    with tampering():
        Run.objects.filter(pk=run).update(redacted=timezone.now())


async def cancelled(mira, models):
    run = await proposed(mira, models)
    await sync_to_async(run_control.cancel)(run, mira)
    return run


STATES = [
    *(proposed, asking, working, failed_step, ended_by_somebody, over_by_somebody),
    *(in_error, redacted_in_error, cancelled),
]


def is_taken(do):
    """Whether it is not refused. Nothing of it stays."""
    with (
        suppress(comments.CommentRefused, comments.NoSuchStep, RunEnded, InvalidAnswer, gate_decisions.DecisionRefused),
        transaction.atomic(),
    ):
        do()
        transaction.set_rollback(True)
        return True
    return False


def offers_of(run, user):
    """Each thing that somebody could do, whether page and API offer it, and whether it is taken."""
    row = spec_of_run(run).rows().get(pk=run.pk)
    shown, told, heard = spec_of_run(run).display(snapshot_of(run)), run_object(row, ""), message_readers(row)
    yield (
        "say",
        heard["planner_hears"],
        "say" in told["actions"],
        lambda: comments.post_comment(run.pk, user, "Otherwise."),
    )
    for step, one in zip(shown.steps, told["steps"], strict=True):
        number, hears = step.number, step.number in [number for number, _ in heard["hearers"]]
        change = {"action": f"Something else {number}."}
        do = lambda number=number, change=change: comments.change_step(run.pk, user, number, change)  # noqa: E731
        yield f"change {number}", bool(step.address), "change" in one["actions"], do
        tell = lambda number=number: comments.post_comment(run.pk, user, "Mind.", number)  # noqa: E731
        yield f"say {number}", hears, "say" in one["actions"], tell
    is_offered = run.is_ended and not shown.is_final
    yield "retry", is_offered, is_offered, lambda: retry(row, user) or talking_refuses()
    at = {gate["id"]: place for place, gate in enumerate(told["gates"])}
    for gate in pending(run.pk):
        offered = {one.value for one in options(gate, user)}
        by_api = {f"{one['decision']} {one['word']}" for one in told["gates"][at[gate.pk]]["choices"]}
        for decision, word in [("answer", ""), *((one["decision"], one["word"]) for one in gate.choices)]:
            answer = "In words." if decision == "answer" else None
            do = lambda gate=gate, said=decision, word=word, answer=answer: gate_decisions.decide(  # noqa: E731
                gate.pk, user, said, "", word, answer=answer, digest=gate.digest
            )
            if decision != "answer" or gate.kind == "question":
                said = f"{decision} {word}".strip()
                yield f"{gate.kind} {said}", said in offered, said in (by_api if word else offered), do


def talking_refuses():
    raise comments.CommentRefused


def differing(pk, user):
    run = Run.objects.get(pk=pk)
    found = [(what, page, api, is_taken(do)) for what, page, api, do in offers_of(run, user)]
    return [one for one in found if not one[1] == one[2] == one[3]]


@pytest.mark.parametrize("state", STATES)
async def test_what_page_and_api_offer_is_taken_and_nothing_else(mira, models, state):
    run = await state(mira, models)
    assert await sync_to_async(differing)(run, mira) == []


def at_its_limits(run):
    for number in range(2, REVISIONS + 1):
        writes.request_revision(run, RevisionCause.CLARIFICATION, "Otherwise.", "mira")
        PlanRevision.objects.filter(plan=run, number=number).update(planned=timezone.now(), standing="asked")


async def test_what_cannot_be_planned_again_is_offered_no_other_plan(mira, models):
    run = await working(mira, models)
    await sync_to_async(at_its_limits)(run)
    gate = (await sync_to_async(pending)(run))[0]
    found = await sync_to_async(lambda: {one.value for one in options(gate, mira)})()
    told = await sync_to_async(gate_object)(gate, "")
    assert found == {"answer", "reject skip", "reject end"}
    assert ([one["word"] for one in told["choices"]], len(gate.choices)) == (["skip", "end"], 3)
    assert await sync_to_async(differing)(run, mira) == []


async def test_of_a_gate_that_is_decided_all_choices_are_told(mira, models):
    run = await ended_by_somebody(mira, models)
    gate = await Gate.objects.with_decisions().aget(run=run, step="plan-1")
    told = await sync_to_async(gate_object)(gate, "")
    assert (told["state"], told["choices"]) == ("rejected", gate.choices)


async def test_who_ends_a_plan_leaves_out_what_has_not_begun(mira, models):
    run = await over_by_somebody(mira, models)
    row = await sync_to_async(lambda: spec_of_run(Run.objects.get(pk=run)).rows().get(pk=run))()
    told = await sync_to_async(run_object)(row, "")
    assert [(step["status"], step["skipped"]) for step in told["steps"]] == [("rejected", True)] * 2
    by = await sync_to_async(
        lambda: set(PlanStepState.objects.filter(event="skip").values_list("by_name", flat=True))
    )()
    assert by == {"mira"}


async def test_of_an_older_plan_that_was_ended_nothing_waits(mira, models):
    run = await proposed(mira, models)
    stop = Plan.objects.filter(pk=run).update
    await sync_to_async(run_control.apply_action)(run, lambda: stop(stopped=True))
    await perform(run, models)
    ended = await Run.objects.aget(pk=run)
    shown = await sync_to_async(lambda: spec_of_run(ended).display(snapshot_of(ended)))()
    assert [(step.word, step.address) for step in shown.steps] == [("Not begun", ""), ("Not begun", "")]
    assert not await Gate.objects.filter(run=run, state="pending").aexists()


def test_a_step_that_was_never_tried_is_not_tried_again():
    planned_once = PlanState(steps=2, planned=1, orders=1)
    never, failed = StepSituation(1, StepStatus.APPROVED), StepSituation(1, StepStatus.FAILED)
    words = [[one["word"] for one in choices_of(ApprovalKind.FAILURE, planned_once, step)] for step in (never, failed)]
    assert words == [["revise", "skip", "end"], ["again", "revise", "skip", "end"]]
    assert ("approve", "") in set(refused_at(ApprovalKind.FAILURE, planned_once, never))
    assert ("approve", "") not in set(refused_at(ApprovalKind.FAILURE, planned_once, failed))


def test_each_limit_of_planning_takes_the_choice_away():
    limits = [PlanState(steps=STEPS_IN_ALL), PlanState(planned=REVISIONS), PlanState(orders=ORDERS)]
    for state in limits:
        assert [one["word"] for one in choices_of(ApprovalKind.PLAN, state)] == ["all", "accept", "end"]


def test_what_is_read_at_once_and_what_was_read_say_the_same(mira):
    made = plan(mira)
    assert queries.state_of(made.pk) == queries.loaded_plan_state(Plan.objects.planned().get(pk=made.pk))
