"""Whether a quote stands in a source, and where: by code, before anybody is asked what it is worth.

Both sides are folded: compatible signs are one (NFKC), spaces of any kind and number are one, quotation marks are of
one kind, as are dashes, and what has no width is gone; case stays. An ellipsis splits a quote into parts that follow
each other. A quote neither begins nor ends within a word or a number.

Why so: docs/decisions.md, Inquiries.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice

LONGEST, FEWEST_WORDS, WORDS_OF_A_PART = 300, 3, 2
BETWEEN = 600  # characters from one part of a quote to the next
NEAR = 0.6  # so alike is a place that is named instead
ANCHORS, PLACES_OF_ONE = 4, 5  # words by which a near place is sought, and at how many of each is looked

_GONE = "\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
_QUOTES = "'\"`\u00ab\u00b4\u00bb\u2018-\u201f\u2032\u2033\u2039\u203a\u300c-\u300f\u301d-\u301f\uff02\uff07"
_DASHES = "\\-\u2010-\u2015\u2043\u2212\ufe58\ufe63\uff0d"
_JAMO = "\u1160-\u11ff"
_PIECES = re.compile(
    rf"(?P<space>[{_GONE}]*[\s\u0085\u2028\u2029][\s\u0085\u2028\u2029{_GONE}]*)"
    rf"|(?P<gone>[{_GONE}]+)|(?P<quote>[{_QUOTES}])|(?P<dash>[{_DASHES}])"
    # signs outside of ASCII, with the sign before them that an accent may belong to
    rf"|(?P<other>[!-~]?[^\x00-\x7f\s{_GONE}{_QUOTES}{_DASHES}]+)"
)
_ONE_SIGN = {"space": " ", "gone": "", "quote": '"', "dash": "-"}
_ELLIPSIS = re.compile(r"\s*(?:\[\s*(?:\.\.\.|\u2026)\s*\]|\u2026|\.\.\.)\s*")
# scripts without spaces between their words
_ALONE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"[{_ALONE}]|[^\W{_ALONE}]+")
_WITHIN_A_WORD = re.compile(rf"[^\W{_ALONE}]{{2}}")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NUMBER_ALONE = re.compile(r"(?<!\w)\d+(?:[.,]\d+)*")  # and no part of a name, as in N12
_MINUS = re.compile(r"(?:^|[^\w])-$")


@dataclass(frozen=True)
class Span:
    """Characters of a source as it was read."""

    start: int
    end: int


@dataclass(frozen=True)
class Place:
    """Where a quote stands. One with an ellipsis has several parts."""

    parts: tuple[Span, ...]

    @property
    def start(self) -> int:
        return self.parts[0].start

    @property
    def end(self) -> int:
        return self.parts[-1].end


class Folded:
    """A text in which quotes are sought. It takes a second for a million characters, so it is made once of a source."""

    def __init__(self, text: str) -> None:
        self.original = text
        # where each run of signs begins here and there; within a run of which one sign is one both go on alike
        self._here: list[int] = []
        self._there: list[int] = []
        self._alike: list[bool] = []
        self.text = "".join(self._fold(text))

    def _fold(self, text: str) -> Iterator[str]:
        here = there = 0
        for found in _PIECES.finditer(text):
            if there < found.start():
                self._run(here, there, True)
                yield text[there : found.start()]
                here += found.start() - there
            there = found.start()
            for piece, length in _pieces(found):
                self._run(here, there, len(piece) == length == 1)
                yield piece
                here, there = here + len(piece), there + length
        self._run(here, there, True)
        yield text[there:]
        self._run(here + len(text) - there, len(text), False)

    def _run(self, here: int, there: int, alike: bool) -> None:
        self._here.append(here)
        self._there.append(there)
        self._alike.append(alike)

    def span(self, start: int, end: int) -> Span:
        """The characters of the original that are these here."""
        first = bisect_right(self._here, start) - 1
        last = bisect_right(self._here, end - 1) - 1
        began = self._there[first] + (start - self._here[first] if self._alike[first] else 0)
        if self._alike[last]:
            return Span(began, self._there[last] + end - self._here[last])
        return Span(began, self._there[last + 1])


def _pieces(found: re.Match[str]) -> Iterator[tuple[str, int]]:
    """What becomes of signs, and how many they were."""
    kind = found.lastgroup or ""
    if kind in _ONE_SIGN:
        yield _ONE_SIGN[kind], len(found[0])
        return
    for cluster in _clusters(found[0]):
        normal = unicodedata.normalize("NFKC", cluster)
        yield (normal if normal == cluster else fold(normal)), len(cluster)


def _clusters(text: str) -> Iterator[str]:
    """Signs with the accents that belong to them; parts of a Korean syllable stay together."""
    start = 0
    for at in range(1, len(text) + 1):
        if at == len(text) or not (unicodedata.combining(text[at]) or "\u1160" <= text[at] <= "\u11ff"):
            yield text[start:at]
            start = at


def fold(text: str) -> str:
    return Folded(text).text


# ---- finding ----------------------------------------------------------------------------------------------


def complaint(quote: str) -> str:
    """Why this is no quote, whatever it is of; empty where it is one."""
    if len(quote) > LONGEST:
        return f"it has {len(quote):,} characters, and {LONGEST} are taken"
    parts = _parts(quote)
    if sum(len(_WORD.findall(part)) for part in parts) < FEWEST_WORDS:
        return f"it has fewer than {FEWEST_WORDS} words"
    if len(parts) > 1 and any(len(_WORD.findall(part)) < WORDS_OF_A_PART for part in parts):
        return f"each part of it between ellipses has at least {WORDS_OF_A_PART} words"
    return ""


def find(quote: str, source: Folded) -> Place | None:
    """Where it stands first; None where it does not, or is no quote."""
    if complaint(quote):
        return None
    # an ellipsis may stand in the source itself
    return _place([fold(quote).strip()], source) or _place(_parts(quote), source)


def _parts(quote: str) -> list[str]:
    return [part for part in (fold(one).strip() for one in _ELLIPSIS.split(quote)) if part]


def _place(parts: Sequence[str], source: Folded) -> Place | None:
    """Each part after the one before, and not far from it."""
    if not parts:
        return None
    for start in _starts(parts[0], source.text):
        spans, at = [source.span(start, start + len(parts[0]))], start + len(parts[0])
        for part in parts[1:]:
            begun = next(_starts(part, source.text, at, at + BETWEEN), None)
            if begun is None:
                break
            at = begun + len(part)
            spans.append(source.span(begun, at))
        else:
            return Place(tuple(spans))
    return None


def _starts(part: str, text: str, after: int = 0, before: int | None = None) -> Iterator[int]:
    """Where this stands as whole words, beginning within these bounds."""
    last = len(text) if before is None else before + len(part)
    at = text.find(part, after, last)
    while at >= 0:
        if _is_whole(text, at, at + len(part)):
            yield at
        at = text.find(part, at + 1, last)


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether these are whole words and numbers of it, each with its sign."""
    if _is_cut(text, start) or _is_cut(text, end):
        return False
    return not (text[start].isdigit() and _MINUS.search(text[max(start - 2, 0) : start]))


