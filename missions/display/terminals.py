"""Terminals as text in eight colours: the newest three and their live output.

A command that only prints is shown as lines, a full-screen program as its screen with the cursor.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.template.defaultfilters import filesizeformat

from runs.procedure.spec import RunSnapshot

from .. import workspace
from ..egress_policy import NEVER
from ..models import Mission, Terminal
from ..terminals import drawn
from ..terminals.output_spool import OutputSpool, SpoolState
from ..terminals.screen import ScreenLine, ScreenPiece
from ..terminals.wait_detection import InputWait, WaitKind
from ..tools.commands import CommandState, command_state

SHOWN, SHOWN_LINES = 3, 200
CURSOR = "cursor"
TAIL_BYTES = 48_000  # last bytes of the output that are drawn again at each change
Lines = tuple[tuple[ScreenPiece, ...], ...]
WORDS: dict[str, tuple[str, str]] = {
    InputWait.RUNNING: ("judging", "Running"),
    InputWait.ASKS: ("pending", "Asks"),
    InputWait.PASSWORD: ("pending", "Asks for a password"),
    InputWait.FULL_SCREEN: ("judging", "Draws a screen"),
}
WAITS = {WaitKind.TIME: "Sleeps", WaitKind.CHILD: "Waits for {children}"}


@dataclass(frozen=True)
class TerminalView:
    """`asks`: it waits for input that people may type; `may_type`: people may type at all; `is_drawn`: full screen."""

    number: int
    command: str
    state: str
    word: str
    lines: Lines
    foot: tuple[str, ...]
    asks: bool = False
    living: bool = False
    may_type: bool = False
    is_drawn: bool = False


def terminals(seen: RunSnapshot[Mission], most: int = SHOWN) -> Iterator[TerminalView]:
    """Running ones first, then the newest."""
    rows = sorted(seen.row.terminals.all(), key=lambda one: (one.is_running, one.number), reverse=True)
    for one in rows[:most]:
        yield terminal(seen, one)


def terminal(seen: RunSnapshot[Mission], one: Terminal) -> TerminalView:
    step = next((step for step in seen.row.steps.all() if step.pk == one.step_id), None)
    foot = [f"{step.agent.name}, step {step.number}"] if step else []
    foot += [f"{one.seconds:,} s"] if one.seconds is not None else []
    foot += [filesizeformat(one.size)] if one.size is not None else []
    if not one.is_running:
        state, word = terminal_state(one, seen.run.is_ended)
        return TerminalView(one.number, one.command, state, word, _of_past(one), tuple(foot))
    head, _, text = seen.texts.get(key_of(one.number), _head(CommandState(InputWait.RUNNING))).partition("\n")
    standing, waits_for, children, is_drawn = json.loads(head)
    over, is_drawn = seen.run.is_ended, bool(is_drawn)
    state, word = WORDS.get(standing, WORDS[InputWait.RUNNING]) if not over else ("stopped", "Ended with it")
    if standing == InputWait.RUNNING and not over:
        word = WAITS.get(waits_for, word).format(children=", ".join(children))
    lines = _read(text) if is_drawn else lines_of(text.encode(errors="replace"))
    is_secret = standing == InputWait.PASSWORD or seen.row.policy.get("typing") == NEVER
    return TerminalView(
        one.number,
        one.command,
        state,
        word,
        lines,
        tuple(foot),
        asks=standing == InputWait.ASKS and not over and not is_drawn,
        living=not over,
        may_type=not over and not is_secret,
        is_drawn=is_drawn,
    )


def terminal_state(one: Terminal, over: bool) -> tuple[str, str]:
    if one.is_running:
        return ("stopped", "Ended with it") if over else ("judging", "Running")
    if one.exit_code is None:
        return "failed", one.reason.replace("_", " ").capitalize() or "Never began"
    return ("approve" if one.exit_code == 0 else "reject"), f"Exit {one.exit_code}"


# ---- output ---------------------------------------------------------------------------------------------------


def key_of(number: int) -> str:
    """The key of its live output, in the same mapping as the answers of models."""
    return f"terminal {number}"


def new_output(mission: Mission) -> dict[str, str]:
    """For each running terminal, a line with its state and the end of its output. Reads files."""
    rows = [one for one in mission.terminals.all() if one.is_running]
    return {key_of(one.number): _live_text(workspace.spool(one.mission_id, one.spool)) for one in rows}


def _live_text(spool: OutputSpool) -> str:
    if spool.state != SpoolState.LIVES:
        return _head(CommandState(InputWait.RUNNING))
    shown = drawn.picture(spool, at_once=False)
    if shown.is_drawn:
        return _head(command_state(spool), is_drawn=True) + _screen_json(shown)
    part = spool.said(-TAIL_BYTES)
    text = part.data.decode(errors="replace")
    if part.start:
        text = text.partition("\n")[2]
    return _head(command_state(spool)) + text


def _head(state: CommandState, is_drawn: bool = False) -> str:
    """The first line of the live text, as JSON: state, what the command waits for, and whether it is a screen."""
    return json.dumps([state.word, state.wait.kind, state.wait.children, is_drawn]) + "\n"


def _screen_json(shown: drawn.Picture) -> str:
    """The screen as JSON, because live output is passed on as texts."""
    last = max((number for number, row in enumerate(shown.rows) if row), default=0)
    rows = [list(row) for row in shown.rows[: max(last, shown.row if shown.has_cursor else 0) + 1]]
    if shown.has_cursor:
        rows[shown.row] = _with_cursor(rows[shown.row], shown.place)
    return json.dumps(rows)


def _with_cursor(pieces: Sequence[ScreenPiece], place: int) -> list[ScreenPiece]:
    signs = [(sign, look) for text, look in pieces for sign in text]
    signs += [(" ", "")] * (place + 1 - len(signs))
    signs[place] = signs[place][0], CURSOR
    return ScreenLine(signs).all_pieces


def _read(text: str) -> Lines:
    return tuple(tuple((sign, look) for sign, look in row) for row in json.loads(text or "[]"))


@lru_cache(maxsize=64)
def lines_of(data: bytes) -> Lines:
    found = [tuple(line.pieces) for line in drawn.lines_of(data)]
    while found and not found[-1]:
        found.pop()
    return tuple(found[-SHOWN_LINES:])


def full_output(one: Terminal) -> Lines:
    """All stored output; of a running command its output so far."""
    if one.is_running:
        spool = workspace.spool(one.mission_id, one.spool)
        return tuple(tuple(line.pieces) for line in drawn.lines_of_command(spool))
    return tuple(((line, ""),) for line in one.output.split("\n")) if one.output else ()


def _of_past(one: Terminal) -> Lines:
    """The output of an ended command, with colours while its spool exists. Empty if it was redacted."""
    if not one.output:
        return ()
    spool = workspace.spool(one.mission_id, one.spool)
    data = spool.said(-TAIL_BYTES).data if spool.folder.is_dir() else b""
    return lines_of(data) if data else lines_of(one.output[-TAIL_BYTES:].encode(errors="replace"))
