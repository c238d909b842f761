"""Opens PDF, mail and HTML files, each in a limited process of its own.

Why so: runs/DESIGN.md, Documents.
"""

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from engine.decoding import Decoded, UnknownEncoding, by_name, decoded, encoding_named, named_in_html

from . import limited_process

PDF, MAIL, HTML = (Path(__file__).parent / name for name in ("pdf_text.py", "mail_file.py", "web/html_text.py"))
ANOTHER = "Save it again in the program that made it, or attach its text."
STOPPED: Mapping[type[limited_process.ProcessStopped], str] = {
    limited_process.NoProcessSlot: "was not read: too much else is being read just now. Attach it again in a minute.",
    limited_process.ProcessTimedOut: f"takes too long to read. {ANOTHER}",
    limited_process.ProcessOutOfMemory: f"unpacks to more than can be read. {ANOTHER}",
    limited_process.ProcessFailed: f"is broken. {ANOTHER}",
}
LATE = "was not read: the files before it used up the time for all files. Attach it by itself."
REFUSED = {
    "encrypted": "asks for a password. Save it without one and attach that.",
    "pages": "has more than 200 pages. Attach those that matter.",
    "characters": "has more text than can be read. Attach the pages that matter.",
    "lost": f"has a part that cannot be read. {ANOTHER}",
    "xfa": "is a form that only Adobe's programs can show. Print it to a PDF there and attach that.",
}
MAIL_REFUSED = {
    "no mail": f"is not an email as mail programs save it. {ANOTHER}",
    "encrypted": "is an encrypted email. Open it in your mail program and attach its text.",
    "cut": "is cut off: a part of the mail has no end. Save it again in your mail program.",
    "broken": "is broken: a part of the mail cannot be decoded. Save it again in your mail program.",
    "nested": "has too many mails or parts within each other. Attach the one that matters.",
}
PICTURES = "text, only pictures. Run text recognition (OCR) on it and attach the result."
PAGE_OF_PICTURES = "(Page {} has no text that could be read.)"
MOSTLY_PICTURE = "(Most of page {} is a picture, which was not read.)"
HIDDEN = "(Parts that the page hides were left out: {}.)"


class UnreadableDocument(ValueError):
    """A file cannot be read; the text names it and says what to do."""


def lines_of_pdf(shown: str, data: bytes, until: float) -> Iterator[str]:
    """Yield the lines of all pages, with filled-in fields and comments. A page without text has a line that says so.

    `until`: deadline by `time.monotonic`. Raises UnreadableDocument.
    """
    found = _opened(PDF, shown, data, until)
    if "refused" in found:
        raise UnreadableDocument(f"{shown} {REFUSED[found['refused']]}")
    if not any(page["on"] or (page["text"].strip() and not page["picture"]) for page in found["pages"]):
        text = any(page["text"].strip() for page in found["pages"])
        raise UnreadableDocument(f"{shown} has {'hardly any' if text else 'no'} {PICTURES}")
    for number, page in enumerate(found["pages"], 1):
        yield from page["text"].splitlines() if page["text"].strip() else [PAGE_OF_PICTURES.format(number)]
        yield from [MOSTLY_PICTURE.format(number)] if page["picture"] and page["text"].strip() else []
        yield from ("", *page["on"], "")


def lines_of_mail(shown: str, data: bytes, until: float, encoding: str) -> tuple[list[str], str]:
    """Return the lines, and the encoding if the file did not state it. Raises UnreadableDocument."""
    found = _opened(MAIL, shown, f"{encoding}\n".encode() + data, until)
    if "refused" in found:
        said = MAIL_REFUSED.get(found["refused"], f"has a part that {found['said']}")
        raise UnreadableDocument(f"{shown} {said}")
    return found["lines"], found["taken"]


def lines_of_html(shown: str, data: bytes, until: float, encoding: str) -> tuple[list[str], str]:
    try:
        text = _as_declared(data, named_in_html(data), encoding)
    except UnknownEncoding as error:
        raise UnreadableDocument(f"{shown} {error}") from error
    found = _opened(HTML, shown, text.text.encode(errors="replace"), until)
    hidden = [HIDDEN.format(found["hidden"])] if found["hidden"] else []
    return [*found["text"].split("\n"), *hidden], text.converted_from


def _as_declared(data: bytes, declared: str, encoding: str) -> Decoded:
    try:
        return by_name(data, declared) if encoding_named(declared) else decoded(data, encoding)
    except UnknownEncoding:
        return decoded(data, encoding)


def _opened(program: Path, shown: str, data: bytes, until: float) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(limited_process.run_limited(program, data, until=until))
    except limited_process.ProcessStopped as stopped:
        late = time.monotonic() >= until
        raise UnreadableDocument(f"{shown} {LATE if late else STOPPED[type(stopped)]}") from stopped
    return found
