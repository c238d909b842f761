"""Invisible characters and how they are shown: one definition for models, pages, terminals, logs and files.

Models get each as its JSON escape. People see a mark with its code point instead, except where it does its ordinary
work: joiners within emoji and within the scripts that need them. Stored texts stay unchanged; only shown ones have
marks.

Why so: engine/DESIGN.md, What models are told and asked.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby

# control, format, surrogate, private use, unassigned, line and paragraph separators
CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# letters, marks and a symbol that render as nothing although they are in none of these categories
BLANKS = {
    *"\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0",
    *map(chr, range(0xFE00, 0xFE10)),
    *map(chr, range(0xE0100, 0xE01F0)),
}
# signs of Arabic, Syriac and Kaithi that are rendered although their category is format
_DRAWN = set("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
_PICTURES = re.compile("[\U0001f000-\U0001faff\U0001fc00-\U0001fffd]")  # also those that are younger than our tables

_EMOJI = "©®‼⁉™ℹ\u2190-\u21ff\u2300-\u27bf\u2900-\u297f\u2b00-\u2bff〰〽㊗㊙\U0001f000-\U0001faff\U0001fc00-\U0001fffd"
_JOINING = "\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc"  # Arabic to Mongolian
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
_ORDINARY = re.compile(
    "|".join(
        [
            rf"(?<=[{_EMOJI}])[\ufe0e\ufe0f]",  # as a text or as a picture
            r"(?<=[0-9#*])\ufe0f(?=\u20e3)",  # on a key
            rf"(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])",
            # the flags of England, Scotland and Wales: any other word in such letters is a hiding place
            "(?<=\U0001f3f4)\U000e0067\U000e0062"
            "(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)\U000e007f",
            rf"(?<=[{_JOINING}])[\u200c\u200d]",
            rf"\u200c(?=[{_JOINING}])",
            rf"(?<=[{_UNSPACED}])\u200b(?=[{_UNSPACED}])",
            r"(?<=[\u1820-\u18aa])[\u180b-\u180f]",
            r"\r(?=\n)",
        ]
    )
)
_TAGS = re.compile("[\U000e0020-\U000e007e]+|[^\U000e0020-\U000e007e]+")
MAX_MARKS = 20  # kinds of hidden characters in a row


# ---- for models ------------------------------------------------------------------------------------------


def visible_json(value: object) -> str:
    """Return JSON on one line with format, tag, private use and separator characters escaped."""
    text = json.dumps(value, ensure_ascii=False)
    if text.isprintable():  # which all of these are not
        return text
    return "".join(escape_char(char) if unicodedata.category(char) in CATEGORIES else char for char in text)


def escape_char(char: str) -> str:
    return json.dumps(char)[1:-1]


# ---- for people ------------------------------------------------------------------------------------------


def visible_text(text: str) -> str:
    """Return the text with a mark in place of each invisible character. Line breaks and tabs stay."""
    return "".join(visible_mark(stretch) if hidden else stretch for hidden, stretch in invisible_spans(text))


def single_line(text: str) -> str:
    """As `visible_text`, on one line, for a log or a terminal."""
    return visible_text(re.sub(r"\r?\n", "↵", text.rstrip()).replace("\t", " "))


def invisible_spans(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the parts of the text, each with whether it is invisible; `visible_mark` shows the invisible ones."""
    if text.replace("\n", "").replace("\t", "").isprintable() and (text.isascii() or BLANKS.isdisjoint(text)):
        yield False, text
        return
    ordinary = {place for found in _ORDINARY.finditer(text) for place in range(*found.span())}
    chars = groupby(enumerate(text), key=lambda pair: pair[0] not in ordinary and is_invisible(pair[1]))
    for hidden, group in chars:
        stretch = "".join(char for _, char in group)
        yield from ((hidden, part) for part in (_TAGS.findall(stretch) if hidden else [stretch]))


def is_invisible(char: str) -> bool:
    """Whether the character is invisible on its own; next to others it may do its ordinary work."""
    if char in BLANKS:
        return True
    ordinary = char in "\n\t" or char in _DRAWN or _PICTURES.match(char)
    return not ordinary and unicodedata.category(char) in CATEGORIES


def visible_mark(hidden: str) -> str:
    """Return the mark for invisible characters: their code points, or the text that tag characters spell."""
    if "\U000e0020" <= hidden[0] <= "\U000e007e":
        return f"‹tags: {''.join(chr(ord(char) - 0xE0000) for char in hidden)}›"
    kinds = [(char, len(list(same))) for char, same in groupby(hidden)]
    numbers = [f"U+{ord(char):04X}" + (f" ×{times}" if times > 1 else "") for char, times in kinds[:MAX_MARKS]]
    more = sum(times for _, times in kinds[MAX_MARKS:])
    return f"‹{' '.join(numbers)}{f' and {more} more' if more else ''}›"


def character_name(hidden: str) -> str:
    """Return the Unicode name of the characters if they are all the same, otherwise their number."""
    if len(set(hidden)) == 1:
        return unicodedata.name(hidden[0], "a character without a name").lower()
    return f"{len(hidden)} characters that nobody sees"
