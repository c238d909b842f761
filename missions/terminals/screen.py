"""What a terminal shows, as lines of text in eight colours: so a bar of progress is one line, and nothing that a
program prints can speak to the terminal of whoever reads it.

Known are: return, backspace, tab, erasing in the line, colours. All else that is meant for a terminal is dropped.

Why so: docs/decisions.md, Terminals.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

TAB = 8
WIDEST = 2_000  # characters of a line; what is longer goes on in the next one
COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
PLAIN = ""
# CSI, then OSC and the other strings with their ends, then what is left of escapes
ESCAPE = re.compile(
    r"\x1b(?:\[(?P<numbers>[0-9;:<=>?]*)[ -/]*(?P<verb>[@-~])"
    r"|[\]PX^_].*?(?:\x07|\x1b\\)|[ -/]*[0-~])",
    re.DOTALL,
)
BEGUN = re.compile(r"\x1b(?:\[[0-9;:<=>? -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)?\Z", re.DOTALL)
LONGEST_BEGUN = 4_096  # an escape that does not end is text
OTHER_SCREEN = ("?1049", "?1047", "?47")

Piece = tuple[str, str]
"""Some text and its colour, empty where it has none."""


@dataclass
class Line:
    """Each character with its colour."""

    signs: list[Piece] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(sign for sign, _ in self.signs).rstrip()

    @property
    def pieces(self) -> list[Piece]:
        """Neighbours of one colour together."""
        found: list[Piece] = []
        for sign, colour in self.signs[: len(self.text)]:
            if found and found[-1][1] == colour:
                found[-1] = found[-1][0] + sign, colour
            else:
                found.append((sign, colour))
        return found


class Screen:
    """Fed with what a program says, in pieces cut anywhere."""

    def __init__(self) -> None:
        self.lines = [Line()]
        self.other_screen = False  # an editor or a pager draws on one of its own, which is not kept
        self._column, self._colour, self._begun = 0, PLAIN, ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> None:
        text = self._begun + self._decoder.decode(data)
        begun = BEGUN.search(text)
        cut = begun.start() if begun and len(text) - begun.start() < LONGEST_BEGUN else len(text)
        text, self._begun = text[:cut], text[cut:]
        place = 0
        for escape in ESCAPE.finditer(text):
            self._write(text[place : escape.start()])
            self._obey(escape["verb"] or "", escape["numbers"] or "")
            place = escape.end()
        self._write(text[place:])

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
        self.lines.append(Line())
        self._column = 0

    def _set(self, sign: str) -> None:
        if self._column >= WIDEST:
            self._new_line()
        signs = self.lines[-1].signs
        if self._column < len(signs):
            signs[self._column] = sign, self._colour
        else:
            signs.extend([(" ", PLAIN)] * (self._column - len(signs)))
            signs.append((sign, self._colour))
        self._column += 1

    # ---- what it obeys --------------------------------------------------------------------------------------

    def _obey(self, verb: str, numbers: str) -> None:
        match verb:
            case "m":
                self._colour = _colour(numbers, self._colour)
            case "K":
                self._erase(numbers)
            case "G":
                self._column = min(max(_number(numbers, 1) - 1, 0), WIDEST)
            case "C":
                self._column = min(self._column + _number(numbers, 1), WIDEST)
            case "D":
                self._column = max(0, self._column - _number(numbers, 1))
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


def _number(numbers: str, otherwise: int) -> int:
    return int(numbers) if numbers.isdecimal() and len(numbers) < 6 else otherwise


def _colour(numbers: str, before: str) -> str:
    """Of eight; bright ones are the same, and what is neither colour nor reset changes nothing."""
    colour, codes = before, _codes(numbers)
    for code in codes:
        if code in (38, 48):  # one of 256, or of all: its numbers are no codes
            skip = next(codes, None)
            for _ in range({5: 1, 2: 3}.get(skip or 0, 0)):
                next(codes, None)
        elif code in (0, 39):
            colour = PLAIN
        elif code // 10 in (3, 9) and code % 10 < 8:
            colour = COLOURS[code % 10]
    return colour


def _codes(numbers: str) -> Iterator[int]:
    return (_number(one, 0) for one in numbers.replace(":", ";").split(";"))
