import asyncio
from datetime import timedelta

import pytest
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from engine import pubsub
from engine.llm.errors import CallFailed, RunFailed, UnusableAnswer
from engine.llm.response_format import ResponseFormat
from engine.models import ModelCall, Run
from engine.queue import worker
from engine.queue.worker import Worker
from engine.runtime.procedure import CommitChange, Procedure
from engine.runtime.run_context import LeaseLost, RunContext
from tests.conftest import claim, perform
from tests.waiting import until

pytestmark = pytest.mark.django_db


COIN = ResponseFormat("coin", {"type": "string"}, str.strip, str, str, said=lambda side: (side,))
TOSSED: list[str] = []


class Coin(Procedure):
    """A whole procedure: it asks one model for one word and keeps it."""

    async def perform(self, run: RunContext) -> CommitChange:
        def keep(call: ModelCall, side: str) -> None:
            TOSSED.append(f"{call.model} says {side}")

        messages = [{"role": "user", "content": "Heads or tails?"}]
        try:
            await run.request_model("toss", "openai/coin", messages, COIN, keep)
        except CallFailed as failure:
            raise RunFailed(failure.code, str(failure)) from failure
        return lambda: TOSSED.append("done")


class Broken(Procedure):
    async def perform(self, run: RunContext):
        raise ZeroDivisionError


class Stubborn(Procedure):
    async def perform(self, run: RunContext):
        """What the database refuses, and would refuse again."""
        await run.write(lambda: Run.objects.create(pk=run.pk, procedure="coin"))


SEEN = []


class Slow(Procedure):
    async def perform(self, run: RunContext):
        """Until its lease was renewed after it had ended."""
        SEEN.append(await until(Run.objects.filter(pk=run.pk, lease_expires_at__gt=Now()).aexists, "a renewed lease"))
        return lambda: None


class EndlessProcedure(Procedure):
    async def perform(self, run: RunContext):
        await asyncio.Event().wait()


@pytest.fixture(autouse=True)
def procedures(settings):
    settings.PROCEDURES = {
        **settings.PROCEDURES,
        "coin": "tests.engine.test_worker.Coin",
        "bug": "tests.engine.test_worker.Broken",
    }


async def test_a_second_procedure_is_claimed_performed_and_finished(models):
    models.will("openai/coin", " heads ")
    run = await Run.objects.acreate(procedure="coin")
    assert (await perform(run.pk, models)).status == Run.Status.FINISHED
    assert TOSSED[-2:] == ["openai/coin says heads", "done"]


async def test_a_bug_in_a_procedure_ends_its_run_only(models):
    broken, sound = [await Run.objects.acreate(procedure=name) for name in ("bug", "coin")]
    assert (await perform(sound.pk, models)).status == Run.Status.FINISHED
    broken = await perform(broken.pk)
    assert (broken.status, broken.error["code"]) == ("failed", "internal")


async def all_finished():
    return not await Run.objects.exclude(status="finished").aexists()


async def test_one_engine_performs_many_runs_at_once(models):
    for _ in range(20):
        await Run.objects.acreate(procedure="coin")
    engine = Worker(models=models)
    performing = asyncio.create_task(engine.run())
    await until(all_finished, "the end of all runs")
    await engine.stop()
    await performing
    assert await Run.objects.filter(claims=1).acount() == len(models.asked) == 20


async def test_an_engine_hears_of_work_long_before_it_looks_again(models, monkeypatch):
    monkeypatch.setattr(worker, "POLL_INTERVAL", 3_600)
    engine, looked = Worker(models=models), asyncio.Event()
    wait = engine._wait_for_bell
    monkeypatch.setattr(engine, "_wait_for_bell", lambda longest: looked.set() or wait(longest))
    performing = asyncio.create_task(engine.run())
    await looked.wait()
    await Run.objects.acreate(procedure="coin")
    await get_channel_layer().group_send(pubsub.WORKER_GROUP, {"type": "engine.of_a_later_version"})
    await pubsub.wake_workers()
    await until(all_finished, "the end of a run that it was told of")
    await engine.stop()
    await performing


def test_a_run_is_claimed_once():
    Run.objects.create(procedure="coin")
    assert [len(claim(worker, 5)) for worker in ("one", "two")] == [1, 0]


def test_the_oldest_run_is_claimed_first():
    first, second = Run.objects.create(procedure="coin"), Run.objects.create(procedure="coin")
    assert [run.pk for run in claim("one", 1)] == [first.pk]
    assert [run.pk for run in claim("one", 1)] == [second.pk]


