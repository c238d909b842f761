"""An engine takes on as much as its process keeps up with."""

import asyncio
import time

from engine.models import Run
from engine.pulse import Pulse
from engine.worker import ALWAYS, Engine


def hold_up() -> None:
    time.sleep(0.6)


async def test_a_process_that_is_held_up_is_late_and_comes_to_again():
    pulse = Pulse()
    beating = asyncio.create_task(pulse.beat())
    await asyncio.sleep(0)
    hold_up()
    await asyncio.sleep(0.15)
    assert pulse.late
    for _ in range(10):
        pulse.feel(0.0)
    assert not pulse.late
    beating.cancel()


async def test_who_is_late_takes_on_no_more_than_always(models):
    engine = Engine(models=models)
    engine._pulse.feel(1.0)
    engine._performing = {asyncio.create_task(asyncio.sleep(0)): Run() for _ in range(ALWAYS)}
    assert not await engine._claim_some()  # without a look at the rows
