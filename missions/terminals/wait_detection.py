"""What a command is waiting for, according to the kernel. Text on the screen is ignored: a program can print anything.

Why so: missions/DESIGN.md, Terminals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

READ, POLL, SELECT, PSELECT, PPOLL = "0", "7", "23", "270", "271"  # system calls of x86-64
SLEEPS, WAITS_FOR_CHILDREN = ("35", "230"), ("61", "247")  # nanosleep, clock_nanosleep; wait4, waitid
MOST_CHILDREN = 3  # names of children
TERMINAL_READ_CALLS = ("wait_woken", "n_tty_read")  # kernel functions that wait for terminal input


class InputWait(StrEnum):
    RUNNING = "running"
    ASKS = "asks"
    PASSWORD = "password"  # noqa: S105 - what is asked for
    FULL_SCREEN = "full_screen"


class WaitKind(StrEnum):
    INPUT = "input"
    TIME = "time"
    CHILD = "child"


@dataclass(frozen=True)
class CommandWait:
    """What a command is blocked by. No kind means that it computes, waits for something else, or that it is unknown.

    `children` are the names of the child processes for which it waits.
    """

    kind: WaitKind | None = None
    children: tuple[str, ...] = ()


NOT_WAITING = CommandWait()


def waiting_for(status: dict[str, Any], *, other_screen: bool) -> InputWait:
    """Whether the command waits for input. `status` is the supervisor's answer with `echo`, `lines` and `calls`.

    `other_screen`: it uses the alternate screen, as editors and pagers do.
    """
    if other_screen:
        return InputWait.FULL_SCREEN
    reads, polls = any(map(_reads, status["calls"])), any(map(_polls, status["calls"]))
    if reads and status["lines"] and not status["echo"]:
        return InputWait.PASSWORD
    if reads or (polls and not status["lines"]):
        return InputWait.ASKS
    return InputWait.RUNNING


def wait_of(status: dict[str, Any], waiting: InputWait) -> CommandWait:
    """What the command waits for. `waiting` is the result of `waiting_for` for the same status."""
    if waiting != InputWait.RUNNING:
        return NOT_WAITING if waiting == InputWait.FULL_SCREEN else CommandWait(WaitKind.INPUT)
    # supervisors of older versions report no processes
    processes = [one for one in status.get("processes", ()) if one["state"] != "Z"]
    parents, there = {one["parent"] for one in processes}, {one["pid"] for one in processes}
    first = [one for one in processes if one["parent"] not in there]
    if first and all(map(_sleeps, (one for one in processes if one["pid"] not in parents))):
        return CommandWait(WaitKind.TIME)
    begun = [one for one in processes if one["parent"] in {each["pid"] for each in first}]
    if begun and all(_words(one["call"])[0] in WAITS_FOR_CHILDREN for one in first):
        return CommandWait(WaitKind.CHILD, tuple(dict.fromkeys(map(_name, begun)))[:MOST_CHILDREN])
    return NOT_WAITING


def _sleeps(process: Mapping[str, Any]) -> bool:
    """Whether a process with a single thread sleeps."""
    call = process["call"]
    return process["threads"] == 1 and (_words(call)[0] in SLEEPS or _polls(call, "0x0"))


def _name(process: Mapping[str, Any]) -> str:
    """The name with unprintable characters replaced: a program may choose any name."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in process["name"])


def _reads(call: Sequence[str]) -> bool:
    return _words(call)[0] == READ and call[1] in TERMINAL_READ_CALLS


def _polls(call: Sequence[str], count: str = "0x1") -> bool:
    """Whether it polls `count` descriptors: one, as line editors do, or none, as some programs sleep."""
    words = _words(call)
    place = {SELECT: 1, PSELECT: 1, POLL: 2, PPOLL: 2}.get(words[0])
    return place is not None and len(words) > place and words[place] == count


def _words(call: Sequence[str]) -> list[str]:
    return call[0].split() or [""]
