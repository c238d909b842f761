"""Calls that wait for a run: until it ends, or as a stream of its changes.

Each reads the rows after a wake-up and every few seconds, so that a lost wake-up only costs seconds. A stream checks
the right to see the run with every read. Why so: magi_site/DESIGN.md, Signing in and places.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

from asgiref.sync import SyncToAsync, sync_to_async
from django.contrib.auth.models import User
from django.db import close_old_connections

from engine import pubsub
from engine.db.reader import read
from engine.models import Gate, Run
from engine.text.invisible_chars import visible_json
from runs.procedure.spec import spec_of_run
from runs.rights import SEE

from ..run_object import run_object
from .errors import ApiError
from .scopes import ApiCredential

T = TypeVar("T")

POLL_SECONDS = 3.0  # seconds after which the rows are read without a wake-up
MIN_INTERVAL = 0.2  # seconds between two reads
KEEPALIVE_SECONDS = 15.0  # seconds after which a stream sends a comment
MAX_LISTENERS = 400  # waiting calls in this process
MAX_LISTENERS_PER_USER = 100
RETRY_AFTER = {"Retry-After": "5"}


# ---- slots ------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class ListenerSlot:
    """The slot of one waiting call. The event means that the rows may have changed, or that the slot was lost."""

    bell: asyncio.Event = field(default_factory=asyncio.Event)
    lost: bool = False

    def lose(self) -> None:
        self.lost = True
        self.bell.set()


class ListenerSlots:
    """Waiting calls by user, oldest first. If all slots are taken, a user with fewer takes one from another."""

    def __init__(self) -> None:
        self._of: dict[Any, list[ListenerSlot]] = {}

    def total(self) -> int:
        return sum(map(len, self._of.values()))

    def take(self, user: User) -> ListenerSlot:
        """Take a slot. Raises ApiError if the user has too many, or if no user has two more than this one."""
        mine = self._of.get(user.pk, [])
        if len(mine) >= MAX_LISTENERS_PER_USER:
            raise ApiError(
                429, f"You have {MAX_LISTENERS_PER_USER} calls waiting already. Let one end first.", headers=RETRY_AFTER
            )
        if self.total() >= MAX_LISTENERS:
            most = max(self._of.values(), key=len, default=[])
            # with a difference of one, two users would take the same slot from each other again and again
            if len(most) < len(mine) + 2:
                raise ApiError(
                    503, "Too many calls are waiting. Try again soon, or ask without waiting.", headers=RETRY_AFTER
                )
            most.pop(0).lose()
        place = ListenerSlot()
        self._of.setdefault(user.pk, []).append(place)
        return place

    def give_back(self, user: User, place: ListenerSlot) -> None:
        if not place.lost:
            self._of[user.pk].remove(place)
        if not self._of.get(user.pk, True):
            del self._of[user.pk]


_taken = ListenerSlots()
_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


@contextmanager
def listener_slot(user: User) -> Iterator[ListenerSlot]:
    place = _taken.take(user)
    try:
        yield place
    finally:
        _taken.give_back(user, place)


# ---- waiting and following --------------------------------------------------------------------------------


async def until_ended(pk: UUID, user: User, seconds: float, *, or_asks: bool = False) -> None:
    """Return when the run has ended, the time is over, or another user took the slot.

    With `or_asks`, also return when it has a pending gate.
    """
    await wait_until(pk, user, seconds, _has_ended_or_asks if or_asks else _has_ended)


async def wait_until(pk: UUID, user: User, seconds: float, enough: Callable[[UUID], bool]) -> None:
    """Wait like `until_ended`, but for a condition on the rows."""
    with listener_slot(user) as place, suppress(TimeoutError):
        async with asyncio.timeout(seconds), aclosing(_looks(place, RunListener(place.bell, pk))) as looks:
            async for _ in looks:
                if await read_queued(partial(enough, pk)):
                    return


@dataclass(frozen=True)
class FoundRun:
    """The result of one read: pieces of a stream, whether they are the last, and the runs to follow from now on.

    `runs` is None if these do not change.
    """

    pieces: Sequence[str] = ()
    last: bool = False
    runs: Collection[UUID] | None = None


async def follow_run(user: User, look: Callable[[], Awaitable[FoundRun]], *runs: UUID) -> AsyncGenerator[str, None]:
    """Yield pieces from `look`, called when these runs have changed and at intervals, until it reports the last.

    The stream ends early if another user takes the slot; the client then reconnects. The first piece is empty: it shows
    that the call has a slot, or raises ApiError.
    """
    with listener_slot(user) as place:
        yield ""
        listening = RunListener(place.bell, *runs)
        async with aclosing(_looks(place, listening)) as looks:
            silent_since = asyncio.get_running_loop().time()
            async for now in looks:
                found = await look()
                listening.to(listening.runs if found.runs is None else found.runs)
                for piece in found.pieces:
                    silent_since = now
                    yield piece
                if now - silent_since >= KEEPALIVE_SECONDS:
                    silent_since = now
                    yield ": still there\n\n"
                if found.last:
                    return


def stream(
    pk: UUID, credential: ApiCredential, address: str, known: int | None, name: str
) -> AsyncGenerator[str, None]:
    """Stream the run at each revision after `known`, as events with this name, until it has ended."""
    look: Any = read

    async def found() -> FoundRun:
        nonlocal look, known
        seen: SentState = await look(partial(_look, pk, credential, address, known))
        look = read_queued
        if not seen.run:
            return FoundRun(last=seen.last)
        known = seen.run["revision"]
        return FoundRun([event_of(seen.run, name)], seen.last)

    return follow_run(credential.owner, found, pk)


def event_of(run: dict[str, Any], name: str) -> str:
    return f"event: {name}\nid: {run['revision']}\ndata: {visible_json(run)}\n\n"


# ---- listening and reading --------------------------------------------------------------------------------


class RunListener:
    """A subscription to messages about runs; any message sets the event."""

    def __init__(self, bell: asyncio.Event, *runs: UUID) -> None:
        self._bell = bell
        self._tasks: dict[UUID, asyncio.Task[None]] = {}
        self.to(runs)

    @property
    def runs(self) -> Collection[UUID]:
        return self._tasks.keys()

    def to(self, runs: Collection[UUID]) -> None:
        """Listen to these runs from now on, and to no others."""
        for pk in set(self._tasks) - set(runs):
            self._tasks.pop(pk).cancel()
        for pk in set(runs) - set(self._tasks):
            self._tasks[pk] = asyncio.create_task(_listen(pk, self._bell))


async def _looks(place: ListenerSlot, listening: RunListener) -> AsyncGenerator[float, None]:
    """Yield the loop's time whenever the rows may have changed, until the slot is lost."""
    try:
        # keep neither a connection nor a thread while waiting
        await sync_to_async(close_old_connections)()
        _give_thread_back()
        loop, bell = asyncio.get_running_loop(), place.bell
        while not place.lost:
            bell.clear()
            yield loop.time()
            await asyncio.sleep(MIN_INTERVAL)
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await bell.wait()
    finally:
        listening.to(())


