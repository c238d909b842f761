"""Output of commands that only print, as lines of text in eight colours.

It knows carriage return, backspace, tab, erasing in the line and colours, and drops all other sequences, so that output
cannot control the terminal of its reader. Programs that move the cursor to other lines need `emulator.py`.

Why so: missions/DESIGN.md, Terminals.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

TAB = 8
MAX_COLUMNS = 2_000  # characters; longer lines are wrapped
COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
PLAIN, REVERSE = "", "reverse"  # any background is shown as reverse, too
# CSI; OSC and other strings with their ends; other escapes. No part looks beyond the next escape, since in a flood of
# unterminated strings each search would otherwise scan the whole rest
ESCAPE = re.compile(
    r"\x1b(?:\[(?P<numbers>[0-9;:<=>?]*)(?P<between>[ -/]*)(?P<verb>[@-~])"
    r"|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|(?P<plain>[ -/]*[0-~]))"
)
INCOMPLETE_ESCAPE = re.compile(r"\x1b(?:\[[0-9;:<=>? -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)?\Z", re.DOTALL)
MAX_INCOMPLETE_ESCAPE = 4_096  # characters; a longer unterminated escape is treated as text
OTHER_SCREEN = ("?1049", "?1047", "?47")

ScreenPiece = tuple[str, str]
"""Text and its colour; the colour may be empty."""


class EscapeReader:
    """Splits output, which comes in pieces cut anywhere, into texts and escape sequences."""

    def __init__(self) -> None:
        self._begun, self._decoder = "", codecs.getincrementaldecoder("utf-8")("replace")

    def read(self, data: bytes) -> Iterator[tuple[str, re.Match[str] | None]]:
        """Yield each text with the escape after it; None after the last. An incomplete escape waits for more data."""
        text = self._begun + self._decoder.decode(data)
        begun = INCOMPLETE_ESCAPE.search(text)
        cut = begun.start() if begun and len(text) - begun.start() < MAX_INCOMPLETE_ESCAPE else len(text)
        text, self._begun = text[:cut], text[cut:]
        place = 0
        for escape in ESCAPE.finditer(text):
            yield text[place : escape.start()], escape
            place = escape.end()
        yield text[place:], None


@dataclass(frozen=True)
class Pen:
    """The colour of the next characters: one of eight, or reverse."""

    colour: str = PLAIN
    turned: bool = False
    background: bool = False

    @property
    def look(self) -> str:
        return REVERSE if self.turned or self.background else self.colour

    def after(self, numbers: str) -> "Pen":
        """The pen after an SGR sequence. Bright colours become normal ones; all other attributes are ignored."""
        pen, codes = self, _codes(numbers)
        for code in codes:
            if code in (38, 48):  # extended colours: their parameters are no codes
                skip = next(codes, None)
                for _ in range({5: 1, 2: 3}.get(skip or 0, 0)):
                    next(codes, None)
            pen = pen._with(code)
        return pen

    def _with(self, code: int) -> "Pen":
        if code == 0:
            return Pen()
        if code in (7, 27):
            return replace(self, turned=code == 7)
        if code == 39 or (code // 10 in (3, 9) and code % 10 < 8):
            return replace(self, colour=COLOURS[code % 10] if code != 39 else PLAIN)
        if code == 49 or (code // 10 in (4, 10) and code % 10 < 9):
            return replace(self, background=code != 49)
        return self


@dataclass
class ScreenLine:
    """One line: its characters with their colours."""

    signs: list[ScreenPiece] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(sign for sign, _ in self.signs).rstrip()

    @property
    def pieces(self) -> list[ScreenPiece]:
        """Texts of one colour each, without trailing blanks."""
        return ScreenLine(self.signs[: len(self.text)]).all_pieces

    @property
    def all_pieces(self) -> list[ScreenPiece]:
        """Texts of one colour each, with trailing blanks."""
        found: list[ScreenPiece] = []
        for sign, colour in self.signs:
            if found and found[-1][1] == colour:
                found[-1] = found[-1][0] + sign, colour
            else:
                found.append((sign, colour))
        return found


class Screen:
    """Is fed with output in pieces that may be cut anywhere."""

    def __init__(self) -> None:
        self.lines = [ScreenLine()]
        self.other_screen = False  # output on the alternate screen of editors and pagers is dropped
        self._column, self._pen, self._look, self._reader = 0, Pen(), PLAIN, EscapeReader()

    def feed(self, data: bytes) -> None:
        for text, escape in self._reader.read(data):
            self._write(text)
            if escape and escape["verb"]:
                self._obey(escape["verb"], escape["numbers"])

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)

    def _write(self, text: str) -> None:
        if self.other_screen:
            return
        for sign in text:
            self._put(sign)

    def _put(self, sign: str) -> None:
        match sign:
            case "\n":
                self._new_line()
            case "\r":
                self._column = 0
            case "\b":
                self._column = max(0, self._column - 1)
            case "\t":
                for _ in range(TAB - self._column % TAB):
                    self._set(" ")
            case _ if sign.isprintable() or sign == "�":
                self._set(sign)

    def _new_line(self) -> None:
        # the terminal driver writes a carriage return before it; without one the next line begins at column 0, too
        self.lines.append(ScreenLine())
        self._column = 0

    def _set(self, sign: str) -> None:
        if self._column >= MAX_COLUMNS:
            self._new_line()
        signs = self.lines[-1].signs
        if self._column < len(signs):
            signs[self._column] = _piece(sign, self._look)
        else:
            signs.extend([(" ", PLAIN)] * (self._column - len(signs)))
            signs.append(_piece(sign, self._look))
        self._column += 1

    # ---- sequences ------------------------------------------------------------------------------------------

    def _obey(self, verb: str, numbers: str) -> None:
        match verb:
            case "m":
                self._pen = self._pen.after(numbers)
                self._look = self._pen.look
            case "K":
                self._erase(numbers)
            case "G":
                self._column = min(max(number_of(numbers, 1) - 1, 0), MAX_COLUMNS)
            case "C":
                self._column = min(self._column + number_of(numbers, 1), MAX_COLUMNS)
            case "D":
                self._column = max(0, self._column - number_of(numbers, 1))
            case "h" | "l" if numbers in OTHER_SCREEN:
                self.other_screen = verb == "h"

    def _erase(self, numbers: str) -> None:
        signs = self.lines[-1].signs
        if numbers in ("", "0"):
            del signs[self._column :]
        elif numbers == "1":
            signs[: self._column + 1] = [(" ", PLAIN)] * min(self._column + 1, len(signs))
        elif numbers == "2":
            signs.clear()


@lru_cache(maxsize=4_096)
def _piece(sign: str, look: str) -> ScreenPiece:
    """Shares equal tuples: otherwise long output would take ten times the memory."""
    return sign, look


def number_of(numbers: str, otherwise: int) -> int:
    return int(numbers) if numbers.isdecimal() and len(numbers) < 6 else otherwise


def _codes(numbers: str) -> Iterator[int]:
    return (number_of(one, 0) for one in numbers.replace(":", ";").split(";"))
