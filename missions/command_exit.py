"""Which commands have ended, as their spools say, and their ends made to come."""

import time
from collections.abc import Iterator

from . import workspace
from .models import Mission, Terminal
from .models.writes import CommandEnd
from .secret_redaction import redact_secrets
from .terminals.drawn import text_of_command
from .terminals.output_spool import SpoolState
from .terminals.wait_detection import InputWait
from .tools.commands import command_status_text

EXIT_TIMEOUT = 12.0  # it is killed before


def ended_commands(mission: Mission) -> list[CommandEnd]:
    """Of those of which no row says so yet."""
    return [end for one in mission.terminals.all() if one.is_running and (end := command_exit(one))]


def command_exit(terminal: Terminal) -> CommandEnd | None:
    spool = workspace.spool(terminal.mission_id, terminal.spool)
    state = spool.state
    if state == SpoolState.ENDED and (end := spool.end):
        code, reason = end["code"], str(end["reason"])[:40]
        seconds, output = round(end["seconds"]), redact_secrets(text_of_command(spool))
        digest, reached = end["digest"], tuple(spool.connections)
        return CommandEnd(terminal.pk, code, reason, seconds, end["total"], digest, output, reached)
    if state == SpoolState.CUT:
        reached = tuple(spool.connections)
        return CommandEnd(
            terminal.pk, None, "cut", 0, spool.said(0, 0).total, "", redact_secrets(text_of_command(spool)), reached
        )
    return None


def wait_for_exits(mission: Mission) -> list[CommandEnd]:
    """All that lives is told to end, and ends. It is told again: one that was begun this moment does not listen yet."""
    until = time.monotonic() + EXIT_TIMEOUT
    living = [one for one in mission.terminals.all() if one.is_running]
    while time.monotonic() < until and any(_lives(one) for one in living):
        workspace.stop_all(mission.pk, "finished")
        time.sleep(0.1)
    return [*ended_commands(mission), *_never(living)]


def _lives(terminal: Terminal) -> bool:
    return workspace.spool(terminal.mission_id, terminal.spool).state == SpoolState.LIVES


def _never(living: list[Terminal]) -> Iterator[CommandEnd]:
    """Those that never began."""
    for one in living:
        if workspace.spool(one.mission_id, one.spool).state in (SpoolState.NEW, SpoolState.REFUSED):
            yield CommandEnd(one.pk, None, "never_began", 0, 0, "", "")


def asks(terminal: Terminal) -> bool:
    """Whether it waits for somebody who types."""
    spool = workspace.spool(terminal.mission_id, terminal.spool)
    return command_status_text(spool) in (InputWait.ASKS, InputWait.PASSWORD, InputWait.FULL_SCREEN)
