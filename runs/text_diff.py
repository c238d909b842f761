"""What was amended from one text to another, as people read it: whole words, and long unchanged stretches folded."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from typing import Literal

Kind = Literal["same", "added", "removed", "folded"]

LINES = r"[^\n]*\n|[^\n]+"
SENTENCES = r".+?(?:[.!?…]\s+|$)"
# the marks at the end of a word stand for themselves; no quantifier is possessive, for Python 3.11.2 gets those wrong
WORDS = r"\s+|[.,;:!?]+(?=\s|$)|(?:[.,;:!?]*[^\s.,;:!?]+)+"
LEVELS = (LINES, SENTENCES, WORDS)
MOST_PAIRS = 1_000_000  # parts on one side times parts on the other: more would take too long to compare
MIN_SIMILARITY = 0.4  # below this share of common words a sentence was written anew, and reads better whole
FOLD_FROM = 400  # characters that stay the same
CONTEXT = 120  # of them are shown beside a change


@dataclass(frozen=True)
class TextPiece:
    kind: Kind
    text: str

    @property
    def length(self) -> str:
        return f"{len(self.text):,}"


@dataclass(frozen=True)
class TextAmendment:
    """One text that differs: its name and what became of it."""

    name: str
    pieces: tuple[TextPiece, ...]


def text_amendments(before: Mapping[str, str], after: Mapping[str, str]) -> list[TextAmendment]:
    """Those of the named texts that differ, in the order of `after`."""
    return [
        TextAmendment(name, tuple(compare_texts(before.get(name, ""), text)))
        for name, text in after.items()
        if text != before.get(name, "")
    ]


def compare_texts(before: str, after: str) -> list[TextPiece]:
    """The way from one text to the other. Without what was added it reads as before, without what was removed as
    after."""
    pieces = _merged(_whole_phrases(_merged(_compare(before, after, LEVELS))))
    last = len(pieces) - 1
    return [part for index, piece in enumerate(pieces) for part in _fold(piece, index == 0, index == last)]


def _compare(before: str, after: str, levels: tuple[str, ...]) -> Iterator[TextPiece]:
    """Lines first; inside those that differ sentences, inside those words."""
    if not (before and after and levels):
        yield from _replaced(before, after)
        return
    old, new = (re.findall(levels[0], text, re.DOTALL) for text in (before, after))
    begin, end = _common_ends(old, new)
    yield TextPiece("same", "".join(old[:begin]))
    yield from _compare_between(old[begin : len(old) - end], new[begin : len(new) - end], levels)
    yield TextPiece("same", "".join(old[len(old) - end :]))


def _common_ends(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many parts both begin with, and how many both end with."""
    begin = _common_beginning(old, new)
    return begin, _common_beginning(old[begin:][::-1], new[begin:][::-1])


def _common_beginning(old: list[str], new: list[str]) -> int:
    differing = (index for index, (was, became) in enumerate(zip(old, new, strict=False)) if was != became)
    return next(differing, min(len(old), len(new)))


def _compare_between(old: list[str], new: list[str], levels: tuple[str, ...]) -> Iterator[TextPiece]:
    matcher = SequenceMatcher(_is_wordless, old, new)
    if len(old) * len(new) > MOST_PAIRS or (levels[0] == WORDS and _alike(matcher, old, new) < MIN_SIMILARITY):
        yield from _replaced("".join(old), "".join(new))
        return
    for what, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        was, became = "".join(old[old_from:old_to]), "".join(new[new_from:new_to])
        if what == "equal":
            yield TextPiece("same", was)
        else:
            yield from _compare(was, became, levels[1:])


def _alike(matcher: SequenceMatcher, old: list[str], new: list[str]) -> float:
    """The share of words that both have, in the same order. Spaces do not count: all are alike."""
    blocks = [old[block.a : block.a + block.size] for block in matcher.get_matching_blocks()]
    common = sum(not _is_wordless(part) for block in blocks for part in block)
    return 2 * common / max(1, sum(not _is_wordless(part) for part in (*old, *new)))


def _is_wordless(part: str) -> bool:
    return not any(char.isalnum() for char in part)


def _replaced(before: str, after: str) -> Iterator[TextPiece]:
    if before:
        yield TextPiece("removed", before)
    if after:
        yield TextPiece("added", after)


def _whole_phrases(pieces: list[TextPiece]) -> Iterator[TextPiece]:
    """A lone space between two changes belongs to both: phrases read better than words that take turns."""
    for index, piece in enumerate(pieces):
        between = 0 < index < len(pieces) - 1
        if between and piece.kind == "same" and piece.text.isspace() and "\n" not in piece.text:
            yield from _replaced(piece.text, piece.text)
        else:
            yield piece


def _merged(pieces: Iterable[TextPiece]) -> list[TextPiece]:
    """Neighbours of one kind as one; between two stretches that stay, first all that went, then all that came."""
    merged: list[TextPiece] = []
    for same, group in groupby(pieces, key=lambda piece: piece.kind == "same"):
        parts = list(group)
        kinds: tuple[Kind, ...] = ("same",) if same else ("removed", "added")
        for kind in kinds:
            text = "".join(part.text for part in parts if part.kind == kind)
            if text:
                merged.append(TextPiece(kind, text))
    return merged


def _fold(piece: TextPiece, first: bool, last: bool) -> Iterator[TextPiece]:
    """Of what stays the same, only what stands beside a change; cut between words."""
    if piece.kind != "same" or len(piece.text) < FOLD_FROM:
        yield piece
        return
    start = 0 if first else _next_space(piece.text, CONTEXT)
    end = len(piece.text) if last else piece.text.rfind(" ", start, len(piece.text) - CONTEXT) + 1 or start
    text = piece.text
    parts = (TextPiece("same", text[:start]), TextPiece("folded", text[start:end]), TextPiece("same", text[end:]))
    yield from (part for part in parts if part.text)


def _next_space(text: str, start: int) -> int:
    found = re.compile(r"\s").search(text, start)
    return found.end() if found else start
