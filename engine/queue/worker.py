"""The engine of one process: claims runs from the database and performs many at once.

Why so: engine/DESIGN.md, Runs, the queue and the writer.
"""

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Awaitable, Coroutine
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import Error as DBError
from django.db.models import Q
from django.utils.module_loading import import_string

from .. import json_logs, mcp, pubsub
from ..audit import sealing
from ..db import reader
from ..ledger import checkpoints
from ..llm.client import ModelClient
from ..llm.errors import RunFailed
from ..models import ClaimedRun, Run, lease
from ..running import RunClock
from ..runtime.procedure import CommitChange, procedures
from ..runtime.run_context import LeaseLost, RunContext
from ..runtime.suspension import Suspend, Yield
from ..runtime.writer import UNREACHABLE, Writer
from . import periodic
from .backpressure import TICK_SECONDS, EventLoopLag
from .consumer import EngineConsumer

log = logging.getLogger(__name__)

POLL_INTERVAL = 1.5  # seconds between looks at the rows without a bell: what a lost message left behind waits this long
RENEWALS_PER_LEASE = 3  # of a lease before it would end
SUSPECT_DELAY_LEASES = 2  # leases long all others come first, before suspects may stop them for a while
CLAIM_BATCH = 25  # runs taken on at once: what they cost shows before the next
MIN_CONCURRENCY = 50  # so many are performed however late that makes the process: their models may be slow
RESERVED_SHARE = 5  # one in so many places is kept free of the lane that fills the others


