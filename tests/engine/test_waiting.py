"""A run that cannot go on is let go of, and taken up again when something has come from outside."""

import asyncio
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from engine import fault_injection, run_control
from engine.audit import sealing
from engine.audit.full_verification import verify_all
from engine.ledger.entries import AuditEntry
from engine.ledger.merkle_log import LogLeaf
from engine.llm.errors import RunFailed, Unauthorized
from engine.models import Budget, ModelCall, Run, Suspension, account_key
from engine.queue.worker import Worker
from engine.run_control import RunEnded
from engine.runtime.procedure import Procedure
from engine.runtime.run_context import RunContext
from engine.runtime.suspension import Suspend, Yield, split_outcomes
from engine.runtime.writer import Writer
from tests.conftest import claim, standing
from tests.engine.test_worker import COIN, let_leases_end
from tests.waiting import until

pytestmark = pytest.mark.django_db

SAID: set = set()  # stands for rows that somebody writes from outside
LOOKS: list = []
MESSAGES = [{"role": "user", "content": "Heads or tails?"}]


def keep(call, side):
    pass


class Patient(Procedure):
    """Tosses a coin, waits for somebody to say something, and tosses another."""

    async def perform(self, run):
        said = await run.read_snapshot(lambda: self._look(run.pk))
        await self._toss(run, "first")
        if not said:
            raise Suspend("Somebody has to say something.")
        await self._toss(run, "second")
        return lambda: None

    def _look(self, pk):
        LOOKS.append(pk)
        return pk in SAID

    async def _toss(self, run, step):
        if not await run.read(ModelCall.objects.filter(run=run.pk, step=step, status="answered").exists):
            await run.request_model(step, "openai/coin", MESSAGES, COIN, keep)


class Deaf(Patient):
    """Hears only what was said before it looked, and is slow to wait."""

    async def perform(self, run):
        said = await run.read_snapshot(lambda: self._look(run.pk))
        if not said:
            await run.write(lambda: Run.objects.wake(run.pk))  # as somebody does in this very moment
            SAID.add(run.pk)
            raise Suspend
        return lambda: None


class Sleepy(Procedure):
    async def perform(self, run):
        await run.until(run.claimed.created + timedelta(seconds=1))
        return lambda: None


class Resting(Procedure):
    timeout = 5

    async def perform(self, run):
        if run.claimed.claims < 3:
            await run.yield_to_others()
        return lambda: None


class Thrifty(Patient):
    def reserved_cost(self, run):
        return 30


class Branching(Procedure):
    """One branch waits, the other goes on to its end meanwhile."""

    async def perform(self, run):
        await run.read_snapshot(lambda: None)
        await run.gather(self._waits(run), self._tosses(run))
        return lambda: None

    async def _waits(self, run):
        said = await run.read_snapshot(lambda: run.pk in SAID)
        if not said:
            raise Suspend("One branch waits.", timezone.now() + timedelta(days=1))

    async def _tosses(self, run):
        for step in ("first", "second"):
            await Patient._toss(self, run, step)


@pytest.fixture(autouse=True)
def procedures(settings):
    kinds = (Patient, Deaf, Sleepy, Resting, Thrifty, Branching)
    settings.PROCEDURES = {**settings.PROCEDURES} | {
        kind.__name__.lower(): f"{__name__}.{kind.__name__}" for kind in kinds
    }


def asked_for(procedure, owner=None, **values):
    sealing.adopt_unsealed_runs()
    run = Run.objects.create(procedure=procedure, owner=owner, account=account_key(owner), **values)
    sealing.record_submission(run.pk)
    return run


queued = sync_to_async(asked_for)
act = sync_to_async(run_control.apply_action)


async def perform_until(run, models, *statuses, engine=None):
    async def stands():
        return (await standing(run.pk))[0] in statuses

    engine = engine or Worker(models=models)
    performing = asyncio.create_task(engine.run())
    try:
        await until(stands, f"that it is {' or '.join(statuses)}")
    finally:
        await engine.stop(grace=0)
        await performing
    return await Run.objects.aget(pk=run.pk)


async def say(run):
    await act(run.pk, lambda: SAID.add(run.pk))


def problems():
    return [str(fault) for fault in verify_all().faults]


# ---- parks ----------------------------------------------------------------------------------------------------


async def test_a_run_that_waits_has_no_worker_and_goes_on_when_it_is_told(models):
    run = await queued("patient")
    parked = await perform_until(run, models, "waiting")
    assert (parked.worker, parked.lease_expires_at, parked.why) == ("", None, "Somebody has to say something.")
    await say(run)
    ended = await perform_until(run, models, "finished")
    assert (ended.claims, ended.why, len(models.asked)) == (2, "", 2)
    assert await sync_to_async(problems)() == []


