"""What tests of tools begin with."""

import asyncio

import pytest
from asgiref.sync import sync_to_async

from engine.models import Gate
from engine.queue.worker import Worker
from tests.engine.test_waiting import perform_until, queued
from tests.engine.tools.user import (
    DONE,
    HANGING,
    KEYS,
    STEPS,
    statuses,
)
from tests.read_gates import steer_as_read


@pytest.fixture(autouse=True)
def procedures(settings):
    DONE.clear()
    KEYS.clear()
    settings.PROCEDURES = {**settings.PROCEDURES, "using": "tests.engine.tools.user.Using"}


@pytest.fixture
def using(mira, models):
    """Makes a run that uses these, and performs it until it is over or waits."""

    async def use(*steps):
        run = await queued("using", owner=mira)
        STEPS[run.pk] = steps
        return await perform_until(run, models, "waiting", "finished", "failed")

    return use


@pytest.fixture
def going_on(models):
    async def go_on(run):
        return await perform_until(run, models, "waiting", "finished", "failed")

    return go_on


@pytest.fixture
def cut(mira, models):
    """A run whose engine ended in the middle of its last use. What it asks meanwhile she approves."""

    async def cut_short(*steps):
        HANGING.add(1)
        run = await queued("using", owner=mira)
        STEPS[run.pk] = steps
        engine = Worker(models=models)
        performing = asyncio.create_task(engine.run())
        async with asyncio.timeout(60):
            while not DONE or DONE[-1] == "stranger":
                async for gate in Gate.objects.filter(run=run, state="pending"):
                    await sync_to_async(steer_as_read)(gate.pk, mira, "approve")
                await asyncio.sleep(0.01)
        await engine.stop(grace=0)
        await performing
        HANGING.clear()
        assert (await statuses())[-1] == "open"
        return run

    yield cut_short
    HANGING.clear()