class Worker:
    def __init__(
        self, concurrency: int | None = None, only: UUID | None = None, models: ModelClient | None = None
    ) -> None:
        """`only`: an engine for this one run and those that it makes, that leaves all others alone."""
        # random at every start: a restarted worker must not be taken for the one that died
        self.worker = secrets.token_hex(8)
        self.concurrency = concurrency or settings.ENGINE_CONCURRENCY
        self.models = models or ModelClient(settings.CALL_TIMEOUT, settings.CALL_FIRST, settings.CALL_SILENCE)
        self.writer = Writer(self.worker)
        self._only = only
        here = Run.objects.filter(host__in=("", settings.HOST))  # what is bound to another machine is left to that
        self._queue = here.filter(Q(pk=only) | Q(root=only)) if only else here
        self._bell = asyncio.Event()
        self._pulse = EventLoopLag()
        self._performing: dict[asyncio.Task[None], Run] = {}
        self._doubted: set[UUID] = set()
        self._to_the_end: list[asyncio.Task[None]] = []
        self._stopping = False
        self._idle = asyncio.Event()  # set while nothing is being claimed
        self._idle.set()
        self._suspects_wait_until = time.monotonic() + SUSPECT_DELAY_LEASES * lease().total_seconds()

    # ---- what others may do -------------------------------------------------------------------------------

    def wake(self) -> None:
        """Work may wait: look at the rows now."""
        self._bell.set()

    def drop_run(self, pk: UUID) -> None:
        """Stop performing a run that is no longer to be performed. What it has written stays."""
        for task, run in self._performing.items():
            if run.pk == pk:
                task.cancel()

    async def run(self) -> None:
        """Claim and perform until `stop`."""
        lasting = self._renew_leases(), EngineConsumer(self.wake, self.drop_run).listen()
        self._to_the_end = [asyncio.create_task(task) for task in lasting]
        for task in self._to_the_end:
            task.add_done_callback(log_task_failure)
        looking = asyncio.create_task(self._look_after_runs())
        beside = [asyncio.create_task(task) for task in self._beside()]
        self._idle.clear()
        try:
            await self.models.load()
            if not self._only:  # else the first run of a kind would hold all others up for as long as that takes
                await asyncio.to_thread(list, procedures().values())
            while not self._stopping:
                self._bell.clear()
                claimed_all = await self._claim_some()
                await self._wait_for_bell(POLL_INTERVAL if claimed_all else TICK_SECONDS)
        finally:
            self._idle.set()
            looking.cancel()
            for task in beside:
                task.cancel()
            if not self._stopping:
                self._rest()

    def _beside(self) -> list[Coroutine[Any, Any, None]]:
        others = (
            []
            if self._only
            else [periodic.run_periodically(), *(import_string(path)() for path in settings.STARTUP_TASKS)]
        )
        return [self._pulse.tick(), checkpoints.checkpoint_periodically(), *others]

    async def stop(self, grace: float = 10.0) -> None:
        """No new claims; what runs gets `grace` seconds, then goes back to the queue for others to take at once."""
        self._stopping = True
        self.writer.flush_soon(grace + 5)
        self.wake()
        await self._idle.wait()
        if self._performing and grace:
            await asyncio.wait(self._performing, timeout=grace)
        for task in self._performing:
            task.cancel()
        await asyncio.gather(*self._performing, return_exceptions=True)
        self._rest()  # not before: who finishes in the grace still needs the lease, and may still be cancelled
        await self._give_back_all()
        await mcp.close()
        await self.writer.close()
        await self.models.close()

    def _rest(self) -> None:
        for task in self._to_the_end:
            task.cancel()

    # ---- the queue ----------------------------------------------------------------------------------------

    async def _wait_for_bell(self, longest: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(longest):
                await self._bell.wait()

    async def _claim_some(self) -> bool:
        """False where more may wait that could be taken on a moment later."""
        performed = list(self._performing.values())
        places = min(self.concurrency - len(performed), CLAIM_BATCH)
        if places <= 0:
            return True  # it rings when a place is free
        if self._pulse.is_high and len(performed) >= MIN_CONCURRENCY:
            return False
        for_one_lane = self.concurrency - self.concurrency // RESERVED_SHARE
        reserve = max(len(performed) + places - for_one_lane, 0)
        suspects_first = time.monotonic() >= self._suspects_wait_until
        try:
            if not await reader.read_for_worker(partial(self._queue.waits, self.worker)):
                return True
            claim = partial(self._queue.claim, self.worker, places, performed, reserve, suspects_first=suspects_first)
            claimed = await self.writer.write(claim, "claim", last=_seal_the_failed)
        except DBError as error:
            log.error("The queue could not be read, trying again: %s", error)
            return True
        if any(run.suspect for run in claimed.runs):
            self._suspects_wait_until = time.monotonic() + SUSPECT_DELAY_LEASES * lease().total_seconds()
        for run in claimed.runs:
            pubsub.announce(run.pk)
            task = asyncio.create_task(self._perform(run), name=f"perform {run.pk}")
            self._performing[task] = run
            task.add_done_callback(self._done)
        return len(claimed.runs) < places

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._performing.pop(task, None)
        self.wake()  # a place is free

    # ---- one run ------------------------------------------------------------------------------------------

    async def _perform(self, run: Run) -> None:
        json_logs.current_run_id.set(run.pk)
        context = RunContext(run, self.models, self.writer)
        try:
            try:
                procedure = procedures()[run.procedure]
                longest = procedure.timeout or settings.RUN_TIMEOUT
                change = await _within_deadline(procedure.perform(context), longest, context.clock)
                await context.end(Run.Status.FINISHED, change)
            except Suspend as waits:
                await context.park(waits)
            except Yield:
                await context.yield_worker()
            except RunFailed as failure:
                error = {"code": failure.code, "message": str(failure), **failure.detail}
                await context.end(Run.Status.FAILED, _nothing, error)
        except LeaseLost:
            log.warning("Run %s is no longer this worker's; nothing was written.", run.pk)
        except UNREACHABLE:
            # Nothing is lost: the run goes back to the queue, and on from its rows.
            log.exception("The database was away too long for the work of run %s.", run.pk)
        except Exception:
            # The boundary between the engine and a procedure: a bug in one run must not end the others, and what
            # the database refuses once it refuses again.
            log.exception("Run %s broke.", run.pk)
            await self._give_up(context)

    async def _give_up(self, context: RunContext) -> None:
        error = {"code": "internal", "message": "Something broke inside MAGI; the server's log says what."}
        try:
            await context.give_up(error)
        except (LeaseLost, DBError):
            log.exception("Run %s could not be marked as failed.", context.pk)

    # ---- leases -------------------------------------------------------------------------------------------

    async def _renew_leases(self) -> None:
        while True:
            await asyncio.sleep(lease().total_seconds() / RENEWALS_PER_LEASE)
            performed = [run.pk for run in self._performing.values()]
            if not performed:
                continue
            try:
                await self.writer.write(partial(Run.objects.renew_leases, self.worker, performed))
            except DBError as error:
                log.error("Leases could not be renewed: %s", error)

    async def _look_after_runs(self) -> None:
        """Now and then: does the database know of the same runs as this worker?"""
        while True:
            await asyncio.sleep(POLL_INTERVAL)
            try:
                await self._compare()
            except DBError as error:
                log.error("The runs in progress could not be looked at: %s", error)

    async def _compare(self) -> None:
        """Drop what is no longer ours, give back what nobody here performs.

        Only what differs twice in a row: between a commit and the step that follows it both are right.
        """
        performed = {run.pk for run in self._performing.values()}
        held = set(
            await reader.read_for_worker(lambda: list(Run.objects.held(self.worker).values_list("pk", flat=True)))
        )
        differ = performed ^ held
        certain = differ & self._doubted
        self._doubted = differ - certain
        for pk in certain & performed:
            self.drop_run(pk)
        if forgotten := certain & held:
            log.warning("%d runs go back to the queue.", len(forgotten))
            await self.writer.write(partial(Run.objects.release_claims, self.worker, forgotten))
            self.wake()

    async def _give_back_all(self) -> None:
        try:
            given = await self.writer.write(partial(Run.objects.release_claims, self.worker))
        except DBError as error:
            log.error("What this worker holds is taken by others when its leases end: %s", error)
        else:
            if given:
                await pubsub.wake_workers()


async def _within_deadline(performing: Awaitable[CommitChange], seconds: float, clock: RunClock) -> CommitChange:
    try:
        async with asyncio.timeout(None) as deadline:
            clock.ends(deadline, seconds)
            return await performing
    except TimeoutError as error:
        if not deadline.expired():
            raise
        raise RunFailed("timeout", f"It was not done within {seconds:g} s.") from error


def _seal_the_failed(claimed: ClaimedRun) -> None:
    sealing.seal_ended(claimed.failed)


def _nothing() -> None:
    pass


def log_task_failure(task: "asyncio.Task[None]") -> None:
    """Nobody waits for it, and it should go on as long as its process does."""
    if not task.cancelled() and (error := task.exception()):
        log.error("A background task ended: %s", error, exc_info=error)