def _give_thread_back() -> None:
    """Release the request's thread, which it would keep from its first sync call to its end.

    Later sync work, such as sending the response, starts another thread.
    """
    request = SyncToAsync.thread_sensitive_context.get(None)
    thread = SyncToAsync.context_to_thread_executor.pop(request, None) if request else None
    if thread:
        thread.shutdown(wait=False)


async def read_queued(query: Callable[[], T]) -> T:
    """Read like `read`, but one at a time, so that new calls and live pages are served before waiting ones."""
    async with _turns.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
        return await read(query)


async def _listen(pk: UUID, bell: asyncio.Event) -> None:
    async with aclosing(pubsub.listen(pubsub.group_of(pk))) as messages:
        async for message in messages:
            if message["type"] != "run.text":
                bell.set()


@dataclass(frozen=True)
class SentState:
    """The result of a read: the run's object if it has changed, and whether it is final."""

    run: dict[str, Any] | None
    last: bool


def _has_ended(pk: UUID) -> bool:
    found = Run.objects.only("status").filter(pk=pk).first()
    return found is None or found.is_ended


def _has_ended_or_asks(pk: UUID) -> bool:
    return has_pending_gate(pk) or _has_ended(pk)


def has_pending_gate(pk: UUID) -> bool:
    """Return whether the run has a pending gate."""
    return Gate.objects.pending().filter(run=pk).exists()


def _look(pk: UUID, credential: ApiCredential, address: str, known: int | None) -> SentState:
    user = credential.holder()
    runs = Run.objects.only("procedure", "revision", "status", "owner_id", "parent_id")
    found = SEE.one(runs, user, pk) if user else None
    if found is None:
        return SentState(None, last=True)
    if found.revision == known:
        return SentState(None, last=found.is_ended)
    row = spec_of_run(found).rows().get(pk=pk)
    return SentState(run_object(row, address), last=row.run.is_ended)
