"""The texts of a PDF's pages, and what stands in and on them, as JSON. A program for `child.py`: what opens a PDF of
strangers does nothing else."""

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
from toolbox.pdf_struck import Watch

MOST_PAGES = 200
MOST_CHARACTERS = 1_000_000
FEW = 200  # characters: what a scanner writes on its pictures, and no page of a text
ATTACHED = "Attached file, which is not read: “{}”"


class Lost(logging.Handler):
    """Hears what pypdf leaves out with no more than a warning. Of what is not there at all nothing is lost."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.any = False

    def emit(self, record: logging.LogRecord) -> None:
        said, values = str(record.msg), record.args if isinstance(record.args, dict) else {}
        missing = isinstance(values.get("exception"), KeyError | TypeError)
        self.any |= said.startswith("Exceeded") or (said.startswith("Impossible to decode") and not missing)


def extract_pages(data: bytes) -> dict[str, object]:
    """`pages`, each with its `text`, the lines `on` it, and whether most of it is a `picture` that has no text; or
    `refused` with the reason in a word."""
    reader = PdfReader(io.BytesIO(data))
    # one that only its owner's password protects opens without any, in every viewer
    if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
        return {"refused": "encrypted"}
    if len(reader.pages) > MOST_PAGES:
        return {"refused": "pages"}
    pages, length, lost = list[dict[str, object]](), 0, Lost()
    logging.getLogger("pypdf").addHandler(lost)
    for number, page in enumerate(reader.pages, 1):
        text, on, picture = seen(page)
        on += [ATTACHED.format(name) for name in attached(reader)] if number == len(reader.pages) else []
        pages.append({"text": text, "on": on, "picture": picture})
        length += len(text) + sum(map(len, on))
        if length > MOST_CHARACTERS:
            return {"refused": "characters"}
    if lost.any:
        return {"refused": "lost"}
    if shows_nothing_without_its_program(reader):
        return {"refused": "xfa"}
    return {"pages": pages}


def seen(page: PageObject) -> tuple[str, list[str], bool]:
    watch, annotations = Watch(), annotations_of(page)
    text = page.extract_text(visitor_operand_before=watch.drawn, visitor_text=watch.written)
    comments = Comments(page, annotations)
    on = [*pdf_fields.lines(annotations), *comments.struck(watch.found()), *comments.lines()]
    return text, on, len(text.strip()) < FEW and not watch.recognised and shows_a_picture(page, watch)


def shows_a_picture(page: PageObject, watch: Watch) -> bool:
    """Whether pictures cover half of it, as those of scanners do."""
    known = mapping(mapping(page.get("/Resources")).get("/XObject"))
    covered = sum(
        area for name, area in watch.pictures if not name or mapping(known.get(name)).get("/Subtype") == "/Image"
    )
    return covered * 2 >= float(page.mediabox.width) * float(page.mediabox.height) > 0


def shows_nothing_without_its_program(reader: PdfReader) -> bool:
    """A form of XFA: its pages ask for a program of Adobe's, and what people filled in is nowhere else."""
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
            told = mapping(described)
            yield words(told.get("/UF")) or words(told.get("/F")) or words(name) or "without a name"


if __name__ == "__main__":
    try:
        found = extract_pages(sys.stdin.buffer.read())
    except LimitReachedError:  # it unpacks to more than anybody wrote
        raise MemoryError from None
    print(json.dumps(found))
