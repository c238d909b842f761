"""Converts a PDF to texts of its pages with fields, comments and marks, as JSON. It runs under `limited_process.py`,
since such files are untrusted."""

import io
import json
import logging
import sys
from collections.abc import Iterator

from pypdf import PageObject, PasswordType, PdfReader
from pypdf.errors import LimitReachedError

from toolbox import pdf_fields
from toolbox.pdf_comments import Comments, annotations_of
from toolbox.pdf_objects import listed, mapping, words
from toolbox.pdf_struck import DrawingRecorder

MOST_PAGES = 200
MOST_CHARACTERS = 1_000_000
FEW = 200  # characters: a page with a picture and less text is taken for a scan
ATTACHED = "Attached file, which is not read: “{}”"


class LossDetector(logging.Handler):
    """Detects warnings of pypdf about content that it skipped. Content that does not exist is no loss."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.any = False

    def emit(self, record: logging.LogRecord) -> None:
        message, values = str(record.msg), record.args if isinstance(record.args, dict) else {}
        missing = isinstance(values.get("exception"), KeyError | TypeError)
        self.any |= message.startswith("Exceeded") or (message.startswith("Impossible to decode") and not missing)


def extract_pages(data: bytes) -> dict[str, object]:
    """Return `pages`, each with its `text`, lines of fields and comments `on` it, and whether most of it is a
    `picture`; or `refused` with a reason, a key of `openers.REFUSED`."""
    reader = PdfReader(io.BytesIO(data))
    # with only an owner's password, every viewer opens the file without one
    if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
        return {"refused": "encrypted"}
    if len(reader.pages) > MOST_PAGES:
        return {"refused": "pages"}
    pages, length, lost = list[dict[str, object]](), 0, LossDetector()
    logging.getLogger("pypdf").addHandler(lost)
    for number, page in enumerate(reader.pages, 1):
        text, on, picture = read_page(page)
        on += [ATTACHED.format(name) for name in attached(reader)] if number == len(reader.pages) else []
        pages.append({"text": text, "on": on, "picture": picture})
        length += len(text) + sum(map(len, on))
        if length > MOST_CHARACTERS:
            return {"refused": "characters"}
    if lost.any:
        return {"refused": "lost"}
    if is_dynamic_xfa(reader):
        return {"refused": "xfa"}
    return {"pages": pages}


def read_page(page: PageObject) -> tuple[str, list[str], bool]:
    """Return the text, lines of fields and comments, and whether the page is a scan without recognised text."""
    drawing, annotations = DrawingRecorder(), annotations_of(page)
    text = page.extract_text(visitor_operand_before=drawing.drawn, visitor_text=drawing.written)
    comments = Comments(page, annotations)
    on = [*pdf_fields.lines(annotations), *comments.struck(drawing.found()), *comments.lines()]
    return text, on, len(text.strip()) < FEW and not drawing.recognised and is_mostly_picture(page, drawing)


def is_mostly_picture(page: PageObject, drawing: DrawingRecorder) -> bool:
    """Tell whether pictures cover at least half of the page, as in scans."""
    known = mapping(mapping(page.get("/Resources")).get("/XObject"))
    covered = sum(
        area for name, area in drawing.pictures if not name or mapping(known.get(name)).get("/Subtype") == "/Image"
    )
    return covered * 2 >= float(page.mediabox.width) * float(page.mediabox.height) > 0


def is_dynamic_xfa(reader: PdfReader) -> bool:
    """Tell whether the file is an XFA form that only Adobe's programs can show: its pages have no other content."""
    catalog = mapping(reader.trailer.get("/Root"))
    form = mapping(catalog.get("/AcroForm"))
    return "/XFA" in form and (not listed(form.get("/Fields")) or bool(catalog.get("/NeedsRendering")))


def attached(reader: PdfReader) -> Iterator[str]:
    catalog = mapping(reader.trailer.get("/Root"))
    nodes, seen = [mapping(mapping(catalog.get("/Names")).get("/EmbeddedFiles"))], 0
    while nodes and seen < MOST_PAGES:
        node, seen = nodes.pop(), seen + 1
        nodes += [mapping(one) for one in listed(node.get("/Kids"))]
        for name, described in zip(listed(node.get("/Names"))[0::2], listed(node.get("/Names"))[1::2], strict=False):
            file = mapping(described)
            yield words(file.get("/UF")) or words(file.get("/F")) or words(name) or "without a name"


if __name__ == "__main__":
    try:
        found = extract_pages(sys.stdin.buffer.read())
    except LimitReachedError:  # a decompression bomb: the parent reports it as out of memory
        raise MemoryError from None
    print(json.dumps(found))
