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
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath

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
DELIMITERS = ",;\t|"
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
    known = KINDS.get(PurePosixPath(name).suffix.lower(), DocumentKind.TEXT)
    return _document(name, DocumentKind.PDF if data.startswith(b"%PDF-") else known, data, limits, until)


def pasted(title: str, text: str, limits: DocumentLimits) -> NewDocument:
    """What somebody typed or pasted, in place of a file."""
    return _document(title, DocumentKind.TEXT, _keepable(text).encode(), limits)


def _document(
    title: str, kind: DocumentKind, data: bytes, limits: DocumentLimits, until: float = math.inf
) -> NewDocument:
    title = _keepable(title)
    shown = _shown(title)
    refuse_size(title, len(data), limits)
    lines = tuple(_without_gaps(piece for line in LINES[kind](shown, data, until) for piece in lines_of(line)))
    if not lines:
        raise UnreadableDocument(f"{shown} is empty. Leave it out, or attach what it should have been.")
    return NewDocument(_cut(title, TITLE_LENGTH), kind, lines, sha256(data).hexdigest())


def refuse_size(title: str, size: int, limits: DocumentLimits) -> None:
    """UnreadableDocument for a file with so many bytes, whatever is in it."""
    if size > limits.size:
        sizes = f"{size / MEGABYTE:,.1f} MB, and {limits.size / MEGABYTE:g} MB are the most"
        raise UnreadableDocument(f"{_shown(title)} has {sizes}. Attach the part that matters.")


def _shown(title: str) -> str:
    return _cut(_keepable(title), NAMED) or "A document without a name"


# ---- what there is in a file ------------------------------------------------------------------------------


def _lines_of_text(shown: str, data: bytes, until: float) -> list[str]:
    return _text(shown, data).splitlines()


def _text(shown: str, data: bytes) -> str:
    if b"\0" in data:
        raise UnreadableDocument(f"{shown} is neither text nor a PDF. Save it as one of these and attach that.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableDocument(f"{shown} is not in UTF-8. Save it in UTF-8 and attach that.") from error


def _lines_of_csv(shown: str, data: bytes, until: float) -> Iterator[str]:
    """A line for each record, whatever stands in its cells."""
    text = _text(shown, data)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    try:
        for row in rows:
            yield CELLS_APART.join(" ".join(cell.split()) for cell in row)
    except csv.Error as error:
        said = f"{shown} cannot be read as CSV: in line {rows.line_num}, {error}"
        raise UnreadableDocument(f"{said}. Correct it, or attach it as text.") from error


def _delimiter(text: str) -> str:
    """That of the four which the first line has most often; of a file with one column, the comma."""
    found = Counter(text.partition("\n")[0])
    return max(DELIMITERS, key=lambda delimiter: found[delimiter])


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
    "encrypted": "is encrypted. Save it without a password and attach that.",
    "pages": "has more than 200 pages. Attach those that matter.",
    "characters": "has more text than can be read. Attach the pages that matter.",
}
PICTURES = "has no text, only pictures. Let a program for text recognition (OCR) read it and attach what that says."
PAGE_OF_PICTURES = "(Page {} has no text that could be read.)"


def _lines_of_pdf(shown: str, data: bytes, until: float) -> Iterator[str]:
    """Page after page, with an empty line between. A page without text is said to be there."""
    try:
        found = json.loads(child.run(PDF, data, until=until))
    except child.Stopped as stopped:
        late = time.monotonic() >= until
        raise UnreadableDocument(f"{shown} {LATE if late else STOPPED[type(stopped)]}") from stopped
    if "refused" in found:
        raise UnreadableDocument(f"{shown} {REFUSED[found['refused']]}")
    pages = [_keepable(page) for page in found["pages"]]
    if not any(page.strip() for page in pages):
        raise UnreadableDocument(f"{shown} {PICTURES}")
    for number, page in enumerate(pages, 1):
        yield from page.splitlines() if page.strip() else [PAGE_OF_PICTURES.format(number)]
        yield ""


LINES: Mapping[DocumentKind, Callable[[str, bytes, float], Iterable[str]]] = {
    DocumentKind.TEXT: _lines_of_text,
    DocumentKind.MARKDOWN: _lines_of_text,
    DocumentKind.CSV: _lines_of_csv,
    DocumentKind.PDF: _lines_of_pdf,
}


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
