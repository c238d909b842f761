"""A terminal emulator for full-screen programs and progress bars of several lines.

pyte stores the cells and the cursor. This module corrects where pyte differs from xterm and tmux: alternate screen,
scrolling, scrollback, wide characters, and control strings that pyte would print. No sequence takes longer than drawing
one line, memory does not grow with the output, and queries are never answered.

Why so: missions/DESIGN.md, Terminals.
"""

import copy
import re
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from functools import lru_cache

import pyte
from pyte import charsets, modes
from pyte.screens import Char, Margins, StaticDefaultDict
from wcwidth import wcwidth

from .pty_supervisor import COLUMNS, ROWS
from .screen import OTHER_SCREEN, PLAIN, REVERSE, EscapeReader, Pen, ScreenLine, ScreenPiece, number_of

LONGEST_SIGN = 8  # characters in one cell, a limit for combining characters
PARTS = re.compile(r"[\x00-\x1f\x7f]|[^\x00-\x1f\x7f]+")
PASTED, HAS_APPLICATION_KEYS = 2004 << 5, 1 << 5  # modes, as pyte numbers them
WRAPS, INSERTS = modes.DECAWM, modes.IRM
UP_OR_DOWN = frozenset("ABEFHJLMSTdefrsu")  # final letters of sequences that move the cursor or lines vertically
# modes, margins and character sets, which outlast a part of the output that is not drawn
STATE = re.compile(rb"\x1b(?:\[\?[0-9;]{1,40}[hl]|\[[0-9]{0,4};?[0-9]{0,4}r|[()][0AB])")
MOST_STATE = 500


@lru_cache(maxsize=8_192)
def _cell(sign: str, look: str) -> Char:
    return Char(sign, fg=look)


class ScreenRow(StaticDefaultDict[int, Char]):
    """`goes_on`: the line was wrapped and continues in the next row."""

    goes_on = False


