"""Differences between two texts for people: whole words, with long unchanged passages collapsed."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from typing import Literal

Kind = Literal["same", "added", "removed", "folded"]

LINES = r"[^\n]*\n|[^\n]+"
SENTENCES = r".+?(?:[.!?…]\s+|$)"
# punctuation at the end of a word is its own part; no possessive quantifiers, since Python 3.11.2 mishandles them
WORDS = r"\s+|[.,;:!?]+(?=\s|$)|(?:[.,;:!?]*[^\s.,;:!?]+)+"
LEVELS = (LINES, SENTENCES, WORDS)
MOST_PAIRS = 1_000_000  # product of the numbers of parts on both sides; more would take too long
MIN_SIMILARITY = 0.4  # below this share of common words a sentence is shown as replaced, which reads better
FOLD_FROM = 400  # unchanged characters from which on a passage is collapsed
CONTEXT = 120  # of them are shown next to a change


@dataclass(frozen=True)
class TextPiece:
    kind: Kind
    text: str

    @property
    def length(self) -> str:
        return f"{len(self.text):,}"


@dataclass(frozen=True)
class TextAmendment:
    """A text that differs: its name and its pieces."""

    name: str
    pieces: tuple[TextPiece, ...]


def text_amendments(before: Mapping[str, str], after: Mapping[str, str]) -> list[TextAmendment]:
    """Return the named texts that differ, in the order of `after`."""
    return [
        TextAmendment(name, tuple(compare_texts(before.get(name, ""), text)))
        for name, text in after.items()
        if text != before.get(name, "")
    ]


def compare_texts(before: str, after: str) -> list[TextPiece]:
    """Return the pieces of both texts: without the added ones they form `before`, without the removed ones `after`."""
    pieces = _merged(_whole_phrases(_merged(_compare(before, after, LEVELS))))
    last = len(pieces) - 1
    return [part for index, piece in enumerate(pieces) for part in _fold(piece, index == 0, index == last)]


def _compare(before: str, after: str, levels: tuple[str, ...]) -> Iterator[TextPiece]:
    """Compare lines, then sentences in lines that differ, then words in those."""
    if not (before and after and levels):
        yield from _replaced(before, after)
        return
    old, new = (re.findall(levels[0], text, re.DOTALL) for text in (before, after))
    begin, end = _common_ends(old, new)
    yield TextPiece("same", "".join(old[:begin]))
    yield from _compare_between(old[begin : len(old) - end], new[begin : len(new) - end], levels)
    yield TextPiece("same", "".join(old[len(old) - end :]))


def _common_ends(old: list[str], new: list[str]) -> tuple[int, int]:
    """Return the numbers of common parts at the beginning and at the end."""
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
    """Return the share of common words in the same order. Spaces are ignored, since all are equal."""
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
    """Treat a single space between two changes as changed: phrases read better than alternating words."""
    for index, piece in enumerate(pieces):
        between = 0 < index < len(pieces) - 1
        if between and piece.kind == "same" and piece.text.isspace() and "\n" not in piece.text:
            yield from _replaced(piece.text, piece.text)
        else:
            yield piece


def _merged(pieces: Iterable[TextPiece]) -> list[TextPiece]:
    """Merge adjacent pieces of one kind; between unchanged passages, all removals come before all additions."""
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
    """Keep only the parts of an unchanged passage that are next to a change, cut between words."""
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
