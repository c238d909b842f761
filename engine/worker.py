"""The engine of one process: claims runs from the database and performs many at once."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from uuid import UUID

from channels.db import database_sync_to_async
from django.conf import settings
from django.db import Error as DBError
from django.utils.module_loading import import_string

from .failures import RunFailed
from .live import announce
from .llm import Models
from .models import LEASE, Run
from .performance import LeaseLost, Performance

log = logging.getLogger(__name__)

SWEEP = 2.0  # seconds between looks at the queue without a bell: what a lost message left behind waits this long
RENEW = LEASE.total_seconds() / 3

Change = Callable[[], None]
Procedure = Callable[[Performance], Awaitable[Change]]
"""Performs a run; returns the change that is committed together with the run's end."""


def procedure_named(name: str) -> Procedure:
    return import_string(settings.PROCEDURES[name])


class Engine:
    def __init__(self, concurrency: int | None = None, only: UUID | None = None, models: Models | None = None) -> None:
        """`only`: an engine for this one run, that leaves all others alone."""
        # random at every start: a restarted worker must not be taken for the one that died
        self.worker = secrets.token_hex(8)
        self.concurrency = concurrency or settings.ENGINE_CONCURRENCY
        self.models = models or Models(settings.CALL_TIMEOUT)
        self._queue = Run.objects.filter(pk=only) if only else Run.objects.all()
        self._bell = asyncio.Event()
        self._performing: dict[asyncio.Task[None], Run] = {}
        self._stopping = False
        self._idle = asyncio.Event()  # set while nothing is being claimed
        self._idle.set()

    def ring(self) -> None:
        """Work may wait: look at the queue now."""
        self._bell.set()

    def drop(self, pk: UUID) -> None:
        """Stop performing a run that is no longer to be performed. What it has written stays."""
        for task, run in self._performing.items():
            if run.pk == pk:
                task.cancel()

    async def run(self) -> None:
        """Claim and perform until `stop`."""
        renewing = asyncio.create_task(self._renew_leases())
        self._idle.clear()
        try:
            while not self._stopping:
                self._bell.clear()
                await self._claim_some()
                await self._wait_for_bell()
        finally:
            self._idle.set()
            renewing.cancel()

    async def stop(self, grace: float = 10.0) -> None:
        """No new claims; what runs gets `grace` seconds, then goes back to the queue."""
        self._stopping = True
        self.ring()
        await self._idle.wait()
        if self._performing:
            await asyncio.wait(self._performing, timeout=grace)
        for task in self._performing:
            task.cancel()
        await asyncio.gather(*self._performing, return_exceptions=True)
        await database_sync_to_async(Run.objects.give_back)(self.worker)
        await self.models.close()

    async def _wait_for_bell(self) -> None:
        try:
            async with asyncio.timeout(SWEEP):
                await self._bell.wait()
        except TimeoutError:
            pass

    async def _claim_some(self) -> None:
        free = self.concurrency - len(self._performing)
        if free <= 0:
            return
        try:
            claimed = await database_sync_to_async(self._queue.all().claim)(self.worker, free)
        except DBError as error:
            log.error("The queue could not be read, trying again: %s", error)
            return
        for run in claimed:
            announce(run.pk)
            task = asyncio.create_task(self._perform(run), name=f"perform {run.pk}")
            self._performing[task] = run
            task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._performing.pop(task, None)
        self.ring()  # a place is free

    async def _perform(self, run: Run) -> None:
        performance = Performance(run, self.models)
        try:
            try:
                change = await procedure_named(run.procedure)(performance)
                await performance.end(Run.Status.FINISHED, change)
            except RunFailed as failure:
                error = {"code": failure.code, "message": str(failure), **failure.detail}
                await performance.end(Run.Status.FAILED, _nothing, error)
        except LeaseLost:
            log.warning("Run %s is no longer this worker's; nothing was written.", run.pk)
        except DBError:
            # Nothing is lost: when the lease ends, this worker or another goes on from the rows.
            log.exception("The database refused the work of run %s; it goes on when its lease has ended.", run.pk)
        except Exception:
            # The boundary between the engine and a procedure: a bug in one run must not end the others.
            log.exception("Run %s broke.", run.pk)
            await self._give_up(performance)

    async def _give_up(self, performance: Performance) -> None:
        error = {"code": "internal", "message": "Something broke inside MAGI; the server's log says what."}
        try:
            await performance.end(Run.Status.FAILED, _nothing, error)
        except (LeaseLost, DBError):
            log.exception("Run %s could not be marked as failed.", performance.run.pk)

    async def _renew_leases(self) -> None:
        while True:
            await asyncio.sleep(RENEW)
            try:
                performed = [run.pk for run in self._performing.values()]
                await database_sync_to_async(Run.objects.renew_leases)(self.worker, performed)
            except DBError as error:
                log.error("Leases could not be renewed: %s", error)


def _nothing() -> None:
    pass
