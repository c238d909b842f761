"""What a command prints, as lines of text in eight colours: so a bar of progress is one line, and nothing that a
program prints can speak to the terminal of whoever reads it.

Known are: return, backspace, tab, erasing in the line, colours. All else that is meant for a terminal is dropped; what
a program draws by moving the cursor to other lines is in `emulator.py`.

Why so: docs/decisions.md, Terminals.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

TAB = 8
MAX_COLUMNS = 2_000  # characters of a line; what is longer goes on in the next one
COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
PLAIN, REVERSE = "", "reverse"  # the latter also stands for any background
# CSI, then OSC and the other strings with their ends, then what is left of escapes. No part of it looks beyond the next
# escape: of a flood of strings that never end each would else be sought in all that follows
ESCAPE = re.compile(
    r"\x1b(?:\[(?P<numbers>[0-9;:<=>?]*)(?P<between>[ -/]*)(?P<verb>[@-~])"
    r"|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|(?P<plain>[ -/]*[0-~]))"
)
INCOMPLETE_ESCAPE = re.compile(r"\x1b(?:\[[0-9;:<=>? -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)?\Z", re.DOTALL)
MAX_INCOMPLETE_ESCAPE = 4_096  # an escape that does not end is text
OTHER_SCREEN = ("?1049", "?1047", "?47")

ScreenPiece = tuple[str, str]
"""Some text and its colour, empty where it has none."""


class EscapeReader:
    """Told what a program says in pieces cut anywhere, it gives texts and the escapes between them."""

    def __init__(self) -> None:
        self._begun, self._decoder = "", codecs.getincrementaldecoder("utf-8")("replace")

    def read(self, data: bytes) -> Iterator[tuple[str, re.Match[str] | None]]:
        """Each text with the escape that comes after it, None after the last. An escape that has not ended yet waits
        for the next piece."""
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
    """In what colour comes what is written next: one of eight, or reverse."""

    colour: str = PLAIN
    turned: bool = False
    background: bool = False

    @property
    def look(self) -> str:
        return REVERSE if self.turned or self.background else self.colour

    def after(self, numbers: str) -> "Pen":
        """Bright colours are the same as others; what is neither colour, reverse nor reset changes nothing."""
        pen, codes = self, _codes(numbers)
        for code in codes:
            if code in (38, 48):  # one of 256, or of all: its numbers are no codes
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
    """Each character with its colour."""

    signs: list[ScreenPiece] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(sign for sign, _ in self.signs).rstrip()

    @property
    def pieces(self) -> list[ScreenPiece]:
        """Neighbours of one colour together."""
        return ScreenLine(self.signs[: len(self.text)]).all_pieces

    @property
    def all_pieces(self) -> list[ScreenPiece]:
        """Also what is blank at its end."""
        found: list[ScreenPiece] = []
        for sign, colour in self.signs:
            if found and found[-1][1] == colour:
                found[-1] = found[-1][0] + sign, colour
            else:
                found.append((sign, colour))
        return found


class Screen:
    """Fed with what a program says, in pieces cut anywhere."""

    def __init__(self) -> None:
        self.lines = [ScreenLine()]
        self.other_screen = False  # an editor or a pager draws on one of its own, which is not kept
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
        # the terminal's driver writes a return before it; where it does not, the next line begins at its beginning too
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

    # ---- what it obeys --------------------------------------------------------------------------------------

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
    """The same one for the same sign: of a long output each would else take ten times its room."""
    return sign, look


def number_of(numbers: str, otherwise: int) -> int:
    return int(numbers) if numbers.isdecimal() and len(numbers) < 6 else otherwise


def _codes(numbers: str) -> Iterator[int]:
    return (number_of(one, 0) for one in numbers.replace(":", ";").split(";"))
