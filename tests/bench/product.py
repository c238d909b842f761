"""The product as a contestant: submitted, claimed, performed and sealed through its database, by one engine.

What is paid here is everything: the submission too, and where somebody watches the fragments of the page.
"""

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from typing import Any
from uuid import UUID

from channels.db import database_sync_to_async
from django.contrib.auth.models import User

from engine.db import cached_sql
from engine.db.reader import read_for_worker
from engine.models import Run
from engine.queue.worker import Worker
from judgements.models import Judgement
from runs.live import feed
from runs.live.feed import PageWatcher
from tests.bench.work import CRITERIA, SAID_AFTER, SEATS, BenchPlay, perform


class ReportingWorker(Worker):
    """Says when it lets go of a run, so that nobody has to look."""

    def __init__(self) -> None:
        super().__init__()
        self.over: dict[UUID, asyncio.Event] = {}

    def _done(self, task: "asyncio.Task[None]") -> None:
        self.over[self._performing[task].pk].set()
        super()._done(task)


class MagiProduct:
    def __init__(self, port: int) -> None:
        self.port = port  # in the environment, too: a provider for each kind of endpoint

    async def begin(self, stack: AsyncExitStack) -> None:
        self.engine = ReportingWorker()
        running = asyncio.create_task(self.engine.run())
        stack.push_async_callback(self._end, running)
        self.user, _ = await database_sync_to_async(User.objects.get_or_create)(username="bench", is_superuser=True)

    async def _end(self, running: "asyncio.Task[None]") -> None:
        await self.engine.stop(0)
        await running

    async def perform(self, play: BenchPlay) -> None:
        await perform(play, lambda: self._judgement(play))

    async def _judgement(self, play: BenchPlay) -> None:
        row = await database_sync_to_async(self._submit)(play)
        over = self.engine.over[row.pk] = asyncio.Event()
        self.engine.wake()
        page = await _open(row.pk, self.user) if play.watched else None
        await over.wait()
        if page:
            page.leave()
        del self.engine.over[row.pk]
        [(status, error)] = await read_for_worker(partial(cached_sql.select, Run, "pk", [row.pk], ("status", "error")))
        if status != Run.Status.FINISHED:
            raise RuntimeError(f"{status}: {error}")

    def _submit(self, play: BenchPlay) -> Any:
        agents = [
            {"name": seat, "model": f"{play.provider}/gpt-5-mini", "criteria": CRITERIA, "fallback": ""}
            for seat in SEATS
        ]
        return Judgement.objects.submit(owner=self.user, content=play.content, agents=agents)


class _Page:
    """An open page that takes whatever it gets, and says so a moment later, as `live.js` does."""

    def __init__(self, user: User) -> None:
        self.saying: asyncio.TimerHandle | None = None
        self.watcher = PageWatcher(user, None, self._take, self._end, -1)

    async def _take(self, message: str) -> None:
        self.version = int(message[4 : message.index("-->")])
        if not self.saying:
            self.saying = asyncio.get_running_loop().call_later(SAID_AFTER, self._say)

    def _say(self) -> None:
        self.saying = None
        self.feed.acknowledge(self.watcher, self.version)

    async def _end(self, code: int) -> None:
        pass

    def leave(self) -> None:
        self.feed.leave(self.watcher)


async def _open(pk: UUID, user: User) -> _Page:
    page = _Page(user)
    joined = await feed.may_watch(pk, page.watcher) and feed.join(pk, page.watcher)
    if not joined:
        raise RuntimeError("nobody may watch")
    page.feed = joined
    return page
