"""Finds struck-out text in a PDF that has no strike-out annotation. Part of `pdf_text.py`, which runs in a limited
process.

Word processors export struck-out text with a line, which is drawn like the rules of a table. It counts as a strike if
it goes through the middle of characters, and begins and ends where they do.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from pypdf import mult

from toolbox.pdf_signs import Sign

LOW, HIGH = 0.15, 0.45  # of the font size: height of a strike above the baseline
THICK, OFF = 0.15, 0.5  # of the font size: most thickness, and most distance of its ends from those of characters
MOST_RULES = 5_000  # per page; a page with more is a drawing
NEAR = 1.0  # points: pieces this close are one line
LEVEL = 0.02  # greatest slope of a line


@dataclass(frozen=True, slots=True)
class RuledLine:
    left: float
    right: float
    y: float
    thick: float


@dataclass
class DrawingRecorder:
    """Records lines, pictures and baselines of text while pypdf extracts the text of a page."""

    rules: list[RuledLine] = field(default_factory=list)
    lines: set[tuple[float, float]] = field(default_factory=set)  # of text: baseline and font size
    pictures: list[tuple[str, float]] = field(default_factory=list)  # name and covered area
    recognised: bool = False  # there is invisible text, as text recognition (OCR) adds it to pictures
    _width: float = 1.0
    _from: Sequence[float] = ()

    def drawn(self, operator: bytes, given: Sequence[object], place: list[float], _: object) -> None:
        if operator in (b"Do", b"INLINE IMAGE"):
            name = str(given[0]) if operator == b"Do" and given else ""
            self.pictures.append((name, abs(place[0] * place[3] - place[1] * place[2])))
        if operator not in (b"re", b"m", b"l", b"w", b"Tr") or not given:
            return
        amounts = [float(one) for one in given if isinstance(one, int | float)]
        if operator == b"Tr":
            self.recognised |= amounts == [3]
        elif operator == b"w":
            self._width = amounts[0] if amounts else 1.0
        elif operator == b"m":
            self._from = amounts
        elif operator == b"re" and len(amounts) == 4:
            left, low, wide, high = amounts
            self._add([left, low + high / 2, left + wide, low + high / 2], abs(high), place)
        elif operator == b"l" and len(amounts) == 2 == len(self._from):
            self._add([*self._from, *amounts], self._width, place)

    def _add(self, ends: Sequence[float], thick: float, place: list[float]) -> None:
        first, last = (mult([1, 0, 0, 1, *ends[at : at + 2]], place) for at in (0, 2))
        left, right = sorted((first[4], last[4]))
        if len(self.rules) < MOST_RULES and right - left > 1 and abs(first[5] - last[5]) <= LEVEL * (right - left):
            self.rules.append(RuledLine(left, right, first[5], thick * abs(place[3] or place[1])))

    def written(self, text: str, place: list[float], matrix: list[float], _: object, size: float) -> None:
        if text.strip():
            at = mult(matrix, place)
            self.lines.add((round(at[5], 1), round(abs(size * (at[3] or at[1])), 1)))

    def found(self) -> list[RuledLine]:
        """Return the lines that may strike out text; pieces of one line are joined."""
        if len(self.rules) == MOST_RULES:
            return []
        joined: list[RuledLine] = []
        for one in sorted(self.rules, key=lambda rule: (round(rule.y), rule.left)):
            before = joined[-1] if joined else None
            if before and abs(one.y - before.y) < NEAR and one.left - before.right < NEAR:
                joined[-1] = replace(before, right=max(before.right, one.right), thick=max(before.thick, one.thick))
            else:
                joined.append(one)
        return [one for one in joined if any(_goes_through(one, level, size) for level, size in self.lines)]


def struck(rules: Iterable[RuledLine], signs: Sequence[Sign]) -> Iterator[list[Sign]]:
    """Yield the struck-out passages; one may span several lines."""
    numbers = sorted({number for rule in rules for number in _covered(rule, signs)})
    passage: list[int] = []
    for number in numbers:
        if passage and any(one.text.strip() for one in signs[passage[-1] + 1 : number]):
            yield [signs[one] for one in passage]
            passage = []
        passage.append(number)
    if passage:
        yield [signs[one] for one in passage]


def _covered(rule: RuledLine, signs: Sequence[Sign]) -> list[int]:
    found = [
        number
        for number, one in enumerate(signs)
        if rule.left <= one.x <= rule.right and one.text.strip() and _goes_through(rule, one.level, one.size)
    ]
    if not found:
        return []
    first = min((signs[number] for number in found), key=lambda one: one.start)
    last = max((signs[number] for number in found), key=lambda one: one.end)
    fits = abs(first.start - rule.left) <= OFF * first.size and abs(last.end - rule.right) <= OFF * last.size
    return found if fits else []


def _goes_through(rule: RuledLine, level: float, size: float) -> bool:
    return LOW * size <= rule.y - level <= HIGH * size and rule.thick <= THICK * size
