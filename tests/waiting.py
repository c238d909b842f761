"""How a test waits: for a condition, with one generous limit, and never for a time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
LIMIT = 120.0  # seconds: a busy machine is no failure, and what never comes fails all the same


def wait_until(happened: Callable[[], T], what: str, limit: float = LIMIT) -> T:
    """What `happened` returns as soon as that is true. AssertionError says what did not come."""
    end = time.monotonic() + limit
    while not (found := happened()):
        assert time.monotonic() < end, f"after {limit:.0f} seconds this has not come: {what}"
        time.sleep(0.02)
    return found


async def until(happened: Callable[[], Awaitable[T]], what: str, limit: float = LIMIT) -> T:
    """The same of something that is awaited."""
    end = time.monotonic() + limit
    while not (found := await happened()):
        assert time.monotonic() < end, f"after {limit:.0f} seconds this has not come: {what}"
        await asyncio.sleep(0.02)
    return found