async def test_news_after_the_look_keeps_a_run_from_waiting(models):
    run = await queued("deaf")
    ended = await perform_until(run, models, "finished")
    assert (ended.claims, await Suspension.objects.acount()) == (2, 0)


async def test_what_comes_while_it_is_performed_is_heard_by_the_next_look(models):
    """Nobody can miss it: the number that a park compares is read before the rows."""
    run = await queued("patient")
    await say(run)
    assert (await perform_until(run, models, "finished")).claims == 1


async def test_a_time_that_has_come_wakes_it(models):
    run = await queued("sleepy")
    parked = await perform_until(run, models, "waiting")
    assert parked.wakes_at == run.created + timedelta(seconds=1)
    ended = await perform_until(run, models, "finished")
    assert ended.ended >= parked.wakes_at


def test_whom_the_database_has_woken_is_never_too_early_by_its_own_clock(models):
    run = asked_for("sleepy", wakes_at=timezone.now() + timedelta(hours=1))
    assert RunContext(run, models, Writer("none")).now == run.wakes_at


async def test_who_rests_goes_back_to_the_queue(models):
    run = await queued("resting")
    ended = await perform_until(run, models, "finished")
    assert (ended.claims, await Suspension.objects.acount()) == (3, 0)


async def test_a_run_works_on_while_a_branch_of_it_waits(models):
    run = await queued("branching")
    parked = await perform_until(run, models, "waiting")
    assert (len(models.asked), parked.why) == (2, "One branch waits.")
    assert parked.wakes_at > timezone.now()


async def test_a_look_beside_others_does_not_hide_what_they_have_not_seen(models, writer):
    class Blind(Branching):
        async def _tosses(self, run):
            await run.write(lambda: Run.objects.wake(run.pk))
            await run.read_snapshot(lambda: None)

    run = await queued("branching")
    (claimed,) = await sync_to_async(claim)("one")
    context = RunContext(claimed, models, writer)
    with pytest.raises(Suspend) as waits:
        await Blind().perform(context)
    await context.park(waits.value)
    assert (await Run.objects.aget(pk=run.pk)).status == "queued"


# ---- what comes of branches --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcomes", "raised"),
    [
        ([1, Suspend("a"), RunFailed("timeout", "b"), ZeroDivisionError("c")], "c"),
        ([RunFailed("timeout", "a"), Unauthorized("b"), Suspend("c")], "a"),
        ([1, Suspend(), Suspend("b")], "b"),
        ([Suspend("a"), Yield("b")], "b"),
    ],
)
def test_a_fault_of_ours_comes_first_then_a_failure_then_the_wait(outcomes, raised):
    with pytest.raises(Exception, match=f"^{raised}$"):
        split_outcomes(outcomes)


def test_branches_that_have_all_ended_give_what_they_came_to():
    assert split_outcomes([1, None, "b"]) == [1, None, "b"]


def test_of_several_waits_the_earliest_time_holds():
    early, late = timezone.now(), timezone.now() + timedelta(days=1)
    with pytest.raises(Suspend) as found:
        split_outcomes([Suspend("a", late), Suspend("", early), Suspend("c")])
    assert (found.value.why, found.value.until) == ("a", early)


# ---- what it leaves behind ---------------------------------------------------------------------------------


async def test_each_park_and_each_act_from_outside_seals_what_happened(models):
    run = await queued("patient")
    await perform_until(run, models, "waiting")
    leaves = LogLeaf.objects.filter(run=run.pk)
    assert await leaves.acount() == 2
    assert await sync_to_async(problems)() == []
    await say(run)
    await perform_until(run, models, "finished")
    kinds = [
        kind async for kind in AuditEntry.objects.filter(run=run.pk).order_by("seq").values_list("kind", flat=True)
    ]
    assert kinds == ["submitted", "attempt", "attempt", "ended"]
    assert await sync_to_async(problems)() == []


async def test_what_is_not_in_a_seal_of_a_waiting_run_is_found(models):
    run = await queued("patient")
    await perform_until(run, models, "waiting")
    await ModelCall.objects.acreate(run=run, step="x", attempt=1, model="m", prompt="[]", deadline=run.created)
    assert any("what no entry tells of: attempt x" in text for text in await sync_to_async(problems)())


async def test_a_run_that_never_was_sealed_gets_no_outcome_by_waiting(models):
    await queued("patient")
    run = await Run.objects.acreate(procedure="patient")
    await perform_until(run, models, "waiting")
    await say(run)
    ended = await perform_until(run, models, "failed", "finished")
    assert "not what is there now" in ended.error["message"]


