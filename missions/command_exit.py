"""Which commands have ended, by their spools, and how all commands of a mission are ended."""

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

EXIT_TIMEOUT = 12.0  # seconds; the supervisor kills a command before


def ended_commands(mission: Mission) -> list[CommandEnd]:
    """Ends of commands whose rows do not record them yet."""
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
    """Stop all running commands and return the ends of all that are not recorded yet.

    The request to stop is repeated, because a command that has just started does not receive it yet.
    """
    until = time.monotonic() + EXIT_TIMEOUT
    running = [terminal for terminal in mission.terminals.all() if terminal.is_running]
    while time.monotonic() < until and any(_lives(terminal) for terminal in running):
        workspace.stop_all(mission.pk, "finished")
        time.sleep(0.1)
    return [*ended_commands(mission), *_never_started(running)]


def _lives(terminal: Terminal) -> bool:
    return workspace.spool(terminal.mission_id, terminal.spool).state == SpoolState.LIVES


def _never_started(terminals: list[Terminal]) -> Iterator[CommandEnd]:
    for terminal in terminals:
        if workspace.spool(terminal.mission_id, terminal.spool).state in (SpoolState.NEW, SpoolState.REFUSED):
            yield CommandEnd(terminal.pk, None, "never_began", 0, 0, "", "")


def waits_for_input(terminal: Terminal) -> bool:
    spool = workspace.spool(terminal.mission_id, terminal.spool)
    return command_status_text(spool) in (InputWait.ASKS, InputWait.PASSWORD, InputWait.FULL_SCREEN)
