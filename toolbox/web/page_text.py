"""Text of fetched pages. HTML and PDF are converted in a limited process, everything else is decoded here.

Why so: toolbox/DESIGN.md, The web.
"""

import codecs
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from engine.decoding import named_in_html
from engine.plurals import counted
from engine.web.url_policy import AddressRefused, shorten_address
from toolbox import limited_process

from .fetcher import FetchedPage

HTML, PDF = Path(__file__).with_name("html_text.py"), Path(__file__).parents[1] / "pdf_text.py"
EXTRACTED = "magi 2"  # name of the extraction; increase its number when texts change
LONGEST_HTML, LONGEST_TEXT, LONGEST_TITLE = 2**20, 1_000_000, 200
LINKS_SHOWN = 60
PATIENCE = 20.0  # seconds to wait for a process slot, so that a page is rarely refused because of load
TEXTS = ("text/", "application/json", "application/xml", "application/ld+json", "application/csv")
PAGES = ("text/html", "application/xhtml+xml")
WIDE_ENCODINGS = ("utf-16", "utf-32")
LOOKED_AT = 2_048  # bytes to detect the type
ADDRESSES_MACHINE_TEXT = "Has text that addresses the reader as a machine"
HIDDEN = "{number} hidden parts were left out"
UNREADABLE = "Some of its characters could not be read"
CUT = "Only its beginning was read"
_MACHINE = re.compile(
    r"ignore (?:all |any |the )*(?:previous|prior|above|earlier) (?:instructions|prompts|rules)"
    r"|disregard (?:all |any |the |your )*(?:previous|prior|above|earlier|instructions)"
    r"|(?:as|you are) an? (?:ai|language model|assistant|llm)\b|system prompt|\bAI (?:agents?|assistants?|models?) must"
    r"|(?:note|message|instructions?) (?:to|for) (?:the |any |all )*(?:ai|llm|language model|assistant)s?\b",
    re.IGNORECASE,
)
_KEEPABLE = re.compile("[\0\ud800-\udfff]")
REFUSED = {
    "pages": "It has more than 200 pages.",
    "lost": "A part of it cannot be read.",
    "xfa": "It is a form that Adobe's programs alone show.",
}
STOPPED: Mapping[type[limited_process.ProcessStopped], str] = {
    limited_process.NoProcessSlot: "too much else is being read just now",
    limited_process.ProcessTimedOut: "it takes too long",
    limited_process.ProcessOutOfMemory: "it unpacks to more than can be read",
    limited_process.ProcessFailed: "it is broken",
}


@dataclass(frozen=True)
class WebPageText:
    """Text of a page. `digest`: SHA-256 of the response body, in hex; `links`: pairs of address and link text."""

    asked: str
    address: str
    title: str
    type: str
    digest: str
    text: str
    flags: Sequence[str] = ()
    links: Sequence[Sequence[str]] = field(default_factory=list)
    extractor: str = EXTRACTED

    def written(self) -> str:
        """Return the tool's output: a line of JSON with all fields (`text` is the length), then the text."""
        fields = asdict(self)
        return f"{json.dumps({**fields, 'text': len(self.text)}, ensure_ascii=False)}\n{self.text}"

    @classmethod
    def of(cls, written: str) -> "WebPageText":
        """Parse the output of `written`. Raises ValueError if it has another format."""
        line, _, text = written.partition("\n")
        fields: dict[str, Any] = json.loads(line)
        return cls(**{**fields, "text": text[: fields["text"]]})


def page_text(got: FetchedPage) -> WebPageText:
    """Return the text of a page. Raises AddressRefused. It blocks while the limited process runs, so call it in a
    thread."""
    kind = _kind(got)
    if kind == "pdf":
        title, text, flags, links = _of_pdf(got.body)
    elif kind == "html":
        title, text, flags, links = _of_html(got)
    else:
        text, flags = decode_body(got.body, got.charset)
        title, links = "", []
    text = _KEEPABLE.sub("\N{REPLACEMENT CHARACTER}", text).strip()
    if not text:
        raise AddressRefused("There is no text in it.")
    if len(text) > LONGEST_TEXT:
        text, flags = text[:LONGEST_TEXT], [*flags, CUT]
    flags += [ADDRESSES_MACHINE_TEXT] if _MACHINE.search(text) else []
    title = _KEEPABLE.sub("", title)[:LONGEST_TITLE]
    digest = sha256(got.body).hexdigest()
    return WebPageText(got.asked, got.address, title, got.type or kind, digest, text, flags, links)


