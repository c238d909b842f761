"""The writer of an engine: one thread and one connection, which commit all waiting changes in one transaction.

A single change gets a commit of its own; under load many share one. Lost connections are reopened. If the answer to a
commit was lost, the writer reads from its marker row, which every transaction updates, whether it happened.

Why so: engine/DESIGN.md, Runs, the queue and the writer.
"""

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Generic, TypeVar

from django.db import OperationalError, connection, connections, transaction
from django.utils import timezone

from .. import fault_injection
from ..database_errors import UNREACHABLE
from ..db import cached_sql
from ..models import WriterMarker

log = logging.getLogger(__name__)

T = TypeVar("T")
FenceProof = Callable[[], None]
"""Proves the claim before a change, or raises."""

MAX_BATCH = 200
MAX_TRANSACTION_SECONDS = 0.03  # of changes in one transaction: the first is visible only after the last
LOCK_TIMEOUT = 30.0  # seconds to wait for an unavailable database before a change fails
MARKER_LIFETIME = timedelta(days=1)


class WriterClosed(OperationalError):
    """The writer has ended; nothing was written."""


class _Work(Generic[T]):
    """One change and the future of its caller."""

    result: T

    def __init__(
        self, change: Callable[[], T], name: str, last: Callable[[T], None] | None, proof: FenceProof | None
    ) -> None:
        self.change, self.name, self.proof, self._last = change, name, proof, last
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self.loop.create_future()

    def finish(self) -> None:
        if self._last:
            self._last(self.result)

    def settle(self, error: BaseException | None) -> None:
        if self.future.done():  # the caller was cancelled
            return
        if error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(error)


def _settle_all(batch: list[_Work[Any]], error: BaseException | None) -> None:
    for work in batch:
        work.settle(error)


