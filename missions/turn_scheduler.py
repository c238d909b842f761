"""Schedules steps of agents: a limited number at once, one for each agent, the longest waiting first.

Why so: missions/DESIGN.md, Missions.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence

from engine.runtime.suspension import Suspend, split_outcomes

Due = Callable[[Collection[int], bool], Awaitable[Sequence[int]]]
"""Returns the agents that can step now, without those given, the longest waiting first. The flag says whether an agent
waits at a gate."""
Step = Callable[[int], Awaitable[None]]


class TurnScheduler:
    def __init__(self, places: int, due: Due, step: Step) -> None:
        self._places, self._due, self._step = places, due, step
        self._working: dict[int, asyncio.Task[None]] = {}
        self._left: dict[int, BaseException] = {}

    async def run_until_idle(self) -> None:
        """Run steps until no agent can step. After an exception, running steps finish, and no other begins.

        Raises as `RunContext.gather` does: a fault, a failure, or Suspend.
        """
        try:
            while await self._begun():
                await asyncio.wait(self._working.values(), return_when=asyncio.FIRST_COMPLETED)
                self._collect()
        finally:
            await self._cancel()
        split_outcomes(list(self._left.values()))

    async def _begun(self) -> bool:
        if all(isinstance(one, Suspend) for one in self._left.values()):
            due = await self._due({*self._working, *self._left}, bool(self._left))
            for number in due[: self._places - len(self._working)]:
                self._working[number] = asyncio.ensure_future(self._step(number))
        return bool(self._working)

    def _collect(self) -> None:
        for number, task in list(self._working.items()):
            if task.done():
                del self._working[number]
                if raised := task.exception():
                    self._left[number] = raised

    async def _cancel(self) -> None:
        for task in self._working.values():
            task.cancel()
        await asyncio.gather(*self._working.values(), return_exceptions=True)
