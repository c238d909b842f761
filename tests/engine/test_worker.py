import asyncio
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from engine.llm import Form
from engine.models import ModelCall, Run
from engine.performance import LeaseLost, Performance
from engine.worker import Change, Engine
from tests.conftest import perform

pytestmark = pytest.mark.django_db(transaction=True)


COIN = Form("coin", {"type": "string"}, str.strip, str, str)
TOSSED: list[str] = []


async def toss(performance: Performance) -> Change:
    """A whole procedure: it asks one model for one word and keeps it."""

    def keep(call: ModelCall, side: str) -> None:
        TOSSED.append(f"{call.model} says {side}")

    messages = [{"role": "user", "content": "Heads or tails?"}]
    await performance.ask("toss", "openai/coin", messages, COIN, keep)
    return lambda: TOSSED.append("done")


async def break_down(performance: Performance):
    raise ZeroDivisionError


@pytest.fixture(autouse=True)
def procedures(settings):
    settings.PROCEDURES = {
        **settings.PROCEDURES,
        "coin": "tests.engine.test_worker.toss",
        "bug": "tests.engine.test_worker.break_down",
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


async def test_one_engine_performs_many_runs_at_once(models):
    for _ in range(20):
        await Run.objects.acreate(procedure="coin")
    engine = Engine(models=models)
    performing = asyncio.create_task(engine.run())
    while await Run.objects.exclude(status="finished").aexists():
        await asyncio.sleep(0.01)
    await engine.stop()
    await performing
    assert await Run.objects.filter(claims=1).acount() == len(models.asked) == 20


def test_a_run_is_claimed_once():
    Run.objects.create(procedure="coin")
    assert [len(Run.objects.claim(worker, 5)) for worker in ("one", "two")] == [1, 0]


def test_the_oldest_run_is_claimed_first():
    first, second = Run.objects.create(procedure="coin"), Run.objects.create(procedure="coin")
    assert [run.pk for run in Run.objects.claim("one", 1)] == [first.pk]
    assert [run.pk for run in Run.objects.claim("one", 1)] == [second.pk]


def test_a_run_whose_lease_has_ended_is_claimed_again_and_its_open_calls_are_interrupted():
    run = Run.objects.create(procedure="coin")
    Run.objects.claim("one", 1)
    ModelCall.objects.create(run=run, step="x", attempt=1, model="m", prompt="[]", deadline=run.created)
    Run.objects.update(lease_expires_at=Now() - timedelta(seconds=1))
    assert [again.fence for again in Run.objects.claim("two", 1)] == [2]
    assert ModelCall.objects.get().status == ModelCall.Status.INTERRUPTED


async def test_a_worker_that_lost_its_lease_can_write_nothing(models):
    run = await Run.objects.acreate(procedure="coin")
    performance = Performance(await asyncio.to_thread(lambda: Run.objects.claim("one", 1)[0]), models)
    await Run.objects.aupdate(worker="two", fence=2)
    with pytest.raises(LeaseLost):
        await performance.write(lambda: Run.objects.filter(pk=run.pk).update(error={"written": True}))
    assert (await Run.objects.aget()).error is None


async def test_a_stopped_engine_gives_back_what_it_holds():
    run = await Run.objects.acreate(procedure="coin")
    engine = Engine()
    await asyncio.to_thread(lambda: Run.objects.claim(engine.worker, 1))
    await engine.stop(grace=0)
    run = await Run.objects.aget(pk=run.pk)
    assert (run.status, run.worker) == (Run.Status.QUEUED, "")


async def test_an_engine_for_one_run_leaves_the_others_alone(models):
    mine, other = [await Run.objects.acreate(procedure="coin") for _ in range(2)]
    engine = Engine(only=mine.pk, models=models)
    performing = asyncio.create_task(engine.run())
    while not (await Run.objects.aget(pk=mine.pk)).over:
        await asyncio.sleep(0.01)
    await engine.stop(grace=0)
    await performing
    assert (await Run.objects.aget(pk=other.pk)).status == Run.Status.QUEUED
