"""Queues for requests to a provider: a concurrency limit, and single probes while it is away. One queue per provider
serves all runs of a process.

A provider that is away, overloaded or asks to wait gets one probe at a time, with growing pauses. As soon as one
request is accepted the others follow. After a rate limit AFTER_A_LIMIT requests follow first; the number doubles
with each that is accepted.

Why so: engine/DESIGN.md, What models are told and asked.
"""

import asyncio
import random
import time
from collections import deque
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

from django.utils import timezone

from . import errors

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 10.0  # seconds between probes if the provider names no wait
AFTER_A_LIMIT = 2  # requests at once after a limit of rate
ANY_NUMBER = 1_000_000
NEWS = timedelta(seconds=5)  # smaller changes of the end of a wait notify nobody


@dataclass(frozen=True)
class Absence:
    """A provider that was away at the last request. `until` is set if the provider itself said when to ask again."""

    since: datetime
    began: float  # by the monotonic clock
    last: errors.CallFailed
    until: datetime | None = None

    @property
    def limited(self) -> bool:
        """Whether the provider is there but limits the rate."""
        return isinstance(self.last, errors.RateLimited)


class ProviderAway(Exception):
    """The provider was away for longer than a request's patience."""

    def __init__(self, absence: Absence) -> None:
        super().__init__(str(absence.last))
        self.absence = absence


class QueuedRequest:
    """One request, from joining the queue until it is answered. Leaving the context frees its place."""

    def __init__(self, queue: "ProviderQueue", patience: float, since: float | None) -> None:
        self._queue = queue
        self.patience, self.since = patience, time.monotonic() if since is None else since
        self.granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.probes = False  # the one request that a provider gets while it is away

    def __enter__(self) -> Self:
        self._queue.join(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._queue.leave(self)

    def gives_up_at(self, absence: Absence) -> float:
        return max(self.since, absence.began) + self.patience

    def answered(self) -> None:
        """Report an answer, of whatever kind: the provider is there."""
        self._queue.answered(self)

    def lost(self, failure: errors.CallFailed) -> tuple[datetime, Absence]:
        """Report that the provider is away. Returns the time of the next probe and the absence."""
        return self._queue.lost(self, failure)


class ProviderQueue:
    """First come, first served; a request that found the provider away queues again behind the others."""

    def __init__(self, places: int = ANY_NUMBER) -> None:
        self.absence: Absence | None = None
        self._places = self._window = places
        self._waiting: deque[QueuedRequest] = deque()
        self._inside: set[QueuedRequest] = set()
        self._losses = 0  # in a row, each by the one that asked while the others waited
        self._limited = False
        self._next = 0.0  # when one may ask again, by the monotonic clock
        self._timer: asyncio.TimerHandle | None = None
        self._news: asyncio.Future[None] | None = None

    def turn(self, patience: float, since: float | None = None) -> QueuedRequest:
        """Return a request to enter as a context manager. `granted` is done when its turn has come.

        `granted` raises ProviderAway if the provider answered nobody for `patience` seconds since `since`
        (monotonic clock).
        """
        return QueuedRequest(self, patience, since)

    def changes(self) -> "asyncio.Future[None]":
        """Return a future that is done when the provider goes away, comes back or names another wait."""
        if self._news is None or self._news.done():
            self._news = asyncio.get_running_loop().create_future()
        return self._news

    def taken(self) -> None:
        """Report that a request was accepted: the head of the answer is enough, so nobody waits for its end."""
        if self.absence is None:
            self._window = min(self._places, 2 * self._window)
        elif not any(turn.probes for turn in self._inside):
            return  # one of before the provider asked to wait
        else:
            self.absence, self._window = None, AFTER_A_LIMIT if self._limited else self._places
            self._limited = False
            self._tell()
        self._admit()

    def join(self, turn: QueuedRequest) -> None:
        self._waiting.append(turn)
        self._admit()

    def leave(self, turn: QueuedRequest) -> None:
        if turn in self._waiting:
            self._waiting.remove(turn)
        self._inside.discard(turn)
        if turn.granted.done():
            turn.granted.exception()  # retrieve it: the waiting task may have been cancelled
        self._admit()

    def answered(self, turn: QueuedRequest) -> None:
        if self.absence is None or turn.probes:
            self._losses = 0
        self.taken()

    def lost(self, turn: QueuedRequest, failure: errors.CallFailed) -> tuple[datetime, Absence]:
        now, named = time.monotonic(), failure.retry_after is not None
        if self.absence is None or turn.probes:
            self._losses += 1
            usual = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(self._losses - 1, 10)) * random.uniform(0.8, 1.2)  # noqa: S311
            self._next = now
        else:  # it was on its way already when the provider went
            usual = 0.0
        self._next = max(self._next, now + (usual if failure.retry_after is None else failure.retry_after))
        self._limited = self._limited or isinstance(failure, errors.RateLimited)
        back = timezone.now() + timedelta(seconds=max(0.0, self._next - now))
        until = back if named else None
        if self.absence is None:
            self.absence = Absence(timezone.now(), now, failure, until)
            self._tell()
        elif turn.probes or named:
            before, self.absence = self.absence, replace(self.absence, last=failure, until=until)
            if _is_news(before, self.absence):
                self._tell()
        absence = self.absence
        self._inside.discard(turn)
        self._admit()
        return back, absence

    def _tell(self) -> None:
        if self._news and not self._news.done():
            self._news.set_result(None)

    def _admit(self) -> None:
        """Grant the turns that are due, and fail those that will not come."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        now = time.monotonic()
        if self.absence:
            for turn in [turn for turn in self._waiting if self._is_in_vain(turn, self.absence, now)]:
                self._waiting.remove(turn)
                turn.granted.set_exception(ProviderAway(self.absence))
        while self._waiting and self._has_room(now):
            turn = self._waiting.popleft()
            turn.probes = self.absence is not None
            self._inside.add(turn)
            turn.granted.set_result(None)
        if self._waiting and self.absence:
            ends = [turn.gives_up_at(self.absence) for turn in self._waiting]
            due = min(ends if any(turn.probes for turn in self._inside) else [self._next, *ends])
            self._timer = asyncio.get_running_loop().call_later(max(0.0, due - now) + 0.001, self._admit)

    def _has_room(self, now: float) -> bool:
        if self.absence:
            free = now >= self._next and not any(turn.probes for turn in self._inside)
            return free and len(self._inside) < self._places
        return len(self._inside) < self._window

    def _is_in_vain(self, turn: QueuedRequest, absence: Absence, now: float) -> bool:
        end = turn.gives_up_at(absence)
        return now >= end or (absence.until is not None and self._next > end)


def _is_news(before: Absence, after: Absence) -> bool:
    """Whether waiting requests are notified: not if the end of the wait moves by NEWS or less."""
    if before.limited != after.limited or before.until is None or after.until is None:
        return (before.limited, before.until) != (after.limited, after.until)
    return abs(after.until - before.until) > NEWS