def test_a_run_whose_lease_has_ended_is_claimed_again_and_its_open_calls_are_interrupted():
    run = Run.objects.create(procedure="coin")
    claim("one", 1)
    ModelCall.objects.create(run=run, step="x", attempt=1, model="m", prompt="[]", deadline=run.created)
    Run.objects.update(lease_expires_at=Now() - timedelta(seconds=1))
    (again,) = claim("two", 1)
    assert (again.fence > 1, again.deaths) == (True, 1)
    assert ModelCall.objects.get().status == ModelCall.Status.INTERRUPTED


async def test_a_worker_that_lost_its_lease_can_write_nothing(models, writer):
    run = await Run.objects.acreate(procedure="coin")
    context = RunContext(await asyncio.to_thread(lambda: claim("one", 1)[0]), models, writer)
    await Run.objects.aupdate(worker="two", fence=2)
    with pytest.raises(LeaseLost):
        await context.write(lambda: Run.objects.filter(pk=run.pk).update(error={"written": True}))
    assert (await Run.objects.aget()).error is None


async def test_a_stopped_engine_gives_back_what_it_holds():
    run = await Run.objects.acreate(procedure="coin")
    engine = Worker()
    await asyncio.to_thread(lambda: claim(engine.worker, 1))
    await engine.stop(grace=0)
    run = await Run.objects.aget(pk=run.pk)
    assert (run.status, run.worker) == (Run.Status.QUEUED, "")


async def test_an_engine_for_one_run_leaves_the_others_alone(models):
    mine, other = [await Run.objects.acreate(procedure="coin") for _ in range(2)]
    engine = Worker(only=mine.pk, models=models)
    performing = asyncio.create_task(engine.run())
    await until(Run.objects.filter(pk=mine.pk, status="finished").aexists, "the end of its run")
    await engine.stop(grace=0)
    await performing
    assert (await Run.objects.aget(pk=other.pk)).status == Run.Status.QUEUED


# ---- what goes wrong with workers --------------------------------------------------------------------------


def let_leases_end():
    Run.objects.update(lease_expires_at=Now() - timedelta(seconds=1))


def test_a_run_that_kills_its_worker_five_times_fails_and_says_so():
    Run.objects.create(procedure="coin")
    for death in range(5):
        assert len(claim(f"worker {death}", 1)) == 1
        let_leases_end()
    assert claim("the sixth", 1) == []
    run = Run.objects.get()
    assert (run.status, run.deaths, run.error["code"]) == ("failed", 5, "internal")
    assert "five times" in run.error["message"]


def test_a_worker_that_only_slept_keeps_its_runs():
    Run.objects.create(procedure="coin")
    (run,) = claim("one", 1)
    let_leases_end()
    assert claim("one", 1) == []
    assert Run.objects.renew_leases("one", [run.pk]) == 1


async def test_an_attempt_that_was_cut_short_is_made_again_under_its_number(models):
    run = await Run.objects.acreate(procedure="coin", claims=1)
    await ModelCall.objects.acreate(run=run, step="toss", attempt=1, model="m", prompt="[]", deadline=run.created)
    await database_sync_to_async(ModelCall.objects.mark_interrupted)()
    await perform(run.pk, models)
    calls = ModelCall.objects.order_by("pk").values_list("attempt", "status")
    assert [call async for call in calls] == [(1, "interrupted"), (1, "answered")]


def failed_call(run, attempt, **values):
    usual = {"step": "toss", "model": "openai/coin", "prompt": "[]", "deadline": run.created, "status": "failed"}
    return ModelCall(
        run=run, attempt=attempt, **usual | {"error_code": "unusable_answer", "error": "On edge."} | values
    )


async def test_a_complaint_comes_after_the_answer_that_it_is_about(models):
    """So a model sees what it said; an answer that was not even read from what came is not shown as one."""
    run = await Run.objects.acreate(procedure="coin")
    again, cut = "Heads or tails? " * 200, UnusableAnswer("Cut off.", raw="data:")
    models.will("openai/coin", "Heads or tails?", cut, again, "tails")
    assert (await perform(run.pk, models)).status == Run.Status.FINISHED
    asked, first, second, third = [messages for _, messages in models.asked]
    assert [one["role"] for one in first] == ["user", "assistant", "user"]
    assert (first[0], first[1]["content"]) == (asked[0], "Heads or tails?")
    assert first[2]["content"].startswith("The answer only repeats its instructions: “Heads or tails”.")
    assert [one["content"] for one in second[1:]] == ["Cut off."]
    assert third[1]["content"] == again[:2000] + " …"


