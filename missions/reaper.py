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
from engine.run_control import RunEnded
from runs.run_actions import apply_and_announce

from . import workspace
from .command_exit import asks, command_exit
from .models import Terminal, queries, writes
from .terminals.output_spool import SupervisorSilent

INTERVAL = 1.0
STATUS_INTERVAL = 60.0  # seconds: a keeper that nobody asks for a quarter of an hour ends its command
RECENT_PERIOD = timedelta(hours=1)
ENDED = (Run.Status.FINISHED, Run.Status.CANCELLED)  # one that failed may be tried again, and finds what lives still
log = logging.getLogger(__name__)
_asked: dict[int, float] = {}


async def sweep_periodically() -> None:
    """Look after terminals, for as long as the engine runs."""
    while True:
        try:
            await asyncio.to_thread(_sweep)
        except Exception:
            # The boundary of a task that nobody waits for: no run may end of it, and it is tried again.
            log.exception("Terminals of missions could not be looked after; trying again.")
        await asyncio.sleep(INTERVAL)


def _sweep() -> None:
    try:
        sweep_ended_commands()
    finally:
        connection.close()


def sweep_ended_commands() -> None:
    rows = Terminal.objects.filter(ended=None).select_related("mission__run")
    ended: dict[UUID, list[writes.CommandEnd]] = {}
    for one in rows.exclude(mission__run__ended__lt=timezone.now() - RECENT_PERIOD):
        if not workspace.mission_folder(one.mission_id).is_dir():
            continue  # of another machine
        if one.mission.run.status in ENDED:
            workspace.spool(one.mission_id, one.spool).stop("mission_over")
        elif one.mission.run.status == Run.Status.WAITING and (end := command_exit(one)):
            ended.setdefault(one.mission_id, []).append(end)
        elif one.mission.run.status == Run.Status.WAITING and asks(one):
            _tell(one)
        elif one.mission.run.status != Run.Status.FAILED:
            _ask(one)
    for pk, ends in ended.items():
        with suppress(RunEnded):
            apply_and_announce(pk, lambda pk=pk, ends=ends: writes.save_command_exits(pk, ends))  # type: ignore[misc]


def _tell(one: Terminal) -> None:
    """Whoever waits beside it hears of it once, however many look."""

    def tell() -> None:
        if agent := queries.question_addressee(queries.load_mission(one.mission_id), one):
            writes.notify_question(one.mission_id, agent, one.number)

    if queries.question_addressee(queries.load_mission(one.mission_id), one):
        with suppress(RunEnded):
            apply_and_announce(one.mission_id, tell)


def _ask(one: Terminal) -> None:
    now = time.monotonic()
    if now - _asked.get(one.pk, 0.0) > STATUS_INTERVAL:
        _asked[one.pk] = now
        with suppress(SupervisorSilent):
            workspace.spool(one.mission_id, one.spool).status()
