"""Files that people attach, as lines that models and people can read and cite: text, Markdown, CSV, PDF.

Why so: docs/decisions.md, Documents.
"""

import csv
import io
import json
import math
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from engine.decoding import Decoded, UnknownEncoding, decoded
from engine.models import DocumentLimits, NewDocument
from engine.models.documents import LINE_LENGTH, TITLE_LENGTH, DocumentKind

from . import child

PDF = Path(__file__).with_name("pdf.py")
KINDS = {
    ".pdf": DocumentKind.PDF,
    ".csv": DocumentKind.CSV,
    ".tsv": DocumentKind.CSV,
    ".md": DocumentKind.MARKDOWN,
    ".markdown": DocumentKind.MARKDOWN,
}
DELIMITERS = "\t;|,"
LOOKED_AT, REGULAR = 200, 0.8  # records, and how many of them may not have the usual number of cells
SEPARATOR = re.compile(r"\A\"?sep=([,;|\t])\"?[ \t]*\r?\n", re.IGNORECASE)  # a first line for spreadsheets
CELLS_APART = " | "
UNKEEPABLE = re.compile("[\0\ud800-\udfff]")  # no database takes these
PIECE = re.compile(rf".{{1,{LINE_LENGTH}}}(?:\s+|$)|.{{{LINE_LENGTH}}}")
NAMED = 60  # characters of a file's name in a sentence
MEGABYTE = 2**20


class UnreadableDocument(ValueError):
    """Why a file cannot be attached, in a sentence that names it and says what to do."""


def read(name: str, data: bytes, limits: DocumentLimits, until: float = math.inf) -> NewDocument:
    """A file as it came. UnreadableDocument where it cannot be read, also for want of time: what takes long is ended
    `until` then by `time.monotonic`."""
    name = PurePosixPath(name.replace("\\", "/")).name
    kind = KINDS.get(PurePosixPath(name).suffix.lower(), DocumentKind.TEXT)
    refuse_size(name, len(data), limits)
    if kind == DocumentKind.PDF or data.startswith(b"%PDF-"):
        return _document(name, DocumentKind.PDF, _lines_of_pdf(_shown(name), data, until), data)
    text = _text(_shown(name), data)
    lines = _lines_of_csv(_shown(name), text.text) if kind == DocumentKind.CSV else text.text.splitlines()
    # said where everybody sees it, and in no line: those are what the file says
    named = f"{_cut(name, TITLE_LENGTH - 20)} ({text.converted_from})" if text.converted_from else name
    return _document(named, kind, lines, data)


def pasted(title: str, text: str, limits: DocumentLimits) -> NewDocument:
    """What somebody typed or pasted, in place of a file."""
    data = _keepable(text).encode()
    refuse_size(title, len(data), limits)
    return _document(title, DocumentKind.TEXT, _keepable(text).removeprefix("\ufeff").splitlines(), data)


def _document(title: str, kind: DocumentKind, found: Iterable[str], data: bytes) -> NewDocument:
    lines = tuple(_without_gaps(piece for line in found for piece in lines_of(line)))
    if not lines:
        raise UnreadableDocument(f"{_shown(title)} is empty. Leave it out, or attach what it should have been.")
    return NewDocument(_cut(_keepable(title), TITLE_LENGTH), kind, lines, sha256(data).hexdigest())


def refuse_size(title: str, size: int, limits: DocumentLimits) -> None:
    """UnreadableDocument for a file with so many bytes, whatever is in it."""
    if size > limits.size:
        sizes = f"{size / MEGABYTE:,.1f} MB, and {limits.size / MEGABYTE:g} MB are the most"
        raise UnreadableDocument(f"{_shown(title)} has {sizes}. Attach the part that matters.")


def _shown(title: str) -> str:
    return _cut(_keepable(title), NAMED) or "A document without a name"


# ---- what there is in a file ------------------------------------------------------------------------------


def _text(shown: str, data: bytes) -> Decoded:
    try:
        return decoded(data)
    except UnknownEncoding as error:
        binary = "is neither text in UTF-8 nor a PDF. Save it as one of these and attach that."
        raise UnreadableDocument(f"{shown} {binary if bytes(1) in data else error}") from error


