"""Which commands have ended, as their spools say, and their ends made to come."""

import time
from collections.abc import Iterator

from . import workshop
from .models import Mission, Terminal
from .models.keeping import End
from .secrets import without_secrets
from .terminals.drawn import text_of_command
from .terminals.spool import State
from .terminals.waiting import Waiting
from .tools.commands import standing

ENDS_WITHIN = 12.0  # it is killed before


def ends_of(mission: Mission) -> list[End]:
    """Of those of which no row says so yet."""
    return [end for one in mission.terminals.all() if one.living and (end := end_of(one))]


def end_of(terminal: Terminal) -> End | None:
    spool = workshop.spool(terminal.mission_id, terminal.spool)
    state = spool.state
    if state == State.ENDED and (end := spool.end):
        code, reason = end["code"], str(end["reason"])[:40]
        seconds, output = round(end["seconds"]), without_secrets(text_of_command(spool))
        digest, reached = end["digest"], tuple(spool.connections)
        return End(terminal.pk, code, reason, seconds, end["total"], digest, output, reached)
    if state == State.CUT:
        reached = tuple(spool.connections)
        return End(
            terminal.pk, None, "cut", 0, spool.said(0, 0).total, "", without_secrets(text_of_command(spool)), reached
        )
    return None


def wait_for_ends(mission: Mission) -> list[End]:
    """All that lives is told to end, and ends. It is told again: one that was begun this moment does not listen yet."""
    until = time.monotonic() + ENDS_WITHIN
    living = [one for one in mission.terminals.all() if one.living]
    while time.monotonic() < until and any(_lives(one) for one in living):
        workshop.stop_all(mission.pk, "finished")
        time.sleep(0.1)
    return [*ends_of(mission), *_never(living)]


def _lives(terminal: Terminal) -> bool:
    return workshop.spool(terminal.mission_id, terminal.spool).state == State.LIVES


def _never(living: list[Terminal]) -> Iterator[End]:
    """Those that never began."""
    for one in living:
        if workshop.spool(one.mission_id, one.spool).state in (State.NEW, State.REFUSED):
            yield End(one.pk, None, "never_began", 0, 0, "", "")


def asks(terminal: Terminal) -> bool:
    """Whether it waits for somebody who types."""
    spool = workshop.spool(terminal.mission_id, terminal.spool)
    return standing(spool) in (Waiting.ASKS, Waiting.PASSWORD, Waiting.FULL_SCREEN)
