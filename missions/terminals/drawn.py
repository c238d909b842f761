"""The screen of a running command, and all lines of any command, drawn from its spool.

A process first draws all stored output, later only what is new, so any engine can show any command.

Why so: missions/DESIGN.md, Terminals.
"""

import re
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from .emulator import HAS_APPLICATION_KEYS, PASTED, Emulator
from .output_spool import OutputSpool
from .pty_supervisor import COLUMNS, HEAD, RING, ROWS
from .screen import Screen, ScreenLine, ScreenPiece

MOST_DRAWN = 128 * 1024  # bytes at once; of a longer part only lasting modes and the end are drawn
SHARE = 3  # the pause after drawing is this many times as long as the drawing
MOST_SCREENS = 32  # screens that one process keeps
MOST_ABOVE = 20_000  # rows that have scrolled out
SEARCHED = 4_096  # bytes that are searched for a place to begin drawing
GAP = b"\r\n[output between was not kept]\r\n"
MOVES = re.compile(rb"\x1b(?:\[[0-9;]*[ABEFHJLMSTdefrsu]|[78Mc])")
ON_OTHER_SCREEN = re.compile(rb"\x1b\[\?(?:1049|1047|47)h.*?(?:\x1b\[\?(?:1049|1047|47)l|\Z)", re.DOTALL)
OTHER_SCREEN = tuple(b"\x1b[?%d" % number for number in (1049, 1047, 47))


@dataclass(frozen=True)
class Picture:
    """A screen at one moment.

    rows: texts with colours
    row, column, place: the cursor, from 0; `column` counts cells, `place` characters
    alternate: the program uses the alternate screen
    is_drawn: the program moves the cursor to other lines and does not only print
    takes_paste: bracketed paste is on
    """

    rows: tuple[tuple[ScreenPiece, ...], ...]
    columns: int
    row: int
    column: int
    place: int
    has_cursor: bool
    alternate: bool
    is_drawn: bool
    takes_paste: bool
    has_application_keys: bool

    @property
    def text(self) -> str:
        """The text, without trailing blanks and empty lines."""
        return "\n".join("".join(text for text, _ in row).rstrip() for row in self.rows).rstrip("\n")


