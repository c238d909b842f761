"""Finds quotes in sources by code, before a critic or a person sees them; also numbers and names without support.

Quote and source are folded: compatibility characters are normalised (NFKC), each run of whitespace is one space, all
quotation marks are the same, as are all dashes, and zero-width characters are removed; case stays. An ellipsis splits a
quote into parts that follow each other. A quote must not begin or end within a word or a number.

Why so: inquiries/DESIGN.md, Inquiries.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice, pairwise

LONGEST, FEWEST_WORDS, WORDS_OF_A_PART = 300, 3, 2  # characters; least words of a quote and of a part
MOST_PARTS, FEWEST_LEFT_OUT = 6, 4  # parts of a quote; least words that an ellipsis may leave out
GAP_CHARACTERS = 600  # at most, between two parts of a quote
CELL_WORDS = 2  # at least, of a quote of table cells
NEAR_SIMILARITY = 0.6  # least ratio (difflib) of a place that is suggested instead
ANCHORS, PLACES_OF_ONE = 4, 5  # words that near places are searched by; places per word

_GONE = "\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
_QUOTES = "'\"`\u00ab\u00b4\u00bb\u2018-\u201f\u2032\u2033\u2039\u203a\u300c-\u300f\u301d-\u301f\uff02\uff07"
_DASHES = "\\-\u2010-\u2015\u2043\u2212\ufe58\ufe63\uff0d"
_JAMO = "\u1160-\u11ff"
_PIECES = re.compile(
    rf"(?P<space>[{_GONE}]*[\s\u0085\u2028\u2029][\s\u0085\u2028\u2029{_GONE}]*)"
    rf"|(?P<gone>[{_GONE}]+)|(?P<quote>[{_QUOTES}])|(?P<dash>[{_DASHES}])"
    # non-ASCII characters, with the ASCII character before them that a combining accent may belong to
    rf"|(?P<other>[!-~]?[^\x00-\x7f\s{_GONE}{_QUOTES}{_DASHES}]+)"
)
_FOLDED_TO = {"space": " ", "gone": "", "quote": '"', "dash": "-"}
_ELLIPSIS = re.compile(r"\s*(?:\[\s*(?:\.\.\.|\u2026)\s*\]|\u2026|\.\.\.)\s*")
# scripts without spaces between their words
_ALONE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"[{_ALONE}]|[^\W{_ALONE}]+")
_WITHIN_A_WORD = re.compile(rf"[^\W{_ALONE}]{{2}}")
_CELL = re.compile(r"\w: |\w \| ")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NUMBER_ALONE = re.compile(r"(?<!\w)\d+(?:[.,]\d+)*")  # not part of a name, as in N12
_MINUS = re.compile(r"(?:^|[^\w])-$")

# characters by which a word or number goes on: apostrophes, slashes, signs, superscripts; matched in folded text
_LETTER = rf"[^\W\d_{_ALONE}]"
_RAISED = "\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2079\u2080-\u2089\u2150-\u2189\u2460-\u249b"
_RAISED_AT = re.compile(rf"\d[{_RAISED}]|[{_RAISED}]\d")
_JOINS = re.compile(rf'(?<={_LETTER})"(?={_LETTER})|(?<=\d)["/:\u2044-](?=\d)')
_THOUSANDS = re.compile(r"(?<!\d)\d{1,3}(?: \d{3})+(?!\d)")
_SIGNED = re.compile(r"(?:^|[^\w])(?:[.,]|-( ?)[^\w\s]?( ?))$")
_FIGURE_FIRST = re.compile(r"[$\u00a2-\u00a5\u20a0-\u20cf]? ?\d")
_NEGATES_NEXT = tuple("\u4e0d\u6ca1\u6c92\u65e0\u7121\u975e\u672a")
_NEGATION = re.compile(
    r"\b(?:not|no|never|nor|neither|none|cannot|without|kein\w*|nicht|nie|niemals|ohne|weder|pas|jamais|sans|ne|ni|non"
    r"|nunca|sin|mai|senza|n\u00e3o|nem|sem|niet|geen|nooit|\u043d\u0435|\u043d\u0435\u0442|\u043d\u0438)\b"
    r'|n"t\b|[\u4e0d\u6ca1\u6c92\u65e0\u7121\u975e\u672a]'
)
_HYPHENS, _MINUS_SIGN = "-\u2010\u2011\ufe63\uff0d", "\u2212"


@dataclass(frozen=True)
class TextSpan:
    """Range of characters in the original text of a source."""

    start: int
    end: int


@dataclass(frozen=True)
class QuotePlace:
    """Place of a quote; several parts if it has ellipses."""

    parts: tuple[TextSpan, ...]

    @property
    def start(self) -> int:
        return self.parts[0].start

    @property
    def end(self) -> int:
        return self.parts[-1].end


class FoldedText:
    """A folded text, and the mapping of its characters to the original. Folding takes a second per million characters,
    so callers cache it."""

    def __init__(self, text: str) -> None:
        self.original = text
        # starts of runs in the folded text (here) and in the original (there); in a run that is `alike` each character
        # corresponds to one character
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

    def span(self, start: int, end: int) -> TextSpan:
        """Return the range in the original for a range in the folded text."""
        first = bisect_right(self._here, start) - 1
        last = bisect_right(self._here, end - 1) - 1
        began = self._there[first] + (start - self._here[first] if self._alike[first] else 0)
        if self._alike[last]:
            return TextSpan(began, self._there[last] + end - self._here[last])
        return TextSpan(began, self._there[last + 1])


def _pieces(found: re.Match[str]) -> Iterator[tuple[str, int]]:
    """Yield folded texts, each with the number of original characters."""
    kind = found.lastgroup or ""
    if kind in _FOLDED_TO:
        yield _FOLDED_TO[kind], len(found[0])
        return
    for cluster in _clusters(found[0]):
        normal = unicodedata.normalize("NFKC", cluster)
        yield (normal if normal == cluster else fold_text(normal)), len(cluster)


def _clusters(text: str) -> Iterator[str]:
    """Yield characters with their combining accents; parts of a Korean syllable stay together."""
    start = 0
    for at in range(1, len(text) + 1):
        if at == len(text) or not (unicodedata.combining(text[at]) or "\u1160" <= text[at] <= "\u11ff"):
            yield text[start:at]
            start = at


def fold_text(text: str) -> str:
    return FoldedText(text).text


QuoteFits = Callable[[FoldedText, int, int], bool]  # tells whether this range may be a quote


# ---- finding ----------------------------------------------------------------------------------------------


def quote_problem(quote: str) -> str:
    """Return why a text cannot be a quote of any source; empty if it can."""
    if (number := len(_parts(quote[: LONGEST + 1]))) > MOST_PARTS:
        return f"ellipses split it into {number} parts, and {MOST_PARTS} are taken"
    return _malformed(quote)


def _malformed(quote: str) -> str:
    if len(quote) > LONGEST:
        return f"it has {len(quote):,} characters, and {LONGEST} are taken"
    parts = _parts(quote)
    if sum(len(_WORD.findall(part)) for part in parts) < FEWEST_WORDS:
        return f"it has fewer than {FEWEST_WORDS} words"
    if len(parts) > 1 and any(len(_WORD.findall(part)) < WORDS_OF_A_PART for part in parts):
        return f"each part of it between ellipses has at least {WORDS_OF_A_PART} words"
    return ""


def find_quote(quote: str, source: FoldedText) -> QuotePlace | None:
    """Return the first place of a quote; None if it is not in the source or is no valid quote."""
    if quote_problem(quote):
        return None
    place = reused_quote(quote, source, _is_uncut)
    if place and _unsafe_omission(place, source):
        return None
    stands = "".join(source.original[one.start : one.end] for one in place.parts) if place else ""
    return place if place and _superscripts(stands) == _superscripts(quote) else None


def find_cells(quote: str, text: str) -> QuotePlace | None:
    """Return the place of a quote of whole table cells of one row; ellipses may leave out other cells of the row.

    A row is a line, as in “Row 2: Region: North; Amount: 900” or “North | 900”. Cells may be short, and leaving some
    out does not change the meaning of others, so the rules for sentences do not apply.
    """
    parts = _parts(quote[: LONGEST + 1])
    short = (
        len(quote) > LONGEST or len(parts) > MOST_PARTS or sum(len(_WORD.findall(one)) for one in parts) < CELL_WORDS
    )
    if short or not any(_CELL.search(part) for part in parts):
        return None
    at = 0
    for line in text.split("\n"):
        if all(part.split(" ")[-1] in fold_text(line) for part in parts) and (
            place := _in_row(parts, FoldedText(line))
        ):
            return QuotePlace(tuple(TextSpan(at + one.start, at + one.end) for one in place.parts))
        at += len(line) + 1
    return None


def _in_row(parts: Sequence[str], row: FoldedText) -> QuotePlace | None:
    spans, at = list[TextSpan](), 0
    for part in parts:
        begun = next(_starts(part, row, _is_cell, at), None)
        if begun is None:
            return None
        at = begun + len(part)
        spans.append(row.span(begun, at))
    return QuotePlace(tuple(spans))


def _is_cell(row: FoldedText, start: int, end: int) -> bool:
    before, after = row.text[:start], row.text[end:]
    begins = not before or before.endswith(("; ", "| ")) or re.fullmatch(r"Row \d+: ", before)
    ends = not after or after.startswith((";", " |")) or (after[0] == ":" and re.fullmatch(r"Row \d+", row.text[:end]))
    return bool(begins and ends)


def omitted_words(quote: str, source: FoldedText) -> str:
    """Return the words that an ellipsis of the quote must not leave out; empty if there are none."""
    place = None if quote_problem(quote) else reused_quote(quote, source, _is_uncut)
    return _unsafe_omission(place, source) if place else ""


def _unsafe_omission(place: QuotePlace, source: FoldedText) -> str:
    """Return words between two parts that are fewer than FEWEST_LEFT_OUT or contain a negation."""
    for one, other in pairwise(place.parts):
        between = " ".join(source.original[one.end : other.start].split())
        words = len(_WORD.findall(fold_text(between)))
        if 0 < words < FEWEST_LEFT_OUT or _NEGATION.search(fold_text(between).casefold()):
            return between
    return ""


def reused_quote(quote: str, source: FoldedText, fits: QuoteFits = lambda *_: True) -> QuotePlace | None:
    """Find a quote by the rule of older records, which lacks the newer refusals: old records must stay verifiable."""
    if _malformed(quote):
        return None
    # the source itself may contain the ellipsis
    return _place([fold_text(quote).strip()], source, fits) or _place(_parts(quote), source, fits)


def _parts(quote: str) -> list[str]:
    return [part for part in (fold_text(one).strip() for one in _ELLIPSIS.split(quote)) if part]


def _place(parts: Sequence[str], source: FoldedText, fits: QuoteFits) -> QuotePlace | None:
    """Find the parts in order, each at most GAP_CHARACTERS after the one before."""
    if not parts:
        return None
    for start in _starts(parts[0], source, fits):
        spans, at = [source.span(start, start + len(parts[0]))], start + len(parts[0])
        for part in parts[1:]:
            begun = next(_starts(part, source, fits, at, at + GAP_CHARACTERS), None)
            if begun is None:
                if next(_starts(part, source, fits, at), None) is None:
                    return None  # the part does not follow at all, so a later start does not help
                break
            at = begun + len(part)
            spans.append(source.span(begun, at))
        else:
            return QuotePlace(tuple(spans))
    return None


def _starts(part: str, source: FoldedText, fits: QuoteFits, after: int = 0, before: int | None = None) -> Iterator[int]:
    """Yield the starts of a part as whole words, between `after` and `before`."""
    text = source.text
    last = len(text) if before is None else before + len(part)
    at = text.find(part, after, last)
    while at >= 0:
        if _is_whole(text, at, at + len(part)) and fits(source, at, at + len(part)):
            yield at
        at = text.find(part, at + 1, last)


def _is_whole(text: str, start: int, end: int) -> bool:
    """Tell whether a range consists of whole words and numbers, and does not cut off a minus."""
    if _is_cut(text, start) or _is_cut(text, end):
        return False
    return not (text[start].isdigit() and _MINUS.search(text[max(start - 2, 0) : start]))


def _is_cut(text: str, at: int) -> bool:
    """Tell whether a position is within a word or a number."""
    if at and _WITHIN_A_WORD.fullmatch(text[at - 1 : at + 1]):
        return True
    around, here = text[max(at - 2, 0) : at + 2], min(at, 2)
    return any(found.start() < here < found.end() for found in _NUMBER.finditer(around))


def _superscripts(text: str) -> list[str]:
    """Return digits next to superscript or subscript digits: folding turns 10\u2076 into 106."""
    return _RAISED_AT.findall(re.sub(f"[{_GONE}]", "", text))


def _is_uncut(source: FoldedText, start: int, end: int) -> bool:
    """Tell whether a range cuts no word, number or sign, by the checks that the rule of older records lacks."""
    text = source.text
    if any(_is_joined(source, at) for at in (start, end)) or text.startswith(_NEGATES_NEXT, max(start - 1, 0), start):
        return False
    return not (_FIGURE_FIRST.match(text, start) and _is_signed(source, start))


def _is_joined(source: FoldedText, at: int) -> bool:
    text = source.text
    if not 0 < at < len(text):
        return False
    marks = [unicodedata.category(sign).startswith("M") for sign in text[at - 1 : at + 1]]
    if marks[1] or (marks[0] and text[at].isalpha() and not re.match(f"[{_ALONE}]", text[at])):
        return True
    first = max(at - 12, 0)
    around, here = text[first : at + 12], at - first
    if any(found.start() < here < found.end() for found in _THOUSANDS.finditer(around)):
        return True
    return any(_JOINS.match(text, sign) or _is_hyphen(source, sign) for sign in (at - 1, at))


def _is_hyphen(source: FoldedText, at: int) -> bool:
    """Tell whether the character is a hyphen within a word, and no dash between two words."""
    around = source.text[max(at - 1, 0) : at + 2]
    if not re.fullmatch(r"\w-\w", around):
        return False
    return source.original[source.span(at, at + 1).start] in _HYPHENS


def _is_signed(source: FoldedText, start: int) -> bool:
    """Tell whether the number that starts here has a sign. A dash with a space after it is a sign only if it is
    U+2212."""
    before = source.text[max(start - 4, 0) : start]
    found = _SIGNED.search(before)
    if not found or "-" not in found[0]:
        return bool(found)
    at = start - len(before) + before.rindex("-")
    return not (found[1] or found[2]) or source.original[source.span(at, at + 1).start] == _MINUS_SIGN


# ---- near misses ------------------------------------------------------------------------------------------


def nearest(quote: str, source: FoldedText) -> str:
    """Return the words of the source that are most similar to a quote that is not in it; empty if none are."""
    wanted = fold_text(quote).strip()
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)
    best, found = NEAR_SIMILARITY, ""
    for start in _near(wanted, source.text):
        window = source.text[start : start + len(wanted)]
        matcher.set_seq1(window)
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and (alike := matcher.ratio()) > best:
            best, found = alike, _original_words(source, start, start + len(window))
    return found


def _near(wanted: str, text: str) -> Iterator[int]:
    """Yield possible starts of a wrong quote, from the first places of its longest words."""
    words = sorted({found[0]: found.start() for found in _WORD.finditer(wanted)}.items(), key=lambda one: -len(one[0]))
    for word, offset in words[:ANCHORS]:
        for at in islice(re.finditer(re.escape(word), text), PLACES_OF_ONE):
            yield max(at.start() - offset, 0)


def _original_words(source: FoldedText, start: int, end: int) -> str:
    """Return the original text of a range, widened to whole words."""
    while start and not source.text[start - 1].isspace():
        start -= 1
    while end < len(source.text) and not source.text[end].isspace():
        end += 1
    span = source.span(start, end)
    return " ".join(source.original[span.start : span.end].split())


# ---- numbers ----------------------------------------------------------------------------------------------


def numbers(text: str) -> list[str]:
    """Return the numbers in a text, without thousands separators."""
    return [_plain(found[0]) for found in _NUMBER_ALONE.finditer(fold_text(text))]


def _plain(number: str) -> str:
    """Normalise a number: 1,000 and 1.000,5 become 1000 and 1000.5. A separator before exactly three digits is taken
    for one of thousands."""
    head, sign, tail = re.fullmatch(r"(.*?)(?:([.,])(\d+))?", number).groups()  # type: ignore[union-attr]
    digits = re.sub(r"[.,]", "", head)
    if sign is None:
        return digits
    return digits + tail if len(tail) == 3 and digits != "0" else f"{digits}.{tail}"


_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)(?<!\w)[^\W\d_]*[A-ZÀ-ÞΑ-ΩА-Я][\w]*", re.MULTILINE)


_CODE_NAME = re.compile(
    r"\b(?=\w*[^\W\d_])(?:\w+[A-ZÀ-ÞΑ-ΩА-Я]\w*|\w*[^\W\d_]\d\w*)\b"
)  # as in ISO, N12, eur7000 and McKay
_IN_WORDS = re.compile(  # numbers that are written out, twenty and above
    r"\b\w*(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|billion|zwanzig"
    r"|drei\u00dfig|vierzig|f\u00fcnfzig|sechzig|siebzig|achtzig|neunzig|hundert|tausend|milliard)\w*\b",
    re.IGNORECASE,
)
_OF_NOUNS = re.compile(r"\b(?:der|die|das|und|ist|nicht|ein|eine|von|wird|für|mit|darf)\b")
ENDING, SHORTEST = 2, 3  # letters: longest ending, and shortest stem without it
OF_NOUNS = 2  # this many of these words: the text is German, where all nouns have a capital


def unknown_names(text: str, support: Sequence[str]) -> list[str]:
    """Return the names in a text that are in none of the supporting texts.

    Names are words with a capital that do not begin a sentence, words with a capital or a digit inside, and numbers
    that are written out. In German, where all nouns have a capital, words that only begin with one do not count.
    """
    known_text, lines = fold_text(" ".join(support)).casefold(), [fold_text(line) for line in text.splitlines()]
    nouns = len(set(_OF_NOUNS.findall(f"{known_text} {fold_text(text).casefold()}"))) >= OF_NOUNS
    found = (
        name
        for line in lines
        for name in ([] if nouns else _NAME.findall(line)) + _CODE_NAME.findall(line) + _IN_WORDS.findall(line)
    )
    known = set(re.findall(r"\w+", known_text))
    return [name for name in dict.fromkeys(found) if not _is_known(name.casefold(), known)]


def _is_known(name: str, known: Collection[str]) -> bool:
    """Tell whether a name is known, also with an ending of up to two letters more or less: "pumps" is known from
    "pump", but "ISO" not from "isolation". A digit is no ending: "N12" is not known from "N1"."""
    if name in known or not name.isalpha():
        return name in known
    longer = any(one.startswith(name) and len(one) - len(name) <= ENDING for one in known)
    return longer or any(name[:-cut] in known for cut in range(1, ENDING + 1) if len(name) - cut >= SHORTEST)


def unsupported(text: str, support: Sequence[str]) -> list[str]:
    """Return the numbers in a text that are in none of the supporting texts."""
    known = {number for one in support for number in numbers(one)}
    return [number for number in dict.fromkeys(numbers(text)) if number not in known]
