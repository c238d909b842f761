"""The texts of a PDF's pages, and what stands in and on them, as JSON. A program for `child.py`: what opens a PDF of
strangers does nothing else."""

import io
import json
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
ATTACHED = "Attached file, which is not read: “{}”"


def read(data: bytes) -> dict[str, object]:
    """`pages`, each with its `text` and the lines `on` it, or `refused` with the reason in a word."""
    reader = PdfReader(io.BytesIO(data))
    # one that only its owner's password protects opens without any, in every viewer
    if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
        return {"refused": "encrypted"}
    if len(reader.pages) > MOST_PAGES:
        return {"refused": "pages"}
    pages, length = [], 0
    for page in reader.pages:
        text, on = seen(page)
        pages.append({"text": text, "on": on})
        length += len(text) + sum(map(len, on))
        if length > MOST_CHARACTERS:
            return {"refused": "characters"}
    if shows_nothing_without_its_program(reader):
        return {"refused": "xfa"}
    if pages:
        pages[-1]["on"] = [*pages[-1]["on"], *(ATTACHED.format(name) for name in attached(reader))]
    return {"pages": pages}


def seen(page: PageObject) -> tuple[str, list[str]]:
    """Its text, and the lines on it."""
    watch, annotations = Watch(), annotations_of(page)
    text = page.extract_text(visitor_operand_before=watch.drawn, visitor_text=watch.written)
    comments = Comments(page, annotations)
    return text, [*pdf_fields.lines(annotations), *comments.struck(watch.found()), *comments.lines()]


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
        found = read(sys.stdin.buffer.read())
    except LimitReachedError:  # it unpacks to more than anybody wrote
        raise MemoryError from None
    print(json.dumps(found))
