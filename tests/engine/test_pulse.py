"""An engine takes on as much as its process keeps up with."""

import asyncio
import threading

from engine.models import Run
from engine.queue.backpressure import TICK_SECONDS, EventLoopLag
from engine.queue.worker import MIN_CONCURRENCY, Worker
from tests.waiting import LIMIT


async def test_a_process_that_is_held_up_is_late_and_comes_to_again():
    pulse = EventLoopLag()
    beating = asyncio.create_task(pulse.tick())
    await asyncio.sleep(0)  # it has begun
    threading.Event().wait(6 * TICK_SECONDS)
    async with asyncio.timeout(LIMIT):
        while not pulse.is_high:
            await asyncio.sleep(0)
    for _ in range(10):
        pulse.measure(0.0)
    assert not pulse.is_high
    beating.cancel()


async def test_who_is_late_takes_on_no_more_than_always(models):
    engine = Worker(models=models)
    engine._pulse.measure(1.0)
    engine._performing = {asyncio.create_task(asyncio.sleep(0)): Run() for _ in range(MIN_CONCURRENCY)}
    assert not await engine._claim_some()  # without a look at the rows
