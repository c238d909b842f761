"""Reads attached files as lines that models and people can cite: text, Markdown, CSV, PDF, mails, HTML.

Why so: runs/DESIGN.md, Documents.
"""

import csv
import io
import math
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from engine.decoding import UnknownEncoding, decoded, encoding_named, no_encoding
from engine.models import DocumentLimits, NewDocument
from engine.models.documents import LINE_LENGTH, TITLE_LENGTH, DocumentKind

from .openers import UnreadableDocument, lines_of_html, lines_of_mail, lines_of_pdf

KINDS = {
    ".pdf": DocumentKind.PDF,
    ".csv": DocumentKind.CSV,
    ".tsv": DocumentKind.CSV,
    ".md": DocumentKind.MARKDOWN,
    ".markdown": DocumentKind.MARKDOWN,
}
MAILS, PAGES = (".eml", ".mht", ".mhtml"), (".html", ".htm", ".xhtml")
# `accept` attribute of file fields
READABLE = (
    ".txt,.text,.md,.markdown,.csv,.tsv,.pdf,.eml,.html,.htm,text/plain,text/markdown,text/csv,application/pdf,"
    "message/rfc822,text/html"
)
AS_CSV = "Save the sheet that matters as CSV (UTF-8) and attach that."
AS_PDF, AS_MAIL = "Save it as PDF and attach that.", "Save it as .eml, or as text, and attach that."
OTHERWISE = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers"), AS_CSV),
    **dict.fromkeys((".docx", ".doc", ".odt", ".rtf", ".pages", ".pptx", ".ppt", ".odp"), AS_PDF),
    ".msg": AS_MAIL,
}
DELIMITERS = "\t;|,"
LOOKED_AT, REGULAR = 200, 0.8  # records to detect the dialect; least share with the usual number of cells
SEPARATOR = re.compile(r"\A\"?sep=([,;|\t])\"?[ \t]*\r?\n", re.IGNORECASE)  # first line that Excel understands
CELLS_APART = " | "
UNSTORABLE = re.compile("[\0\ud800-\udfff]")  # databases refuse these
PIECE = re.compile(rf".{{1,{LINE_LENGTH}}}(?:\s+|$)|.{{{LINE_LENGTH}}}")
NAMED = 60  # characters of a file's name in a sentence
MEGABYTE = 2**20
TOGETHER = 20.0  # seconds for all files of one submission


def read_document(
    name: str, data: bytes, limits: DocumentLimits, until: float = math.inf, encoding: str = ""
) -> NewDocument:
    """Read a file. `until`: deadline by `time.monotonic`. `encoding`: of a text that does not state its own.

    Raises UnreadableDocument if the file cannot be read, or not in time.
    """
    name = PurePosixPath(name.replace("\\", "/")).name
    refuse_size(name, len(data), limits)
    if encoding and not encoding_named(encoding):
        raise UnreadableDocument(no_encoding(encoding))
    kind, lines, taken = _seen(name, data, until, encoding)
    # the encoding is named in the title, since the lines must be only what is in the file
    named = f"{_cut(name, TITLE_LENGTH - 20)} ({taken})" if taken else name
    return _document(named, kind, lines, data)


def _seen(name: str, data: bytes, until: float, encoding: str) -> tuple[DocumentKind, Iterable[str], str]:
    """Return the kind, the lines, and the encoding if it is not UTF-8."""
    ends, shown = PurePosixPath(name).suffix.lower(), _shown(name)
    kind = KINDS.get(ends, DocumentKind.TEXT)
    if kind == DocumentKind.PDF or data.startswith(b"%PDF-"):
        return DocumentKind.PDF, lines_of_pdf(shown, data, until), ""
    if ends in (*MAILS, *PAGES):
        opens = lines_of_mail if ends in MAILS else lines_of_html
        return kind, *opens(shown, data, until, encoding)
    return kind, *_of_text(shown, ends, data, encoding)


def _of_text(shown: str, ends: str, data: bytes, encoding: str) -> tuple[Iterable[str], str]:
    if data.startswith((b"{\\rtf", b"PK\3\4", b"\xd0\xcf\x11\xe0")):
        raise _binary(shown, ends)
    try:
        text = decoded(data, encoding)
    except UnknownEncoding as error:
        raise _binary(shown, ends) if bytes(1) in data else UnreadableDocument(f"{shown} {error}") from error
    is_csv = KINDS.get(ends) == DocumentKind.CSV
    return _lines_of_csv(shown, text.text) if is_csv else text.text.splitlines(), text.converted_from