class LivingScreen:
    """The screen of one running command; new output is drawn whenever the screen is read."""

    def __init__(self, spool: OutputSpool) -> None:
        self._spool, self._lock = spool, threading.Lock()
        self._emulator, self._drawn = Emulator(), 0
        self._not_before = 0.0
        self._picture: Picture | None = None

    def look(self, *, at_once: bool) -> Picture:
        """The present screen; without `at_once` it may be a little older, to limit the CPU time of drawing floods."""
        with self._lock:
            if self._picture is None or at_once or time.monotonic() >= self._not_before:
                began = time.thread_time()
                self._draw()
                self._picture = _picture_of(self._emulator)
                self._not_before = time.monotonic() + SHARE * (time.thread_time() - began)
            return self._picture

    def _draw(self) -> None:
        total, sizes = self._spool.said(0, 0).total, self._spool.sizes
        if (stop := total - MOST_DRAWN) > self._drawn:
            part = self._spool.said(self._drawn, stop - self._drawn)
            self._emulator.pass_over(part.data)
            if part.start + len(part.data) < stop:  # a gap: the end of the output is stored separately
                self._emulator.pass_over(self._spool.said(-RING // 2).data[:-MOST_DRAWN])
            self._feed(stop, total, sizes, is_cut=True)
        else:
            self._feed(self._drawn, total, sizes)
        self._drawn = total

    def _feed(self, start: int, total: int, sizes: list[tuple[int, int, int]], is_cut: bool = False) -> None:
        """Draw each part in the size that the terminal had then."""
        self._emulator.resize(*_size_at(sizes, start))
        for stop in [*(at for at, _, _ in sizes if start < at < total), total]:
            data = self._spool.said(start, stop - start).data
            self._emulator.feed(data[_beginning(data) :] if is_cut else data)
            self._emulator.resize(*_size_at(sizes, stop))
            start, is_cut = stop, False


def _size_at(sizes: list[tuple[int, int, int]], place: int) -> tuple[int, int]:
    return next(((rows, columns) for at, rows, columns in reversed(sizes) if at <= place), (ROWS, COLUMNS))


def _beginning(data: bytes) -> int:
    """The offset of the first line or escape sequence in a part that was cut anywhere."""
    line, escape = data.find(b"\n", 0, SEARCHED), data.find(b"\x1b", 0, SEARCHED)
    return line + 1 if line >= 0 else max(escape, 0)


def _picture_of(emulator: Emulator) -> Picture:
    row, column = emulator.place
    return Picture(
        rows=tuple(emulator.rows),
        columns=emulator.columns,
        row=row,
        column=column,
        place=emulator.signs_before(row, column),
        has_cursor=not emulator.cursor.hidden,
        alternate=emulator.alternate,
        is_drawn=emulator.alternate or emulator.moved,
        takes_paste=PASTED in emulator.mode,
        has_application_keys=HAS_APPLICATION_KEYS in emulator.mode,
    )


_screens: OrderedDict[Path, LivingScreen] = OrderedDict()
_held = threading.Lock()


def picture(spool: OutputSpool, *, at_once: bool = True) -> Picture:
    """The screen of a running command."""
    with _held:
        screen = _screens.pop(spool.folder, None) or LivingScreen(spool)
        _screens[spool.folder] = screen
        while len(_screens) > MOST_SCREENS:
            _screens.popitem(last=False)
    return screen.look(at_once=at_once)


# ---- all lines ------------------------------------------------------------------------------------------------------


def kept_output(spool: OutputSpool) -> bytes:
    """All stored output, with a line where something is missing."""
    part = spool.said()
    if part.start + len(part.data) < part.total:  # a gap: the end of the output is stored separately
        return part.data + GAP + spool.said(-RING // 2).data
    return part.data


def lines_of_command(spool: OutputSpool) -> list[ScreenLine]:
    """All stored output as lines."""
    return lines_of(kept_output(spool), *_size_at(spool.sizes, spool.said(0, 0).total))


def text_of_command(spool: OutputSpool) -> str:
    return "\n".join(line.text for line in lines_of_command(spool))


@lru_cache(maxsize=8)
def lines_of(data: bytes, rows: int = ROWS, columns: int = COLUMNS) -> list[ScreenLine]:
    """Output as lines.

    Output that only prints becomes lines of any length. From the first movement to another line on, it becomes the rows
    of a screen of this size and those that scrolled out of it.
    """
    found = Screen()
    if not MOVES.search(ON_OTHER_SCREEN.sub(b"", data)):
        found.feed(data)
        return found.lines
    first = MOVES.search(data)
    begin = first.start() if first else 0
    for _ in range(rows):  # the cursor can move up by a whole screen
        begin = max(data.rfind(b"\n", 0, begin), 0)
    emulator = Emulator(rows, columns, MOST_ABOVE)
    if len(data) - begin > MOST_DRAWN:
        emulator.pass_over(data[begin:-MOST_DRAWN])
        begin = len(data) - MOST_DRAWN
        begin += _beginning(data[begin:])
    elif begin:
        begin += 1
    found.feed(data[:begin])
    emulator.feed(data[begin:])
    before = found.lines if found.lines[-1].signs else found.lines[:-1]
    return before + emulator.all_lines


def on_other_screen(spool: OutputSpool) -> bool:
    """Whether the command is on the alternate screen, as editors and pagers are, by the last sequence for it."""
    for data in (spool.said(-RING).data, spool.said(0, HEAD).data):
        on, off = (max(data.rfind(one + end) for one in OTHER_SCREEN) for end in (b"h", b"l"))
        if on != off:
            return on > off
    return False
