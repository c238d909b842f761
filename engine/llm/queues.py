"""Requests to one provider: so many at once, and one at a time while it is away. One queue for all runs of a process.

A provider that is away, overloaded, or asks to wait is asked by one request, then by another one, ever more seldom.
As soon as one is taken the others follow; after a limit of rate a few first, and more with each that is taken.

Why so: docs/decisions.md, What models are told and asked.
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

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 10.0  # seconds between two looks at a provider that does not say when to come back
AFTER_A_LIMIT = 2  # requests at once after a limit of rate
ANY_NUMBER = 1_000_000
NEWS = timedelta(seconds=5)  # by which the end of a wait has to move before everybody is told


@dataclass(frozen=True)
class Absence:
    """A provider that was last found away. `until`: it said itself when to ask again."""

    since: datetime
    began: float  # by the monotonic clock
    last: errors.CallFailed
    until: datetime | None = None

    @property
    def limited(self) -> bool:
        """It is there, and takes no more for now."""
        return isinstance(self.last, errors.RateLimited)


class ProviderAway(Exception):
    """It was away for as long as somebody could wait."""

    def __init__(self, absence: Absence) -> None:
        super().__init__(str(absence.last))
        self.absence = absence


class QueuedRequest:
    """One request, from when it waits for its turn to when it has been answered. Leaving gives its place to others."""

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
        """Whatever the answer was: the provider is there."""
        self._queue.answered(self)

    def lost(self, failure: errors.CallFailed) -> tuple[datetime, Absence]:
        """The provider is away. When the next one asks, and since when nobody was answered."""
        return self._queue.lost(self, failure)


class ProviderQueue:
    """Those who wait come first come, first served; whoever found the provider away waits behind the others."""

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
        """To be entered. `granted` is done when the turn has come, with ProviderAway where it is not going to:
        the provider was away for `patience` seconds since `since`, and nobody was answered in that time."""
        return QueuedRequest(self, patience, since)

    def changes(self) -> "asyncio.Future[None]":
        """Done as soon as the provider goes away or comes back, or names another wait."""
        if self._news is None or self._news.done():
            self._news = asyncio.get_running_loop().create_future()
        return self._news

    def taken(self) -> None:
        """A request was taken, as the head of its answer shows: nobody has to wait for the end of that."""
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
            turn.granted.exception()  # whoever waited may have been cancelled just then
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
        """Whose turn it is now, and whose will not come."""
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
    """Whether all who wait have to be told: not for a wait that ends a moment earlier or later."""
    if before.limited != after.limited or before.until is None or after.until is None:
        return (before.limited, before.until) != (after.limited, after.until)
    return abs(after.until - before.until) > NEWS
