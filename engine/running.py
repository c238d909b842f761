"""How long a run is performed. Where all that it does is wait for a provider, its time stands still."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager


class RunClock:
    def __init__(self) -> None:
        self._began = time.monotonic()
        self._idle = 0.0  # seconds that it stood still
        self._since: float | None = None  # it stands still
        self._waits = self._asks = 0
        self._deadline: asyncio.Timeout | None = None
        self._seconds = 0.0

    @property
    def seconds(self) -> float:
        return (time.monotonic() if self._since is None else self._since) - self._began - self._idle

    def ends(self, deadline: asyncio.Timeout, seconds: float) -> None:
        """From now on `deadline` is when the run was performed for so long."""
        self._deadline, self._seconds = deadline, seconds
        self._set()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """For a turn at a provider."""
        self._count(waits=1)
        try:
            yield
        finally:
            self._count(waits=-1)

    @contextmanager
    def asking(self) -> Iterator[None]:
        """A model. What other branches wait for meanwhile stops nothing."""
        self._count(asks=1)
        try:
            yield
        finally:
            self._count(asks=-1)

    def _count(self, waits: int = 0, asks: int = 0) -> None:
        self._waits, self._asks = self._waits + waits, self._asks + asks
        idle = self._waits > 0 and self._asks == 0
        if idle and self._since is None:
            self._since = time.monotonic()
        elif not idle and self._since is not None:
            self._idle, self._since = self._idle + time.monotonic() - self._since, None
        else:
            return
        self._set()

    def _set(self) -> None:
        if self._deadline and not self._deadline.expired():
            left = self._seconds - self.seconds
            self._deadline.reschedule(None if self._since else asyncio.get_running_loop().time() + left)
