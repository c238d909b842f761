"""An engine takes on as much as its process keeps up with."""

import asyncio
import threading

from engine.models import Run
from engine.pulse import BEAT, Pulse
from engine.worker import ALWAYS, Engine
from tests.waiting import LIMIT


async def test_a_process_that_is_held_up_is_late_and_comes_to_again():
    pulse = Pulse()
    beating = asyncio.create_task(pulse.beat())
    await asyncio.sleep(0)  # it has begun
    threading.Event().wait(6 * BEAT)
    async with asyncio.timeout(LIMIT):
        while not pulse.late:
            await asyncio.sleep(0)
    for _ in range(10):
        pulse.feel(0.0)
    assert not pulse.late
    beating.cancel()


async def test_who_is_late_takes_on_no_more_than_always(models):
    engine = Engine(models=models)
    engine._pulse.feel(1.0)
    engine._performing = {asyncio.create_task(asyncio.sleep(0)): Run() for _ in range(ALWAYS)}
    assert not await engine._claim_some()  # without a look at the rows
