"""What a command in its terminal is waiting for, by what the kernel says of it. Words on the screen say nothing: a
program can print any.

Why so: docs/decisions.md, Terminals.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

READ, POLL, SELECT, PSELECT, PPOLL = "0", "7", "23", "270", "271"  # of x86-64
OF_A_TERMINAL = ("wait_woken", "n_tty_read")  # where the kernel waits for a line that is typed


class Waiting(StrEnum):
    RUNNING = "running"
    ASKS = "asks"
    PASSWORD = "password"  # noqa: S105 - what is asked for
    FULL_SCREEN = "full_screen"


def waiting_for(status: dict[str, Any], *, other_screen: bool) -> Waiting:
    """`status` as a keeper answers it: `echo`, `lines`, `calls`. `other_screen`: it draws on a screen of its own, as
    editors and pagers do."""
    if other_screen:
        return Waiting.FULL_SCREEN
    reads, polls = (any(map(of, status["calls"])) for of in (_reads, _polls))
    if reads and status["lines"] and not status["echo"]:
        return Waiting.PASSWORD
    if reads or (polls and not status["lines"]):
        return Waiting.ASKS
    return Waiting.RUNNING


def _reads(call: Sequence[str]) -> bool:
    return _words(call)[0] == READ and call[1] in OF_A_TERMINAL


def _polls(call: Sequence[str]) -> bool:
    """For one descriptor alone, as what edits a line does."""
    words = _words(call)
    place = {SELECT: 1, PSELECT: 1, POLL: 2, PPOLL: 2}.get(words[0])
    return place is not None and len(words) > place and words[place] == "0x1"


def _words(call: Sequence[str]) -> list[str]:
    return call[0].split() or [""]