class Emulator(pyte.Screen):
    """Is fed with output in pieces that may be cut anywhere. `kept` is the number of rows of scrollback."""

    buffer: defaultdict[int, ScreenRow]  # type: ignore[assignment]

    def __init__(self, rows: int = ROWS, columns: int = COLUMNS, kept: int = 0) -> None:
        self.above: deque[tuple[tuple[ScreenPiece, ...], bool]] = deque(maxlen=kept)  # and whether it goes on
        self.alternate = False
        self.moved = False  # the cursor moved vertically, and what was drawn since has not scrolled out yet
        self._scrolled, self._last = 0, ""
        self._reader = EscapeReader()
        super().__init__(columns, rows)
        self._obeys, self._controls = self._what_it_obeys(), self._what_controls_do()

    @property
    def default_char(self) -> Char:
        return _cell(" ", PLAIN)

    def reset(self) -> None:
        """Reset the screen; the scrollback stays."""
        super().reset()
        self.g1_charset = charsets.LAT1_MAP  # pyte has line drawing there, as the console of Linux
        self.buffer = _empty()
        self.alternate = False
        self._behind: defaultdict[int, ScreenRow] | None = None  # the first screen, while the other one is shown
        self._first_cursor: pyte.screens.Cursor | None = None  # where it stood when a program last went to the other
        self._saved: tuple[pyte.screens.Cursor, Pen, str, str, int, bool] | None = None
        self._take_pen(Pen())

    def _take_pen(self, pen: Pen) -> None:
        """Set the pen. Erased cells take its background, but not reverse video."""
        self._pen, self._look = pen, pen.look
        self._blank = _cell(" ", REVERSE if pen.background else PLAIN)

    # ---- input ----------------------------------------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        for text, escape in self._reader.read(data):
            self._write(text)
            if escape and escape["verb"]:
                self._obey(escape["verb"], escape["numbers"], escape["between"])
            elif escape and escape["plain"]:
                self._obey_plain(escape["plain"])
            if escape:
                self._last = ""  # REP repeats only a sign directly before it

    def pass_over(self, data: bytes) -> None:
        """Skip this part of the output, but apply its lasting modes, such as the alternate screen."""
        self._reader = EscapeReader()
        last: dict[bytes, bytes] = {}
        for said in STATE.findall(data):
            last.pop(kind := b"r" if said.endswith(b"r") else said[:-1], None)
            last[kind] = said
        self.feed(b"".join(list(last.values())[-MOST_STATE:]))

    def _write(self, text: str) -> None:
        for part in PARTS.findall(text):
            if part >= " " and part != "\x7f":
                self.draw(part)
            elif do := self._controls.get(part):
                self._last = ""
                do()

    def _what_controls_do(self) -> dict[str, Callable[[], None]]:
        down = self.index
        return {
            **{"\b": self.backspace, "\t": self.tab, "\n": down, "\v": down, "\f": down},
            **{"\r": self.carriage_return, "\x0e": self.shift_out, "\x0f": self.shift_in},
        }

    # ---- sequences ------------------------------------------------------------------------------------------

    def _what_it_obeys(self) -> dict[str, Callable[[int], None]]:
        """Handlers by final letter; each takes one number, where 0 means the default."""
        return {
            **{"A": self.cursor_up, "B": self.cursor_down, "C": self.cursor_forward, "D": self.cursor_back},
            **{"E": self.cursor_down1, "F": self.cursor_up1, "G": self.cursor_to_column, "`": self.cursor_to_column},
            **{"a": self.cursor_forward, "d": self.cursor_to_line, "e": self.cursor_down},
            **{"@": self.insert_characters, "P": self.delete_characters, "X": self.erase_characters},
            **{"L": self.insert_lines, "M": self.delete_lines, "S": self.scroll_up, "T": self.scroll_down},
            **{"J": self.erase_in_display, "K": self.erase_in_line, "g": self.clear_tab_stop},
            **{"b": self.repeat, "I": self.tabs, "Z": self.tabs_back},
            **{"s": lambda _: self.save_cursor(), "u": lambda _: self.restore_cursor()},
        }

    def _obey(self, verb: str, said: str, between: str) -> None:
        if between or said[:1] in ("<", "=", ">"):
            return  # sequences of other terminals, or queries, which are not answered
        private = said.startswith("?")
        numbers = [number_of(one, 0) for one in said.removeprefix("?").split(";")[:16]]
        if verb in "hl":
            self._set_modes(numbers, verb == "h", private)
        elif private:
            return
        elif verb == "m":
            self._take_pen(self._pen.after(said))
        elif verb in "Hf":
            self.cursor_position(*numbers[:2])
        elif verb == "r":
            self._set_region(*numbers[:2])
        elif do := self._obeys.get(verb):
            do(numbers[0])
        self._note_move(verb)

    def _obey_plain(self, said: str) -> None:
        if said[0] in "()" and len(said) == 2:
            self.define_charset(said[1], said[0])
            return
        does = {"7": self.save_cursor, "8": self.restore_cursor, "c": self.reset, "D": self.index}
        does |= {"E": self._next_line, "M": self.reverse_index, "H": self.set_tab_stop}
        if do := does.get(said):
            do()
            self._note_move("A" if said in "78Mc" else "")

    def _note_move(self, verb: str) -> None:
        if verb in UP_OR_DOWN and verb and not self.alternate:
            self.moved, self._scrolled = True, 0

    def _next_line(self) -> None:
        self.carriage_return()
        self.index()

    # ---- modes ----------------------------------------------------------------------------------------------

    def _set_modes(self, numbers: Sequence[int], on: bool, private: bool) -> None:
        for number in numbers:
            if private and f"?{number}" in OTHER_SCREEN:
                self._change_screen(on, number == 1049)
            elif private and number == 25:
                self.cursor.hidden = not on
            elif private and number == 6:
                self._keep_mode(modes.DECOM, on)
                self.cursor_position()
            elif private and number in (1, 7, 2004):
                self._keep_mode(number << 5, on)
            elif not private and number == modes.IRM:
                self._keep_mode(modes.IRM, on)

    def _keep_mode(self, mode: int, on: bool) -> None:
        (self.mode.add if on else self.mode.discard)(mode)

    def _change_screen(self, on: bool, with_cursor: bool) -> None:
        """Switch screens. The alternate one begins empty; the main one is restored as it was, and both have the same
        region. Modes that restore the cursor put it where it was when they last left the main screen."""
        if with_cursor and not on and self._first_cursor:
            self._put_cursor(copy.copy(self._first_cursor))
        if on == self.alternate:
            return
        if with_cursor and on:
            self._first_cursor = copy.copy(self.cursor)
        if on:
            self._behind, self.buffer = self.buffer, _empty()
        elif self._behind is not None:
            self.buffer, self._behind, self.moved = self._behind, None, False
        self.alternate = on

    def _put_cursor(self, cursor: pyte.screens.Cursor) -> None:
        cursor.hidden = self.cursor.hidden
        self.cursor = cursor
        self.cursor.x, self.cursor.y = min(cursor.x, self.columns), min(cursor.y, self.lines - 1)

    def save_cursor(self) -> None:
        """Save one cursor, as terminals do; pyte keeps a stack."""
        sets = self.g0_charset, self.g1_charset, self.charset
        self._saved = copy.copy(self.cursor), self._pen, *sets, modes.DECOM in self.mode

    def restore_cursor(self) -> None:
        """Restore the saved cursor; if there is none, that of a new screen."""
        nothing = pyte.screens.Cursor(0, 0), Pen(), charsets.LAT1_MAP, charsets.LAT1_MAP, 0, False
        cursor, pen, self.g0_charset, self.g1_charset, self.charset, is_in_region = self._saved or nothing
        self._keep_mode(modes.DECOM, is_in_region)
        self._put_cursor(copy.copy(cursor))
        self._take_pen(pen)

    # ---- characters -----------------------------------------------------------------------------------------

    def draw(self, data: str) -> None:
        if self.charset or self.g0_charset is not charsets.LAT1_MAP:
            data = data.translate(self.g1_charset if self.charset else self.g0_charset)
        if data.isascii() and WRAPS in self.mode and INSERTS not in self.mode:
            self._draw_plain(data)
            return
        for sign in data:
            self._draw_sign(sign)

    def _draw_plain(self, data: str) -> None:
        """Draw ASCII text, of one cell for each character, a row at a time."""
        look, place = self._look, 0
        while place < len(data):
            self._wrap_for(1)
            x = self.cursor.x
            part = data[place : place + self.columns - x]
            end, row = x + len(part), self.buffer[self.cursor.y]
            self._part_wide(row, x, end)
            row.update(zip(range(x, end), [_cell(sign, look) for sign in part], strict=True))
            self.cursor.x, place = end, place + len(part)
        self._last = data[-1]

    def _draw_sign(self, sign: str) -> None:
        if not (sign.isprintable() or sign == "�"):
            return  # invisible, or changes the direction of text
        width = wcwidth(sign)
        if width <= 0:
            self._combine(sign)
            return
        if not self._wrap_for(width):
            return
        if INSERTS in self.mode:
            self.insert_characters(width)
        x, row = self.cursor.x, self.buffer[self.cursor.y]
        self._part_wide(row, x, x + width)
        row[x] = _cell(sign, self._look)
        if width == 2:
            row[x + 1] = _cell("", self._look)
        self._last = sign
        self.cursor.x = x + width if WRAPS in self.mode else min(x + width, self.columns - 1)

    def _wrap_for(self, width: int) -> bool:
        """Wrap to the next row if this one has no room for a character of this width. Return False if there is none: a
        wide character is left out in the last cell of a row that does not wrap."""
        if self.cursor.x + width <= self.columns:
            return True
        if WRAPS in self.mode:
            self.buffer[self.cursor.y].goes_on = True
            self.cursor.x = 0
            self.index()
            return True
        self._be_inside()
        return width == 1

    def _part_wide(self, row: ScreenRow, start: int, end: int) -> None:
        """Blank the other halves of wide characters that are overwritten by half."""
        if start and row[start].data == "":
            row[start - 1] = self.default_char
        if end < self.columns and row[end].data == "":
            row[end] = self.default_char

    def _combine(self, sign: str) -> None:
        """Add a combining character to the previous cell."""
        row, x = self.buffer[self.cursor.y], self.cursor.x - 1
        x -= x > 0 and row[x].data == ""
        if x >= 0 and len(row[x].data) < LONGEST_SIGN:
            row[x] = row[x]._replace(data=row[x].data + sign)

    def repeat(self, count: int) -> None:
        room = self.columns - self.cursor.x
        if self._last and room > 0:
            self.draw(self._last * min(max(count, 1), room))

    def tabs(self, count: int) -> None:
        stops = sorted(one for one in self.tabstops if self.cursor.x < one < self.columns)
        self.cursor.x = stops[max(count, 1) - 1] if count <= len(stops) and stops else self.columns - 1

    def tabs_back(self, count: int) -> None:
        stops = sorted(one for one in {0, *self.tabstops} if one < self.cursor.x)
        self.cursor.x = stops[-min(max(count, 1), len(stops))] if stops else 0

    # ---- rows -----------------------------------------------------------------------------------------------

    @property
    def _region(self) -> Margins:
        return self.margins or Margins(0, self.lines - 1)

    def _set_region(self, top: int = 0, bottom: int = 0) -> None:
        first, last = max(top, 1) - 1, min(bottom or self.lines, self.lines) - 1
        if first < last:
            self.margins = Margins(first, last) if (first, last) != (0, self.lines - 1) else None
            self.cursor_position()

    def cursor_position(self, line: int | None = None, column: int | None = None) -> None:
        self.cursor.x = max(column or 1, 1) - 1
        self.cursor_to_line(line)

    def cursor_to_line(self, line: int | None = None) -> None:
        """Relative to the scroll region in origin mode; pyte fails there without a region."""
        top, bottom = self._region if modes.DECOM in self.mode else (0, self.lines - 1)
        self.cursor.y = min(top + max(line or 1, 1) - 1, bottom)
        self._be_inside()

    def cursor_up(self, count: int | None = None) -> None:
        """Stops at the region's top unless the cursor is above it; pyte moves it into the region."""
        top = self._region.top if self.cursor.y >= self._region.top else 0
        self.cursor.y = max(self.cursor.y - (count or 1), top)
        self._be_inside()

    def cursor_down(self, count: int | None = None) -> None:
        bottom = self._region.bottom if self.cursor.y <= self._region.bottom else self.lines - 1
        self.cursor.y = min(self.cursor.y + (count or 1), bottom)
        self._be_inside()

    def _be_inside(self) -> None:
        self.cursor.x = min(self.cursor.x, self.columns - 1)

    def index(self) -> None:
        if self.cursor.y == self._region.bottom:
            self._scroll(*self._region, 1)
        else:
            self.cursor.y = min(self.cursor.y + 1, self.lines - 1)

    def reverse_index(self) -> None:
        if self.cursor.y == self._region.top:
            self._scroll(*self._region, -1)
        else:
            self.cursor.y = max(self.cursor.y - 1, 0)

    def scroll_up(self, count: int) -> None:
        self._scroll(*self._region, max(count, 1))

    def scroll_down(self, count: int) -> None:
        self._scroll(*self._region, -max(count, 1))

    def insert_lines(self, count: int | None = None) -> None:
        self._shift_lines(-max(count or 1, 1))

    def delete_lines(self, count: int | None = None) -> None:
        self._shift_lines(max(count or 1, 1))

    def _shift_lines(self, count: int) -> None:
        top, bottom = self._region
        if top <= self.cursor.y <= bottom:
            self._scroll(self.cursor.y, bottom, count, is_kept=False)
            self.carriage_return()

    def _scroll(self, top: int, bottom: int, count: int, is_kept: bool = True) -> None:
        """Move rows up by `count`, or down. Rows that leave the top of the main screen go to the scrollback."""
        rows = [self.buffer.pop(y, None) for y in range(top, bottom + 1)]
        count = max(-len(rows), min(count, len(rows)))
        if count > 0 and is_kept and top == 0 and not self.alternate:
            self._keep(rows[:count])
        for y, row in enumerate(rows[max(count, 0) : len(rows) + min(count, 0)], top + max(-count, 0)):
            if row is not None:
                self.buffer[y] = row

    def _keep(self, rows: Sequence[ScreenRow | None]) -> None:
        if self.above.maxlen:
            self.above.extend((_pieces(one, self.columns), bool(one and one.goes_on)) for one in rows)
        self._scrolled += len(rows)
        self.moved = self.moved and self._scrolled < self.lines

    # ---- erasing --------------------------------------------------------------------------------------------

    def erase_in_display(self, how: int = 0, *_: int, **__: bool) -> None:
        """Erasing the whole main screen moves it to the scrollback, as tmux does."""
        x, y = self.cursor.x, self.cursor.y
        if how == 3 or how > 3:
            return
        if not self.alternate and (how == 2 or (how == 0 and x == 0 and y == 0)):
            drawn = max((one for one, row in self.buffer.items() if row), default=-1)
            self._keep([self.buffer.get(one) for one in range(drawn + 1)])
        for one in {0: range(y + 1, self.lines), 1: range(y)}.get(how, range(self.lines)):
            self.buffer[one] = ScreenRow(self._blank)
        if how in (0, 1):
            self.erase_in_line(how)

    def erase_in_line(self, how: int = 0, private: bool = False) -> None:
        if how > 2:
            return
        row, x = self.buffer[self.cursor.y], min(self.cursor.x, self.columns - 1)
        start, end = {0: (x, self.columns), 1: (0, x + 1)}.get(how, (0, self.columns))
        self._part_wide(row, start, end)
        if (start, end) == (0, self.columns):
            self.buffer[self.cursor.y] = ScreenRow(self._blank)
        else:
            row.update(dict.fromkeys(range(start, end), self._blank))
        if how != 1:
            self.buffer[self.cursor.y].goes_on = False

    def erase_characters(self, count: int | None = None) -> None:
        row, x = self.buffer[self.cursor.y], min(self.cursor.x, self.columns - 1)
        end = min(x + (count or 1), self.columns)
        self._part_wide(row, x, end)
        row.update(dict.fromkeys(range(x, end), self._blank))

    def insert_characters(self, count: int | None = None) -> None:
        self._shift_cells(count or 1)

    def delete_characters(self, count: int | None = None) -> None:
        self._shift_cells(-(count or 1))

    def _shift_cells(self, count: int) -> None:
        row, x = self.buffer[self.cursor.y], min(self.cursor.x, self.columns - 1)
        cells = [row[one] for one in range(x, self.columns)]
        count = max(-len(cells), min(count, len(cells)))
        blank = [self._blank] * abs(count)
        cells = [*blank, *cells[: len(cells) - count]] if count > 0 else [*cells[-count:], *blank]
        row.update(zip(range(x, self.columns), cells, strict=True))
        for one in (x, x + max(count, 0)):
            if one < self.columns and row[one].data == "":
                row[one] = self.default_char

    # ---- size -----------------------------------------------------------------------------------------------

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """Change the size. Rows above go to the scrollback if the cursor would be outside; programs redraw."""
        rows, width = lines or self.lines, columns or self.columns
        if self._behind is not None:
            self._behind = self._fit(self._behind, rows, width, 0)
        out = max(0, self.cursor.y - rows + 1)
        if out and not self.alternate:
            self._keep([self.buffer.get(y) for y in range(out)])
        self.buffer = self._fit(self.buffer, rows, width, out)
        self.cursor.y -= out
        self.lines, self.columns, self.margins = rows, width, None
        self.tabstops = set(range(8, width, 8))
        self.cursor.x = min(self.cursor.x, width - 1)

    def _fit(self, buffer: defaultdict[int, ScreenRow], rows: int, width: int, out: int) -> defaultdict[int, ScreenRow]:
        found = _empty()
        for y, row in buffer.items():
            if 0 <= y - out < rows:
                found[y - out] = row
                for x in [x for x in row if x >= width]:
                    del row[x]
        return found

    # ---- output ---------------------------------------------------------------------------------------------

    @property
    def place(self) -> tuple[int, int]:
        """Row and cell of the cursor, from 0."""
        return self.cursor.y, min(self.cursor.x, self.columns - 1)

    @property
    def rows(self) -> list[tuple[ScreenPiece, ...]]:
        return [_pieces(self.buffer.get(y), self.columns) for y in range(self.lines)]

    def signs_before(self, row: int, cell: int) -> int:
        """The number of characters before a cell; wide ones take two cells."""
        cells = self.buffer[row]
        return sum(cells[x].data != "" for x in range(cell))

    @property
    def all_lines(self) -> list[ScreenLine]:
        """All lines with the scrollback; wrapped rows are joined."""
        screen = self.buffer if self._behind is None else self._behind
        last = max((y for y in screen if _pieces(screen[y], self.columns)), default=-1)
        if not self.alternate:
            last = max(last, self.cursor.y)
        found, line = [], ScreenLine()
        drawn = ((_pieces(row, self.columns), bool(row and row.goes_on)) for row in map(screen.get, range(last + 1)))
        for pieces, goes_on in [*self.above, *drawn]:
            line.signs += [(sign, look) for text, look in pieces for sign in text]
            if not goes_on:
                found.append(line)
                line = ScreenLine()
        return found + ([line] if line.signs else [])


def _empty() -> defaultdict[int, ScreenRow]:
    return defaultdict(lambda: ScreenRow(_cell(" ", PLAIN)))


def _pieces(row: ScreenRow | None, columns: int) -> tuple[ScreenPiece, ...]:
    """The row as texts of one colour each; without trailing blanks, unless the line continues."""
    found: list[ScreenPiece] = []
    if row is None or not (row or row.goes_on):  # a shortcut for erased rows
        return ((" " * columns, REVERSE),) if row is not None and row.default.fg == REVERSE else ()
    for cell in (row[x] for x in range(columns)):
        if found and found[-1][1] == cell.fg:
            found[-1] = found[-1][0] + cell.data, cell.fg
        elif cell.data:
            found.append((cell.data, cell.fg))
    while found and found[-1][1] != REVERSE and not row.goes_on:
        text, look = found.pop()
        if text := text.rstrip(" "):
            found.append((text, look))
            break
    return tuple(found)