class Writer:
    """Its `name` must be unique among all writers. A change may be called again after a rollback."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._handed_over: queue.SimpleQueue[list[_Work[Any]] | None] = queue.SimpleQueue()
        self._of_this_turn: list[_Work[Any]] = []  # of this turn of the event loop, handed to the thread together
        self._left: list[
            _Work[Any]
        ] = []  # of the thread: work that did not fit into a transaction comes first in the next
        self._number = 0
        self._last_chance: float | None = None  # deadline for an unavailable database once the engine stops
        self._closed = False
        self._thread: threading.Thread | None = None

    async def write(
        self,
        change: Callable[[], T],
        name: str = "",
        last: Callable[[T], None] | None = None,
        proof: FenceProof | None = None,
    ) -> T:
        """Run `change` in a transaction and return its result. Raises what it raises, or the database's error.

        last: called with the result after all other changes of the transaction; for locks that many need, to hold them
            for the shortest time
        proof: called before the change in its transaction; only once for consecutive changes with the same proof
        """
        if self._closed:
            raise WriterClosed("the engine is stopping")
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=f"writer {self.name}", daemon=True)
            self._thread.start()
        work = _Work(change, name, last, proof)
        if not self._of_this_turn:
            work.loop.call_soon(self._hand_over)
        self._of_this_turn.append(work)
        return await work.future

    def _hand_over(self) -> None:
        if self._of_this_turn:
            self._handed_over.put(self._of_this_turn)
            self._of_this_turn = []

    def flush_soon(self, longest: float) -> None:
        """From now on, wait at most `longest` seconds in all for an unavailable database."""
        self._last_chance = time.monotonic() + longest

    async def close(self) -> None:
        """Write everything that waits, if the database is available, and end the thread."""
        self._closed = True
        if self._last_chance is None:
            self.flush_soon(5)
        self._hand_over()
        if self._thread:
            self._handed_over.put(None)
            await asyncio.to_thread(self._thread.join)

    # ---- on the thread ------------------------------------------------------------------------------------

    def _work(self) -> None:
        open_for_more = True
        while open_for_more or self._left:
            if self._left:
                batch, self._left = self._left, []
            else:
                batch, open_for_more = self._next_batch()
            if batch:
                self._write(batch)
        self._leave()

    def _next_batch(self) -> tuple[list[_Work[Any]], bool]:
        batch: list[_Work[Any]] = []
        works = self._handed_over.get()
        while works is not None:
            batch += works
            if len(batch) >= MAX_BATCH:
                return batch, True
            try:
                works = self._handed_over.get_nowait()
            except queue.Empty:
                return batch, True
        return batch, False

    def _write(self, batch: list[_Work[Any]]) -> None:
        try:
            self._commit_patiently(batch)
        except UNREACHABLE as error:
            self._settle_in_doubt(batch, error)
        except Exception as error:
            # The boundary of the thread: it must survive every exception of a change.
            self._settle_apart(batch, error)
        else:
            self._settle(batch)

    def _settle(self, batch: list[_Work[Any]], error: BaseException | None = None) -> None:
        batch[0].loop.call_soon_threadsafe(_settle_all, batch, error)

    def _settle_in_doubt(self, batch: list[_Work[Any]], error: Exception) -> None:
        """Settle after the database was unavailable for too long; the last commit may have happened."""
        try:
            committed = self._has_committed()
        except UNREACHABLE:
            connection.close()
            self._settle(batch, error)
            return
        if committed:
            self._settle(batch)
        else:
            self._settle_apart(batch, error)

    def _settle_apart(self, batch: list[_Work[Any]], error: Exception) -> None:
        """Write each change alone, so that one that fails does not affect the others."""
        if len(batch) == 1:
            self._settle(batch, error)
            return
        for work in batch:
            self._write([work])

    def _commit_patiently(self, batch: list[_Work[Any]]) -> None:
        self._number += 1
        give_up, pause, doubtful = time.monotonic() + LOCK_TIMEOUT, 0.05, False
        while True:
            try:
                if not (doubtful and self._has_committed()):
                    self._commit(batch)
                return
            except UNREACHABLE as error:
                connection.close()
                if time.monotonic() + pause > min(give_up, self._last_chance or give_up):
                    raise
                if not doubtful:
                    log.warning("The database did not take a commit, trying again: %s", error)
                doubtful = True
                time.sleep(pause)
                pause = min(pause * 2, 1.0)

    def _commit(self, batch: list[_Work[Any]]) -> None:
        with transaction.atomic():
            self._move_marker()
            self._make(batch)
            for work in batch:
                work.finish()
            for work in batch:
                fault_injection.fault_point(f"before-{work.name}-commit")
        for work in batch:
            fault_injection.fault_point(f"after-{work.name}-commit")

    def _make(self, batch: list[_Work[Any]]) -> None:
        """Run changes for MAX_TRANSACTION_SECONDS; move the rest to the next transaction, in its order."""
        proven: FenceProof | None = None
        late = time.monotonic() + MAX_TRANSACTION_SECONDS
        for number, work in enumerate(batch, 1):
            if work.proof and work.proof is not proven:
                work.proof()
            proven = work.proof
            work.result = work.change()
            if time.monotonic() > late:
                self._left = batch[number:] + self._left
                del batch[number:]

    def _move_marker(self) -> None:
        mine = {"batch": self._number, "moved": timezone.now()}
        if not cached_sql.update(WriterMarker, self.name, **mine):
            WriterMarker.objects.filter(moved__lt=timezone.now() - MARKER_LIFETIME).delete()
            WriterMarker.objects.create(pk=self.name, **mine)

    def _has_committed(self) -> bool:
        return WriterMarker.objects.filter(pk=self.name, batch=self._number).exists()

    def _leave(self) -> None:
        try:
            WriterMarker.objects.filter(pk=self.name).delete()
        except UNREACHABLE as error:
            log.info("The writer's marker stays for a day: %s", error)
        finally:
            connections.close_all()