def _kind(got: FetchedPage) -> str:
    """Detect the type from the bytes first, since declared types are often wrong. Raises AddressRefused if it is no
    text."""
    head = got.body[:LOOKED_AT].lstrip().lower()
    if head.startswith(b"%pdf-"):
        return "pdf"
    wide = got.body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or _known(got.charset).startswith(
        WIDE_ENCODINGS
    )
    if b"\0" in got.body[:LOOKED_AT] and not wide:
        raise AddressRefused(f"It is no text, whatever it says it is: {got.type[:60] or 'of no known type'}.")
    if got.type in PAGES or head.startswith((b"<!doctype html", b"<html")):
        return "html"
    if got.type and not got.type.startswith(TEXTS) and got.type != "application/octet-stream":
        raise AddressRefused(f"It is no text: {got.type[:60]}.")
    return "text"


def _of_html(got: FetchedPage) -> tuple[str, str, list[str], list[list[str]]]:
    declared = got.charset or named_in_html(got.body)
    text, flags = decode_body(got.body[:LONGEST_HTML], declared)
    flags += [CUT] if len(got.body) > LONGEST_HTML else []
    found = json.loads(_opened(HTML, text.encode(errors="replace")))
    flags += [HIDDEN.format(number=found["hidden"])] if found["hidden"] else []
    return found["title"], found["text"], flags, _links(got.address, found["base"], found["links"])


def _links(address: str, base: str, links: Sequence[Sequence[str]]) -> list[list[str]]:
    found: list[list[str]] = []
    for to, said in links:
        try:
            at = shorten_address(urljoin(urljoin(address, base), to))
        except (AddressRefused, ValueError):
            continue
        if len(found) < LINKS_SHOWN and all(at != one for one, _ in found):
            found.append([at, said])
    return found


def _of_pdf(body: bytes) -> tuple[str, str, list[str], list[list[str]]]:
    found = json.loads(_opened(PDF, body))
    if refused := found.get("refused"):
        raise AddressRefused(REFUSED.get(refused, f"It cannot be read: {refused}."))
    pages = ["\n".join(filter(None, (page["text"].strip(), *page["on"]))) for page in found["pages"]]
    if not any(pages):
        raise AddressRefused(f"There is no text in it, only pictures on {counted(len(pages), 'page')}.")
    return "", "\n\n".join(f"(Page {number})\n{page}" for number, page in enumerate(pages, 1)), [], []


def _opened(program: Path, data: bytes) -> bytes:
    try:
        return limited_process.run_limited(program, data, patience=PATIENCE)
    except limited_process.ProcessStopped as stopped:
        raise AddressRefused(f"It could not be read: {STOPPED[type(stopped)]}.") from stopped


# ---- decoding ---------------------------------------------------------------------------------------------


def decode_body(body: bytes, declared: str = "") -> tuple[str, list[str]]:
    """Decode a body; return the text and flags.

    Tried in this order: a byte order mark; the declared charset if UTF-8 could be mistaken for it; UTF-8; the declared
    charset; Windows-1252. Declared charsets are often wrong, and text that is valid UTF-8 rarely is anything else.
    """
    for mark, name in ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
        if body.startswith(mark):
            return body.removeprefix(codecs.BOM_UTF8).decode(name, errors="replace"), []
    known = _known(declared)
    alike = known if known.startswith((*WIDE_ENCODINGS, "iso2022", "utf-7", "hz")) else ""
    for name in dict.fromkeys(one for one in (alike, "utf-8", known, "cp1252") if one):
        try:
            return codecs.getincrementaldecoder(name)().decode(body), []  # a cut body may end within a character
        except UnicodeDecodeError:
            continue
    return body.decode(known or "cp1252", errors="replace"), [UNREADABLE]


def _known(name: str) -> str:
    """Return Python's name of a text encoding; empty if unknown. ASCII and Latin-1 are read as Windows-1252, as
    browsers do."""
    try:
        found = codecs.lookup(name)
    except LookupError:
        return ""
    if not found._is_text_encoding or found.name in ("idna", "punycode", "unicode_escape", "raw_unicode_escape"):
        return ""
    return "cp1252" if found.name in ("ascii", "iso8859-1") else found.name
