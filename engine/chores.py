"""What procedures want done now and then, beside all runs: `settings.CHORES` names the functions."""

import asyncio
import logging
from collections.abc import Callable

from django.conf import settings
from django.db import connection
from django.utils.module_loading import import_string

log = logging.getLogger(__name__)

FIRST = 60.0  # seconds after an engine's start
EVERY = 3600.0
PAUSE = 1.0  # between two pieces of work, so that runs come first

Chore = Callable[[], bool]
"""Does a little of what is due, in short transactions; returns whether there is more."""


async def keep() -> None:
    """Do them every hour, for as long as the engine runs."""
    await asyncio.sleep(FIRST)
    while True:
        for name in settings.CHORES:
            await _finish(name)
        await asyncio.sleep(EVERY)


async def _finish(name: str) -> None:
    try:
        more = True
        while more:
            more = await asyncio.to_thread(_piece, import_string(name))
            await asyncio.sleep(PAUSE)
    except Exception:
        # The boundary of a task that nobody waits for: whatever it is, no run may end of it, and it is tried again.
        log.exception("%s could not be done; trying again in an hour.", name)


def _piece(chore: Chore) -> bool:
    try:
        return chore()
    finally:
        connection.close()
