"""Terminals as text in eight colours: the newest three, and what of them is still to come."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from django.template.defaultfilters import filesizeformat

from runs.face import Snapshot

from .. import workshop
from ..models import Mission, Terminal
from ..terminals.screen import Piece, Screen
from ..terminals.spool import Spool, State
from ..terminals.waiting import Waiting
from ..tools.commands import screen_of, standing

SHOWN, SHOWN_LINES = 3, 200
TAIL = 48_000  # bytes of a screen that are drawn again and again while it lives
Lines = tuple[tuple[Piece, ...], ...]
WORDS: dict[str, tuple[str, str]] = {
    Waiting.RUNNING: ("judging", "Running"),
    Waiting.ASKS: ("pending", "Asks"),
    Waiting.PASSWORD: ("pending", "Asks for a password"),
    Waiting.FULL_SCREEN: ("judging", "Draws a screen"),
}


@dataclass(frozen=True)
class TerminalShown:
    """`asks`: whether it waits for something to be typed that anybody may type."""

    number: int
    command: str
    state: str
    word: str
    lines: Lines
    foot: tuple[str, ...]
    asks: bool
    living: bool


def terminals(seen: Snapshot[Mission], most: int = SHOWN) -> Iterator[TerminalShown]:
    """The newest first, living ones before all."""
    rows = sorted(seen.row.terminals.all(), key=lambda one: (one.living, one.number), reverse=True)
    for one in rows[:most]:
        yield terminal(seen, one)


def terminal(seen: Snapshot[Mission], one: Terminal) -> TerminalShown:
    step = next((step for step in seen.row.steps.all() if step.pk == one.step_id), None)
    foot = [f"{step.agent.name}, step {step.number}"] if step else []
    foot += [f"{one.seconds:,} s"] if one.seconds is not None else []
    foot += [filesizeformat(one.size)] if one.size is not None else []
    if not one.living:
        state, word = terminal_state(one, seen.run.over)
        return TerminalShown(one.number, one.command, state, word, _of_past(one), tuple(foot), False, False)
    standing, _, screen = seen.texts.get(key_of(one.number), f"{Waiting.RUNNING}\n").partition("\n")
    state, word = WORDS.get(standing, WORDS[Waiting.RUNNING]) if not seen.run.over else ("stopped", "Ended with it")
    lines = lines_of(screen.encode(errors="replace"))
    asks = standing == Waiting.ASKS and not seen.run.over
    return TerminalShown(one.number, one.command, state, word, lines, tuple(foot), asks, not seen.run.over)


def terminal_state(one: Terminal, over: bool) -> tuple[str, str]:
    if one.living:
        return ("stopped", "Ended with it") if over else ("judging", "Running")
    if one.exit_code is None:
        return "failed", one.reason.replace("_", " ").capitalize() or "Never began"
    return ("approve" if one.exit_code == 0 else "reject"), f"Exit {one.exit_code}"


# ---- what they say --------------------------------------------------------------------------------------------


def key_of(number: int) -> str:
    """Under which what it says grows, beside the steps of models."""
    return f"terminal {number}"


def grown(mission: Mission) -> dict[str, str]:
    """Of each that lives, what it waits for and the end of what it has said so far. It reads files."""
    rows = [one for one in mission.terminals.all() if one.living]
    return {key_of(one.number): _said(workshop.spool(one.mission_id, one.spool)) for one in rows}


def _said(spool: Spool) -> str:
    if spool.state != State.LIVES:
        return f"{Waiting.RUNNING}\n"
    part = spool.said(-TAIL)
    text = part.data.decode(errors="replace")
    if part.start:
        text = text.partition("\n")[2]
    return f"{standing(spool, Screen())}\n{text}"


@lru_cache(maxsize=64)
def lines_of(data: bytes) -> Lines:
    screen = Screen()
    screen.feed(data)
    found = [tuple(line.pieces) for line in screen.lines]
    while found and not found[-1]:
        found.pop()
    return tuple(found[-SHOWN_LINES:])


def whole_of(one: Terminal) -> Lines:
    """All that is kept of it: of one that lives, as far as it has come."""
    if one.living:
        return tuple(tuple(line.pieces) for line in screen_of(workshop.spool(one.mission_id, one.spool)).lines)
    return tuple(((line, ""),) for line in one.output.split("\n")) if one.output else ()


def _of_past(one: Terminal) -> Lines:
    """With its colours as long as its spool is there; what was erased is nowhere."""
    if not one.output:
        return ()
    spool = workshop.spool(one.mission_id, one.spool)
    data = spool.said(-TAIL).data if spool.folder.is_dir() else b""
    return lines_of(data) if data else lines_of(one.output[-TAIL:].encode(errors="replace"))