async def test_an_answer_that_only_repeats_is_none_in_any_attempt(models):
    run = await Run.objects.acreate(procedure="coin")
    models.will("openai/coin", *["Heads or tails?"] * 4)
    ended = await perform(run.pk, models)
    assert (ended.status, ended.error["code"]) == (Run.Status.FAILED, "unusable_answer")
    assert {call.answer async for call in ModelCall.objects.all()} == {"Heads or tails?"}
    shown = [[one["role"] for one in messages].count("assistant") for _, messages in models.asked]
    assert shown == [0, 1, 0, 0]  # it is not shown again what it went on to repeat


async def test_a_resumed_run_counts_what_failed_before_and_repeats_the_complaint(models):
    run = await Run.objects.acreate(procedure="coin", claims=1)
    await failed_call(run, 1, retry_at=timezone.now()).asave()
    await perform(run.pk, models)
    assert models.asked[0][1][-1]["content"] == "On edge."
    assert await ModelCall.objects.filter(attempt=2, status="answered").acount() == 1


async def test_a_resumed_run_with_nothing_left_to_try_asks_no_more(models):
    run = await Run.objects.acreate(procedure="coin", claims=1)
    for attempt in range(1, 5):
        await failed_call(run, attempt, retry_at=None if attempt == 4 else timezone.now()).asave()
    assert (await perform(run.pk, models)).status == Run.Status.FAILED
    assert models.asked == []


async def test_a_run_has_a_deadline(models, settings):
    settings.RUN_TIMEOUT = 0.2
    settings.PROCEDURES = {"slow": "tests.engine.test_worker.EndlessProcedure"}
    run = await perform((await Run.objects.acreate(procedure="slow")).pk, models)
    assert (run.status, run.error["code"], run.error["message"]) == (
        "failed",
        "timeout",
        "It was not done within 0.2 s.",
    )


async def test_what_a_worker_holds_without_performing_it_goes_back(models):
    await Run.objects.acreate(procedure="coin")
    engine = Worker(models=models)
    await asyncio.to_thread(lambda: (claim(engine.worker, 1), connection.close()))
    performing = asyncio.create_task(engine.run())
    await until(all_finished, "the end of what it held")
    await engine.stop(grace=0)
    await performing


# ---- fairness ----------------------------------------------------------------------------------------------


def queue(owner=None, lane="", number=1):
    Run.objects.bulk_create(Run(procedure="coin", owner=owner, lane=lane) for _ in range(number))


def test_owners_take_turns(mira, noor):
    queue(mira, number=1000)
    queue(noor, number=2)
    claimed = claim("one", 10)
    assert sum(run.owner == noor for run in claimed) == 2


def test_who_has_least_in_progress_comes_first(mira, noor):
    queue(mira, number=20)
    performed = claim("one", 10)
    queue(noor, number=20)
    claimed = claim("one", 10, performed)
    assert sum(run.owner == noor for run in claimed) == 10


def test_a_lane_leaves_some_places_to_the_others():
    queue(lane="slow", number=100)
    slow = claim("one", 10, reserve=2)
    queue(lane="quick", number=100)
    quick = claim("one", 2, slow, reserve=2)
    assert ({run.lane for run in slow}, len(slow)) == ({"slow"}, 8)
    assert {run.lane for run in quick} == {"quick"}


async def test_what_the_database_refuses_for_good_fails_the_run_at_once(models, settings):
    settings.PROCEDURES = {"stubborn": "tests.engine.test_worker.Stubborn"}
    run = await perform((await Run.objects.acreate(procedure="stubborn")).pk, models)
    assert (run.status, run.claims, run.error["code"]) == ("failed", 1, "internal")


async def test_a_lease_is_renewed_until_the_grace_is_over(models, settings, monkeypatch):
    monkeypatch.setattr(worker, "RENEWALS_PER_LEASE", 150)
    settings.PROCEDURES = {"slow": "tests.engine.test_worker.Slow"}
    run = await Run.objects.acreate(procedure="slow")
    engine = Worker(models=models)
    performing = asyncio.create_task(engine.run())
    await until(Run.objects.filter(claims=1).aexists, "its claim")
    await Run.objects.aupdate(lease_expires_at=run.created)
    await engine.stop(grace=60)
    await performing
    assert SEEN.pop()
    assert (await Run.objects.aget()).status == "finished"


async def test_a_pause_that_a_wrong_clock_wrote_is_not_waited_for(models, monkeypatch):
    pauses = []
    run = await Run.objects.acreate(procedure="coin", claims=1)
    await failed_call(run, 1, retry_at=timezone.now() + timedelta(hours=2)).asave()
    sleep = asyncio.sleep

    async def noted(seconds, *result):
        pauses.append(seconds)
        await sleep(min(seconds, 0.01), *result)

    monkeypatch.setattr(asyncio, "sleep", noted)
    await perform(run.pk, models)
    assert 60 in pauses
    assert max(pauses) <= 3600  # which is the hour of the chores
