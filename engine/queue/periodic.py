"""What is to be done now and then, beside all runs: for the engine itself and for every procedure."""

import asyncio
import logging

from django.db import connection

from ..models import rate_limits
from ..runtime.procedure import Chore, procedures

log = logging.getLogger(__name__)

FIRST_DELAY = 60.0  # seconds after an engine's start
INTERVAL = 3600.0
PAUSE_BETWEEN_CHORES = 1.0  # between two pieces of work, so that runs come first


def all_chores() -> list[Chore]:
    """Each once, however many procedures name it."""
    chores = (rate_limits.delete_expired, *(chore for procedure in procedures().values() for chore in procedure.chores))
    return list(dict.fromkeys(chores))


async def run_periodically() -> None:
    """Do them every hour, for as long as the engine runs."""
    await asyncio.sleep(FIRST_DELAY)
    while True:
        for chore in all_chores():
            await _finish(chore)
        await asyncio.sleep(INTERVAL)


async def _finish(chore: Chore) -> None:
    try:
        more = True
        while more:
            more = await asyncio.to_thread(_piece, chore)
            await asyncio.sleep(PAUSE_BETWEEN_CHORES)
    except Exception:
        # The boundary of a task that nobody waits for: whatever it is, no run may end of it, and it is tried again.
        log.exception("%s could not be done; trying again in an hour.", chore.__qualname__)


def _piece(chore: Chore) -> bool:
    try:
        return chore()
    finally:
        connection.close()
