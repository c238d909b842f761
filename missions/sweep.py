"""Beside all runs: commands of missions that wait are asked how they are, so that their ends wake somebody; those of
missions that are over are ended.

Why so: docs/decisions.md, Terminals.
"""

import asyncio
import logging
import time
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

from django.db import connection
from django.utils import timezone

from engine.models import Run
from engine.steering import Over
from runs.steering import act

from . import workshop
from .ends import asks, end_of
from .models import Terminal, keeping, reading
from .terminals.spool import Silent

EVERY = 1.0
ASKED_EVERY = 60.0  # seconds: a keeper that nobody asks for a quarter of an hour ends its command
LATELY = timedelta(hours=1)
ENDED = (Run.Status.FINISHED, Run.Status.CANCELLED)  # one that failed may be tried again, and finds what lives still
log = logging.getLogger(__name__)
_asked: dict[int, float] = {}


async def keep() -> None:
    """Look after terminals, for as long as the engine runs."""
    while True:
        try:
            await asyncio.to_thread(_sweep)
        except Exception:
            # The boundary of a task that nobody waits for: no run may end of it, and it is tried again.
            log.exception("Terminals of missions could not be looked after; trying again.")
        await asyncio.sleep(EVERY)


def _sweep() -> None:
    try:
        sweep()
    finally:
        connection.close()


def sweep() -> None:
    rows = Terminal.objects.filter(ended=None).select_related("mission__run")
    ended: dict[UUID, list[keeping.End]] = {}
    for one in rows.exclude(mission__run__ended__lt=timezone.now() - LATELY):
        if not workshop.place(one.mission_id).is_dir():
            continue  # of another machine
        if one.mission.run.status in ENDED:
            workshop.spool(one.mission_id, one.spool).stop("mission_over")
        elif one.mission.run.status == Run.Status.WAITING and (end := end_of(one)):
            ended.setdefault(one.mission_id, []).append(end)
        elif one.mission.run.status == Run.Status.WAITING and asks(one):
            _tell(one)
        elif one.mission.run.status != Run.Status.FAILED:
            _ask(one)
    for pk, ends in ended.items():
        with suppress(Over):
            act(pk, lambda pk=pk, ends=ends: keeping.keep_ends(pk, ends))  # type: ignore[misc]


def _tell(one: Terminal) -> None:
    """Whoever waits beside it hears of it once, however many look."""

    def tell() -> None:
        if agent := reading.asks_whom(reading.looked_at(one.mission_id), one):
            keeping.tell_that_it_asks(one.mission_id, agent, one.number)

    if reading.asks_whom(reading.looked_at(one.mission_id), one):
        with suppress(Over):
            act(one.mission_id, tell)


def _ask(one: Terminal) -> None:
    now = time.monotonic()
    if now - _asked.get(one.pk, 0.0) > ASKED_EVERY:
        _asked[one.pk] = now
        with suppress(Silent):
            workshop.spool(one.mission_id, one.spool).status()
