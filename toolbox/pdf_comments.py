"""Comments and marks on a page of a PDF, as lines. Part of `pdf_text.py`, which runs in a limited process."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import cast

from pypdf import PageObject
from pypdf.generic import DictionaryObject, EncodedStreamObject, StreamObject

from toolbox import pdf_signs
from toolbox.pdf_objects import DEEPEST, Box, box, is_seen, listed, mapping, numbers, order, resolved, words
from toolbox.pdf_struck import RuledLine, struck

MARKED = {
    "Highlight": "Highlighted",
    "StrikeOut": "Struck out",
    "Underline": "Underlined",
    "Squiggly": "Underlined",
    "Redact": "Marked to be blacked out",
}
DRAWN = {
    "Circle": "an ellipse",
    "Ink": "a drawing by hand",
    "Line": "a line",
    "Polygon": "a shape",
    "PolyLine": "a line",
    "Square": "a rectangle",
}
WRITTEN = {"FreeText": "Text box", "Stamp": "Stamp", "Watermark": "Watermark"}
LONGEST = 2_000  # characters of a marked passage
HIDDEN = "({} that nobody sees on this page {} left out.)"
TAG = re.compile(r"<[^>]*>")


class Comments:
    """Comments of one page."""

    def __init__(self, page: PageObject, annotations: Sequence[DictionaryObject]):
        self._page = page
        self._all = [one for one in annotations if _kind(one) in KINDS]
        self._answers: dict[int, list[DictionaryObject]] = {}
        for one in self._all:
            if above := mapping(one.get("/IRT")):
                self._answers.setdefault(id(above), []).append(one)

    def lines(self) -> list[str]:
        """Return the comments from top to bottom, each followed by its replies."""
        known = {id(one) for one in self._all}
        begun = [one for one in self._all if id(mapping(one.get("/IRT"))) not in known]
        found = [line for one in sorted(begun, key=order) for line in self._thread(one, 0)]
        unseen = sum(not is_seen(one) for one in self._all)
        counted = (f"{unseen} comment{'s' * (unseen > 1)}", "were" if unseen > 1 else "was")
        return [*found, *([HIDDEN.format(*counted)] if unseen else [])]

    def struck(self, rules: Sequence[RuledLine]) -> list[str]:
        """Return lines for text that the page's own drawing strikes out."""
        passages = struck(rules, self._signs) if rules else ()
        return [f"{MARKED['StrikeOut']}: {''.join(self._told(passage))}" for passage in passages]

    def _thread(self, one: DictionaryObject, depth: int) -> Iterator[str]:
        if is_seen(one):
            yield from self._said(one)
        for answer in self._answers.get(id(one), ()) if depth < DEEPEST else ():
            yield from self._thread(answer, depth + 1)

    def _said(self, one: DictionaryObject) -> Iterator[str]:
        kind, by, text = _kind(one), _by(one), _contents(one)
        if kind in WRITTEN:
            text = text if kind == "FreeText" and text else self._drawn(one) or text
            yield f"{WRITTEN[kind]}{by and f' by {by}'}: {text or _name(one) or 'without a text'}"
        elif kind == "Caret":
            said = f"“{text}”" if text else "a place alone is marked"
            yield f"To be inserted: {said}{self._near(one)}{by and f' (by {by})'}"
        else:
            passage, shown = self._marked(one)
            yield from [f"{shown}{by and f' (by {by})'}"] if shown else []
            if text and not _same(text, passage):
                yield f"{_what(one)}{by and f' by {by}'}: {text}"

    def _marked(self, one: DictionaryObject) -> tuple[str, str]:
        """Return the marked text, if any, and the line that describes the mark."""
        kind = _kind(one)
        if kind == "FileAttachment":
            return _file(one), f"Attached file, which is not read: “{_file(one)}”"
        if kind in MARKED:
            passage, line = self._passage(one)
            return passage, f"{MARKED[kind]}: {passage}{line}"
        if kind in DRAWN:
            passage, _ = self._passage(one)
            return passage, f"Drawn on the page: {DRAWN[kind]} at {passage}"
        return "", ""

    @cached_property
    def _signs(self) -> list[pdf_signs.Sign]:
        return pdf_signs.signs_of(self._page)

    def _passage(self, one: DictionaryObject) -> tuple[str, str]:
        """Return the marked text, and its line if that has more text."""
        return self._told(pdf_signs.within(self._signs, _places(one)))

    def _told(self, marked: Sequence[pdf_signs.Sign]) -> tuple[str, str]:
        text = pdf_signs.text_of(marked)
        if not text:
            return "a place without text", ""
        line = pdf_signs.line_around(self._signs, marked)
        shown = text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
        return f"“{shown}”", "" if line in text else f" in “{line}”"

    def _near(self, one: DictionaryObject) -> str:
        """Return the line that a caret points to. Its rectangle is below that line, so the search is wider."""
        left, bottom, right, top = box(numbers(one.get("/Rect"))) or (0.0, 0.0, 0.0, 0.0)
        wide = 40.0
        near = pdf_signs.within(self._signs, [(left - wide, bottom - 2, right + wide, top + 6)])
        return f" in “{pdf_signs.line_around(self._signs, near)}”" if near else ""

    def _drawn(self, one: DictionaryObject) -> str:
        drawn = mapping(mapping(one.get("/AP")).get("/N"))
        return _of_form(self._page, drawn) if isinstance(drawn, StreamObject) else ""


KINDS = frozenset((*MARKED, *DRAWN, *WRITTEN, "Text", "Caret", "FileAttachment"))


def _of_form(page: PageObject, drawn: StreamObject) -> str:
    return " ".join(page.extract_xform_text(cast(EncodedStreamObject, drawn)).split())


def _kind(one: DictionaryObject) -> str:
    return words(one.get("/Subtype"))


def _by(one: DictionaryObject) -> str:
    return words(one.get("/T"))


def _name(one: DictionaryObject) -> str:
    """Return the name of a stamp as words; names are such as /SBApproved or /#DraftStamp."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", words(one.get("/Name")).removeprefix("SB").strip("#"))


def _contents(one: DictionaryObject) -> str:
    return words(one.get("/Contents")) or " ".join(TAG.sub(" ", words(one.get("/RC"))).split())


def _what(one: DictionaryObject) -> str:
    if state := words(one.get("/State")):
        return f"Marked as “{state}”"
    return "Answer" if mapping(one.get("/IRT")) else "Comment"


def _file(one: DictionaryObject) -> str:
    described = mapping(one.get("/FS"))
    return words(described.get("/UF")) or words(described.get("/F")) or words(one.get("/FS")) or "without a name"


def _places(one: DictionaryObject) -> list[Box]:
    corners = numbers(one.get("/QuadPoints"))
    found = [box(corners[at : at + 8]) for at in range(0, len(corners) - 7, 8)] or [box(numbers(one.get("/Rect")))]
    return [place for place in found if place]


def _same(text: str, passage: str) -> bool:
    """Tell whether a comment only repeats the marked text, as some programs write it."""
    return "".join(text.split()) == "".join(passage.strip("“”").split())


def annotations_of(page: PageObject) -> list[DictionaryObject]:
    found: Iterable[object] = map(resolved, listed(page.get("/Annots")))
    return [one for one in found if isinstance(one, DictionaryObject)]
