"""A contestant in a process of its own: a play comes as a line, its figures leave as one."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Protocol

from tests.bench.work import BenchPlay


class Contestant(Protocol):
    async def begin(self, stack: AsyncExitStack) -> None: ...

    async def perform(self, play: BenchPlay) -> None: ...


async def serve(contestant: Contestant) -> None:
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async with AsyncExitStack() as stack:
        await contestant.begin(stack)
        print("ready", flush=True)
        while line := await lines.readline():
            print(json.dumps(await measured(contestant.perform, BenchPlay(**json.loads(line)))), flush=True)


async def measured(perform: Callable[[BenchPlay], Awaitable[None]], play: BenchPlay) -> dict[str, float]:
    """Milliseconds of the processor for each judgement, of user and system, and seconds for all together."""
    cpu, began = sum(os.times()[:2]), time.monotonic()
    await perform(play)
    return {"cpu": 1000 * (sum(os.times()[:2]) - cpu) / play.number, "seconds": time.monotonic() - began}
