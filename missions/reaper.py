"""A periodic task that looks after commands of missions.

Commands that have ended or wait for input wake their waiting missions; commands of ended missions are stopped.

Why so: missions/DESIGN.md, Terminals.
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
from .command_exit import command_exit, waits_for_input
from .models import Terminal, queries, writes
from .terminals.output_spool import SupervisorSilent

INTERVAL = 1.0  # seconds
STATUS_INTERVAL = 60.0  # seconds; a supervisor ends its command if nobody asks for its status for 15 minutes
RECENT_PERIOD = timedelta(hours=1)
ENDED = (Run.Status.FINISHED, Run.Status.CANCELLED)  # a failed run may be retried and then needs its running commands
log = logging.getLogger(__name__)
_status_asked_at: dict[int, float] = {}  # time.monotonic() by primary key of the terminal


async def sweep_periodically() -> None:
    """Look after terminals, for as long as the engine runs."""
    while True:
        try:
            await asyncio.to_thread(_sweep)
        except Exception:
            # Nobody awaits this task, so an exception would end it silently; the next round tries again.
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
            continue  # on another machine
        if one.mission.run.status in ENDED:
            workspace.spool(one.mission_id, one.spool).stop("mission_over")
        elif one.mission.run.status == Run.Status.WAITING and (end := command_exit(one)):
            ended.setdefault(one.mission_id, []).append(end)
        elif one.mission.run.status == Run.Status.WAITING and waits_for_input(one):
            _notify_agent(one)
        elif one.mission.run.status != Run.Status.FAILED:
            _request_status(one)
    for pk, ends in ended.items():
        with suppress(RunEnded):
            apply_and_announce(pk, lambda pk=pk, ends=ends: writes.save_command_exits(pk, ends))  # type: ignore[misc]


def _notify_agent(one: Terminal) -> None:
    """Tell the waiting agent that its command asks for input.

    The rows are read again in the transaction, so that of several engines only one tells it.
    """

    def tell() -> None:
        if agent := queries.question_addressee(queries.load_mission(one.mission_id), one):
            writes.notify_question(one.mission_id, agent, one.number)

    if queries.question_addressee(queries.load_mission(one.mission_id), one):
        with suppress(RunEnded):
            apply_and_announce(one.mission_id, tell)


def _request_status(one: Terminal) -> None:
    now = time.monotonic()
    if now - _status_asked_at.get(one.pk, 0.0) > STATUS_INTERVAL:
        _status_asked_at[one.pk] = now
        with suppress(SupervisorSilent):
            workspace.spool(one.mission_id, one.spool).status()