def _lines_of_csv(shown: str, text: str) -> Iterator[str]:
    """A line for each record, whatever stands in its cells."""
    rows = csv.reader(io.StringIO(SEPARATOR.sub("", text), newline=""), **_dialect(text))
    try:
        for row in rows:
            yield CELLS_APART.join(" ".join(cell.split()).replace(CELLS_APART, CELLS_APART.strip()) for cell in row)
    except csv.Error as error:
        said = f"{shown} cannot be read as CSV: in line {rows.line_num}, {error}"
        raise UnreadableDocument(f"{said}. Correct it, or attach it as text.") from error


def _dialect(text: str) -> dict[str, Any]:
    """How most of the first records have the same number of cells, as that of the columns: amounts with a decimal comma
    are no two cells. Where several ways are as good, the comma is the last: it is in amounts and names, too."""
    if said := SEPARATOR.match(text):
        return {"delimiter": said[1], "strict": True, "skipinitialspace": True}
    ways = [(delimiter, skips) for skips in (True, False) for delimiter in DELIMITERS]
    delimiter, skips = max(ways, key=lambda way: _regularity(text, *way))  # the first of equals
    return {"delimiter": delimiter, "strict": True, "skipinitialspace": skips}


def _regularity(text: str, delimiter: str, skips: bool) -> tuple[int, bool, bool, int]:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=skips)
    try:
        widths = [len(row) for row in islice(rows, LOOKED_AT) if row]
    except csv.Error:
        return -1, False, False, text.partition("\n")[0].count(delimiter)
    found = Counter(widths)
    usual = max(sorted(found, reverse=True), key=lambda width: found[width], default=1)
    if usual == 1:  # lines, in which it stands now and then
        return 0, False, False, len(widths) - sum(widths)
    return 2, widths[0] == usual, found[usual] >= len(widths) * REGULAR, 0


# ---- PDF --------------------------------------------------------------------------------------------------


ANOTHER = "Save it anew from the program that made it, or attach its text."
STOPPED: Mapping[type[child.Stopped], str] = {
    child.NoPlace: "was not read: too much else is being read just now. Attach it again in a minute.",
    child.OutOfTime: f"takes too long to read. {ANOTHER}",
    child.OutOfMemory: f"unpacks to more than can be read. {ANOTHER}",
    child.Broken: f"is broken. {ANOTHER}",
}
LATE = "was not read: those before it took the time that all have together. Attach it by itself."
REFUSED = {
    "encrypted": "asks for a password. Save it without one and attach that.",
    "pages": "has more than 200 pages. Attach those that matter.",
    "characters": "has more text than can be read. Attach the pages that matter.",
    "xfa": "is a form that Adobe's programs alone show. Print it to a PDF there and attach that.",
}
PICTURES = "has no text, only pictures. Let a program for text recognition (OCR) read it and attach what that says."
PAGE_OF_PICTURES = "(Page {} has no text that could be read.)"


def _lines_of_pdf(shown: str, data: bytes, until: float) -> Iterator[str]:
    """Page after page, each with what is filled in and written on it. A page without text is said to be there."""
    try:
        found = json.loads(child.run(PDF, data, until=until))
    except child.Stopped as stopped:
        late = time.monotonic() >= until
        raise UnreadableDocument(f"{shown} {LATE if late else STOPPED[type(stopped)]}") from stopped
    if "refused" in found:
        raise UnreadableDocument(f"{shown} {REFUSED[found['refused']]}")
    if not any(page["text"].strip() or page["on"] for page in found["pages"]):
        raise UnreadableDocument(f"{shown} {PICTURES}")
    for number, page in enumerate(found["pages"], 1):
        text = _keepable(page["text"])
        yield from text.splitlines() if text.strip() else [PAGE_OF_PICTURES.format(number)]
        yield ""
        yield from map(_keepable, page["on"])
        yield ""


# ---- lines ------------------------------------------------------------------------------------------------


def lines_of(line: str) -> list[str]:
    """A line as lines that are no longer than may be, broken between words where there are any."""
    line = line.rstrip()
    if len(line) <= LINE_LENGTH:
        return [line]
    return [piece for found in PIECE.finditer(line) if (piece := found[0].rstrip())]


def _without_gaps(lines: Iterable[str]) -> Iterator[str]:
    """Without empty lines at either end, and with one where several follow each other."""
    begun = gap = False
    for line in lines:
        if line:
            yield from [""] * (begun and gap)
            yield line
            begun = True
        gap = not line


def _keepable(text: str) -> str:
    return UNKEEPABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def _cut(text: str, length: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"