def test_nothing_reaches_a_run_that_is_over():
    run = asked_for("patient", status="failed")
    with pytest.raises(RunEnded):
        run_control.apply_action(run.pk, lambda: SAID.add(run.pk))
    assert run.pk not in SAID


async def test_a_waiting_run_is_cancelled(models, mira):
    run = await queued("patient")
    await perform_until(run, models, "waiting")
    assert await sync_to_async(run_control.cancel)(run.pk, mira)
    assert (await Run.objects.aget(pk=run.pk)).status == "cancelled"
    assert await sync_to_async(problems)() == []


async def test_one_that_fails_after_a_wait_is_tried_again(models):
    run = await queued("patient")
    await perform_until(run, models, "waiting")
    models.will("openai/coin", Unauthorized("The key was refused."))
    await say(run)
    failed = await perform_until(run, models, "failed")
    assert failed.error["code"] == "unauthorized"
    assert failed.error["message"].startswith("The model gave no answer after 1 attempt: The key was refused. Check")
    assert await sync_to_async(run_control.retry)(run.pk)
    assert (await perform_until(run, models, "finished")).retries == 1
    assert await sync_to_async(problems)() == []


async def test_a_park_gives_back_what_was_set_aside_but_what_is_held_back(models):
    budget = await Budget.objects.acreate(limit=1000, reserved=100)
    values = {"reserved": 100, "reserved_in": [budget.pk]}
    run = await queued("thrifty", **values)
    parked = await perform_until(run, models, "waiting")
    await budget.arefresh_from_db()
    assert (parked.reserved, budget.reserved) == (30, 30)


# ---- time, deaths, neglect ---------------------------------------------------------------------------------


async def test_the_seconds_of_all_claims_add_up(models):
    run = await queued("patient")
    parked = await perform_until(run, models, "waiting")
    await say(run)
    ended = await perform_until(run, models, "finished")
    assert 0 < parked.worked < ended.worked < 20


def test_who_died_has_worked_until_its_lease_was_renewed_last():
    run = asked_for("patient")
    claim("one")
    Run.objects.update(claimed_at=Now() - timedelta(seconds=60))
    let_leases_end()
    claim("two")
    run.refresh_from_db()
    assert 40 < run.worked < 60


async def test_deaths_are_counted_anew_from_each_park(models):
    run = await queued("patient", deaths=4)
    assert (await perform_until(run, models, "waiting")).deaths == 0


async def test_a_claim_has_a_deadline_of_its_procedure(models):
    run = await queued("resting")
    Resting.timeout = 0.01
    try:
        Resting.perform, perform = endless, Resting.perform
        failed = await perform_until(run, models, "failed")
    finally:
        Resting.timeout, Resting.perform = 5, perform
    assert failed.error["message"] == "It was not done within 0.01 s."


async def endless(self, run):
    await asyncio.Event().wait()


def test_what_waits_for_somebody_is_not_left_alone():
    long_ago = timezone.now() - timedelta(days=21)
    Run.objects.create(procedure="patient", status="waiting", created=long_ago)
    Run.objects.create(procedure="patient", status="queued", created=long_ago, wakes_at=Now())
    assert not Run.objects.neglected().exists()
    late = Run.objects.create(procedure="patient", status="waiting", wakes_at=long_ago)
    assert list(Run.objects.neglected()) == [late]


def test_an_engine_for_one_run_takes_those_that_it_made():
    first, second = asked_for("patient"), asked_for("patient")
    child = Run.objects.create(procedure="patient", root=first, parent=first)
    engine = Worker(only=first.pk)
    with transaction.atomic():
        claimed = engine._queue.all().claim("one", 5).runs
    assert {run.pk for run in claimed} == {first.pk, child.pk}
    assert Run.objects.get(pk=second.pk).status == "queued"


# ---- faults ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", fault_injection.POINTS_OF_WAITS)
@pytest.mark.parametrize("procedure", ["patient", "resting"])
async def test_an_error_around_a_wait_loses_and_doubles_nothing(models, point, procedure):
    run = await queued(procedure)
    try:
        fault_injection.arm_fault(f"{point}=raise@1")
        if procedure == "patient":
            await perform_until(run, models, "waiting")
            await say(run)
        ended = await perform_until(run, models, "finished")
    finally:
        fault_injection.arm_fault("")
    assert ended.claims == (3 if procedure == "resting" else 2)
    assert len(models.asked) == (2 if procedure == "patient" else 0)
    assert await sync_to_async(problems)() == []