def _is_cut(text: str, at: int) -> bool:
    """Whether a word or a number goes on here."""
    if at and _WITHIN_A_WORD.fullmatch(text[at - 1 : at + 1]):
        return True
    around, here = text[max(at - 2, 0) : at + 2], min(at, 2)
    return any(found.start() < here < found.end() for found in _NUMBER.finditer(around))


# ---- near misses ------------------------------------------------------------------------------------------


def nearest(quote: str, source: Folded) -> str:
    """What stands there that is most like a quote which does not; empty where nothing is."""
    wanted = fold(quote).strip()
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)
    best, found = NEAR, ""
    for start in _near(wanted, source.text):
        window = source.text[start : start + len(wanted)]
        matcher.set_seq1(window)
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and (alike := matcher.ratio()) > best:
            best, found = alike, _as_it_stands(source, start, start + len(window))
    return found


def _near(wanted: str, text: str) -> Iterator[int]:
    """Where it may have been meant: its longest words, each at the first few places where it stands."""
    words = sorted({found[0]: found.start() for found in _WORD.finditer(wanted)}.items(), key=lambda one: -len(one[0]))
    for word, offset in words[:ANCHORS]:
        for at in islice(re.finditer(re.escape(word), text), PLACES_OF_ONE):
            yield max(at.start() - offset, 0)


def _as_it_stands(source: Folded, start: int, end: int) -> str:
    """Made to whole words."""
    while start and not source.text[start - 1].isspace():
        start -= 1
    while end < len(source.text) and not source.text[end].isspace():
        end += 1
    span = source.span(start, end)
    return " ".join(source.original[span.start : span.end].split())


# ---- numbers ----------------------------------------------------------------------------------------------


def numbers(text: str) -> list[str]:
    """The numbers that stand in a text, without signs between thousands."""
    return [_plain(found[0]) for found in _NUMBER_ALONE.finditer(fold(text))]


def _plain(number: str) -> str:
    """1,000 and 1.000,5 as 1000 and 1000.5: where it can be read in two ways, both mean the same digits."""
    head, sign, tail = re.fullmatch(r"(.*?)(?:([.,])(\d+))?", number).groups()  # type: ignore[union-attr]
    digits = re.sub(r"[.,]", "", head)
    if sign is None:
        return digits
    return digits + tail if len(tail) == 3 and digits != "0" else f"{digits}.{tail}"


def unsupported(text: str, support: Sequence[str]) -> list[str]:
    """The numbers of a text that stand in nothing of what carries it."""
    known = {number for one in support for number in numbers(one)}
    return [number for number in dict.fromkeys(numbers(text)) if number not in known]