def _binary(shown: str, ends: str) -> UnreadableDocument:
    what = OTHERWISE.get(ends, "Save it as one of these and attach that.")
    return UnreadableDocument(f"{shown} is neither text in UTF-8 nor a PDF. {what}")


def uploaded(files: Iterable[Any], limits: DocumentLimits, encoding: str = "") -> tuple[list[NewDocument], list[str]]:
    """Read uploaded files, at most `limits.number` and within TOGETHER seconds; return documents, and a sentence for
    each unreadable file."""
    until, found, wrong = time.monotonic() + TOGETHER, list[NewDocument](), list[str]()
    for file in islice(files, limits.number + 1):
        try:
            refuse_size(file.name or "", file.size or 0, limits)  # before it is read into memory
            found.append(read_document(file.name or "", file.read(), limits, until, encoding))
        except UnreadableDocument as error:
            wrong.append(str(error))
    return found, wrong


def document_from_text(title: str, text: str, limits: DocumentLimits) -> NewDocument:
    """Make a document of typed or pasted text. Raises UnreadableDocument."""
    data = _storable(text).encode()
    refuse_size(title, len(data), limits)
    return _document(title, DocumentKind.TEXT, _storable(text).removeprefix("\ufeff").splitlines(), data)


def _document(title: str, kind: DocumentKind, found: Iterable[str], data: bytes) -> NewDocument:
    lines = tuple(_without_gaps(piece for line in found for piece in lines_of(_storable(line))))
    if not lines:
        raise UnreadableDocument(f"{_shown(title)} is empty. Leave it out, or attach what it should have been.")
    return NewDocument(_cut(_storable(title), TITLE_LENGTH), kind, lines, sha256(data).hexdigest())


def refuse_size(title: str, size: int, limits: DocumentLimits) -> None:
    """Raise UnreadableDocument if `size`, in bytes, is above the limit."""
    if size > limits.size:
        sizes = f"{size / MEGABYTE:,.1f} MB, and {limits.size / MEGABYTE:g} MB are the most"
        raise UnreadableDocument(f"{_shown(title)} has {sizes}. Attach the part that matters.")


def _shown(title: str) -> str:
    return _cut(_storable(title), NAMED) or "A document without a name"


# ---- CSV --------------------------------------------------------------------------------------------------


def _lines_of_csv(shown: str, text: str) -> Iterator[str]:
    """Yield one line for each record; line breaks in cells become spaces."""
    rows = csv.reader(io.StringIO(SEPARATOR.sub("", text), newline=""), **_dialect(text))
    try:
        for row in rows:
            yield CELLS_APART.join(" ".join(cell.split()).replace(CELLS_APART, CELLS_APART.strip()) for cell in row)
    except csv.Error as error:
        said = f"{shown} cannot be read as CSV: in line {rows.line_num}, {error}"
        raise UnreadableDocument(f"{said}. Correct it, or attach it as text.") from error


def _dialect(text: str) -> dict[str, Any]:
    """Detect the dialect: the delimiter with which most of the first records have as many cells as the header.

    So a decimal comma does not split cells. Among equally good delimiters the comma is last, since amounts and names
    contain it, too.
    """
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
    if usual == 1:  # no delimiter, only an occasional character in text
        return 0, False, False, len(widths) - sum(widths)
    return 2, widths[0] == usual, found[usual] >= len(widths) * REGULAR, 0


# ---- lines ------------------------------------------------------------------------------------------------


def lines_of(line: str) -> list[str]:
    """Break a line into lines of at most LINE_LENGTH characters, between words if possible."""
    line = line.rstrip()
    if len(line) <= LINE_LENGTH:
        return [line]
    return [piece for found in PIECE.finditer(line) if (piece := found[0].rstrip())]


def _without_gaps(lines: Iterable[str]) -> Iterator[str]:
    """Drop empty lines at both ends, and collapse runs of them into one."""
    begun = gap = False
    for line in lines:
        if line:
            yield from [""] * (begun and gap)
            yield line
            begun = True
        gap = not line


def _storable(text: str) -> str:
    return UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def _cut(text: str, length: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"
