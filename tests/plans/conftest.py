"""A program of the source, the team that its tasks go to, and an engine that is at work."""

import asyncio

import pytest
from asgiref.sync import sync_to_async

from engine.queue.worker import Worker
from tests.databases import copied
from tests.plans.scenes import team
from tests.plans.source import PlanProgram


@pytest.fixture
async def working(models):
    engine = Worker(models=models)
    performing = asyncio.create_task(engine.run())
    yield engine
    await engine.stop(grace=0)
    await performing


@pytest.fixture
def house(db):
    return house_as_ever()


@copied
def house_as_ever():
    """By the same rows, which stand in the log before what was performed by it, and is put in again."""
    return team(name="House")


@pytest.fixture
async def program(mira, house):
    return await sync_to_async(PlanProgram)(mira)
