"""What a command has drawn, from what its keeper holds: the screen of one that lives, and all lines of any.

A process that begins to look draws what is kept, later only what is new: so it does not matter which engine looks, nor
whether one was killed.

Why so: docs/decisions.md, Terminals.
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

MOST_DRAWN = 128 * 1024  # bytes at once: of a longer part only what holds on is taken, and its end
SHARE = 3  # drawing is followed by a pause of so many times its own length
MOST_SCREENS = 32  # that a process holds
MOST_ABOVE = 20_000  # rows
SEARCHED = 4_096  # bytes in which a place to begin at is looked for
GAP = b"\r\n[output between was not kept]\r\n"
MOVES = re.compile(rb"\x1b(?:\[[0-9;]*[ABEFHJLMSTdefrsu]|[78Mc])")
ON_OTHER_SCREEN = re.compile(rb"\x1b\[\?(?:1049|1047|47)h.*?(?:\x1b\[\?(?:1049|1047|47)l|\Z)", re.DOTALL)
OTHER_SCREEN = tuple(b"\x1b[?%d" % number for number in (1049, 1047, 47))


@dataclass(frozen=True)
class Picture:
    """A screen as it is now: `rows` with their colours; `row` and `place` of the cursor, the latter in signs, `column`
    in cells. `is_drawn`: something draws there, and does not only print."""

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
        """Without what is blank at its end."""
        return "\n".join("".join(text for text, _ in row).rstrip() for row in self.rows).rstrip("\n")


class LivingScreen:
    """Of one command, fed with what is new whenever somebody looks."""

    def __init__(self, spool: OutputSpool) -> None:
        self._spool, self._lock = spool, threading.Lock()
        self._emulator, self._drawn = Emulator(), 0
        self._not_before = 0.0
        self._picture: Picture | None = None

    def look(self, *, at_once: bool) -> Picture:
        """A flood is drawn in pauses, unless somebody has to know `at_once`."""
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
            if part.start + len(part.data) < stop:  # a gap: its end is kept besides
                self._emulator.pass_over(self._spool.said(-RING // 2).data[:-MOST_DRAWN])
            self._feed(stop, total, sizes, is_cut=True)
        else:
            self._feed(self._drawn, total, sizes)
        self._drawn = total

    def _feed(self, start: int, total: int, sizes: list[tuple[int, int, int]], is_cut: bool = False) -> None:
        """Each part in the size that the screen had then."""
        self._emulator.resize(*_size_at(sizes, start))
        for stop in [*(at for at, _, _ in sizes if start < at < total), total]:
            data = self._spool.said(start, stop - start).data
            self._emulator.feed(data[_beginning(data) :] if is_cut else data)
            self._emulator.resize(*_size_at(sizes, stop))
            start, is_cut = stop, False


def _size_at(sizes: list[tuple[int, int, int]], place: int) -> tuple[int, int]:
    return next(((rows, columns) for at, rows, columns in reversed(sizes) if at <= place), (ROWS, COLUMNS))


def _beginning(data: bytes) -> int:
    """Where a part begins that was cut anywhere: at a line, or at an escape."""
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
    """The screen of a command that lives."""
    with _held:
        screen = _screens.pop(spool.folder, None) or LivingScreen(spool)
        _screens[spool.folder] = screen
        while len(_screens) > MOST_SCREENS:
            _screens.popitem(last=False)
    return screen.look(at_once=at_once)


# ---- all lines ------------------------------------------------------------------------------------------------------


def kept_output(spool: OutputSpool) -> bytes:
    """All that is kept of it, with a line where something is missing."""
    part = spool.said()
    if part.start + len(part.data) < part.total:  # a gap: its end is kept besides
        return part.data + GAP + spool.said(-RING // 2).data
    return part.data


def lines_of_command(spool: OutputSpool) -> list[ScreenLine]:
    """All that it has printed, as it looks by now."""
    return lines_of(kept_output(spool), *_size_at(spool.sizes, spool.said(0, 0).total))


def text_of_command(spool: OutputSpool) -> str:
    return "\n".join(line.text for line in lines_of_command(spool))


@lru_cache(maxsize=8)
def lines_of(data: bytes, rows: int = ROWS, columns: int = COLUMNS) -> list[ScreenLine]:
    """Of what only prints, lines as long as they are; from where a cursor goes up on, those of a screen of this size
    and of what has scrolled out of it."""
    found = Screen()
    if not MOVES.search(ON_OTHER_SCREEN.sub(b"", data)):
        found.feed(data)
        return found.lines
    first = MOVES.search(data)
    begin = first.start() if first else 0
    for _ in range(rows):  # it may go up as far
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
    """Whether it draws on a screen of its own, as editors and pagers do, by the last that it said of that."""
    for data in (spool.said(-RING).data, spool.said(0, HEAD).data):
        on, off = (max(data.rfind(one + end) for one in OTHER_SCREEN) for end in (b"h", b"l"))
        if on != off:
            return on > off
    return False
