"""Converts an email file to lines, as JSON. It runs under `limited_process.py`, since such files are untrusted.

Standard input is a line with the encoding that the user named (may be empty), then the file.
"""

import binascii
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.errors import (
    CloseBoundaryNotFoundDefect,
    HeaderParseError,
    InvalidBase64CharactersDefect,
    InvalidBase64LengthDefect,
    NoBoundaryInMultipartDefect,
    StartBoundaryNotFoundDefect,
)
from email.header import decode_header
from email.message import Message

from engine.decoding import Decoded, UnknownEncoding, by_name, decoded, encoding_named, named_in_html
from toolbox.web import html_text

SHOWN = ("From", "Reply-To", "To", "Cc", "Bcc", "Date", "Subject")
DEEPEST, MOST_PARTS = 10, 500
BROKEN = (InvalidBase64CharactersDefect, InvalidBase64LengthDefect, NoBoundaryInMultipartDefect)
CUT = (StartBoundaryNotFoundDefect, CloseBoundaryNotFoundDefect)
ENCRYPTED = ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")
MAILS = ("message/rfc822", "message/global", "message/news")
ATTACHED, HIDDEN = "Attached file, which is not read: {}", "(Parts that its HTML hides were left out: {}.)"
NOTHING, BEGINS, ENDS = "(This mail has no text.)", "Attached mail:", "(End of the attached mail.)"
ENCODED = re.compile(r"=\?[^?\s]+\?[bBqQ]\?[^?]*\?=(?:\s+=\?[^?\s]+\?[bBqQ]\?[^?]*\?=)*")


class RawHeaderPolicy(policy.Compat32):
    """Keeps undecoded bytes in header fields: `_MailReader._header` decodes them."""

    def header_fetch_parse(self, name: str, value: str) -> str:
        return value


class UnreadableMail(Exception):
    """`args`: the reason as a key of `openers.MAIL_REFUSED`, and possibly a sentence."""


@dataclass
class PartLines:
    """Lines of one or several parts: `text`, and `beside` for attachments."""

    text: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)

    def add(self, other: "PartLines") -> None:
        self.text += [*([""] if self.text and other.text else []), *other.text]
        self.beside += other.beside


def read(data: bytes, named: str = "") -> dict[str, object]:
    """Return `lines`, and as `taken` the encoding if the named one was used; or `refused` with a reason."""
    reader = _MailReader(named)
    message = message_from_bytes(data, policy=RawHeaderPolicy())
    if not any(name in message for name in ("From", "To", "Date", "Subject", "Received", "Message-ID")):
        return {"refused": "no mail"}
    try:
        if any(isinstance(defect, CUT) for defect in message.defects):
            raise UnreadableMail("cut")
        return {"lines": reader.lines(message), "taken": reader.taken}
    except UnreadableMail as error:
        return {"refused": error.args[0], "said": str(error.args[-1])}


class _MailReader:
    def __init__(self, named: str) -> None:
        self.taken, self._named, self._parts, self._depth = "", named, 0, 0

    def lines(self, message: Message) -> list[str]:
        self._depth += 1
        if self._depth > DEEPEST:
            raise UnreadableMail("nested")
        seen = self._seen(message)
        self._depth -= 1
        return [*self._headers(message), "", *(seen.text or [NOTHING]), *([""] if seen.beside else []), *seen.beside]

    def _headers(self, message: Message) -> Iterator[str]:
        found = [(name.lower(), value) for name, value in message.raw_items()]
        for shown in SHOWN:
            yield from (f"{shown}: {self._header(str(value))}" for name, value in found if name == shown.lower())

    def _header(self, raw: str) -> str:
        text = " ".join(raw.split())
        if not text.isascii():
            text = self._text(text.encode("utf-8", "surrogateescape"), "").text
        return ENCODED.sub(lambda run: _encoded(run[0]), text)

    # ---- parts --------------------------------------------------------------------------------------------

    def _seen(self, part: Message) -> PartLines:
        kind, self._parts = part.get_content_type(), self._parts + 1
        if self._parts > MOST_PARTS:
            raise UnreadableMail("nested")
        if kind in ENCRYPTED and self._depth == 1:
            raise UnreadableMail("encrypted")
        if kind in MAILS and part.is_multipart():
            return PartLines(beside=[line for one in _parts(part) for line in ("", BEGINS, *self.lines(one), ENDS)])
        if kind == "multipart/alternative":
            return self._alternatives(part)
        if kind.startswith("multipart/"):
            return self._together(part)
        if kind not in ("text/plain", "text/html") or part.get_content_disposition() == "attachment":
            return PartLines(beside=[ATTACHED.format(self._name(part))])
        return self._html(part) if kind == "text/html" else self._plain(part)

    def _together(self, part: Message) -> PartLines:
        if any(isinstance(defect, BROKEN) for defect in part.defects):
            raise UnreadableMail("broken")
        seen = PartLines()
        for one in _parts(part):
            seen.add(self._seen(one))
        return seen

    def _alternatives(self, part: Message) -> PartLines:
        """Return the plain text if it has all words of the HTML, else the HTML: that is what mail programs show."""
        texts = [one for one in _parts(part) if one.get_content_type() == "text/plain"]
        rich = [one for one in _parts(part) if one.get_content_type() == "text/html" or one.is_multipart()]
        others = [one for one in _parts(part) if one not in (*texts, *rich)]
        seen = self._seen(texts[0]) if texts else PartLines()
        shown = self._seen(rich[-1]) if rich else PartLines()
        if not _words(shown.text) <= _words(seen.text):
            seen = PartLines(shown.text)
        names = [ATTACHED.format(self._name(one)) for one in others if one.get_content_maintype() != "text"]
        calendars = [ATTACHED.format(self._name(one)) for one in others if one.get_content_type() == "text/calendar"]
        return PartLines(seen.text, [*shown.beside, *calendars, *names])

    def _name(self, part: Message) -> str:
        name = self._header(part.get_filename() or "")
        return f"“{name}”" if name else f"without a name ({part.get_content_type()})"

    # ---- texts --------------------------------------------------------------------------------------------

    def _plain(self, part: Message) -> PartLines:
        text = self._text(_bytes(part), _charset(part)).text
        if text.lstrip().startswith("-----BEGIN PGP MESSAGE-----"):
            raise UnreadableMail("encrypted")
        lines = text.splitlines()
        if str(part.get_param("format", "")).lower() == "flowed":
            lines = [*_unfolded(lines, str(part.get_param("delsp", "")).lower() == "yes")]
        return PartLines(_trimmed(lines))

    def _html(self, part: Message) -> PartLines:
        data = _bytes(part)
        found = html_text.html_to_text(self._text(data, _charset(part) or named_in_html(data)).text)
        hidden = [HIDDEN.format(found["hidden"])] if found["hidden"] else []
        return PartLines(_trimmed(str(found["text"]).split("\n")), hidden)

    def _text(self, data: bytes, declared: str) -> Decoded:
        """Decode by the declared charset, else by the bytes, else by the encoding that the user named."""
        try:
            if encoding_named(declared) and encoding_named(declared) != "ascii":
                return by_name(data, declared)
        except UnknownEncoding:
            pass
        try:
            found = decoded(data, self._named)
        except UnknownEncoding as error:
            raise UnreadableMail("encoding", str(error)) from error
        self.taken = found.converted_from or self.taken
        return found


def _parts(message: Message) -> list[Message]:
    payload = message.get_payload()
    return [one for one in payload if isinstance(one, Message)] if isinstance(payload, list) else []


def _bytes(part: Message) -> bytes:
    data = part.get_payload(decode=True)
    odd = re.search(r"[^A-Za-z0-9+/=\s]", str(part.get_payload()))  # spaces do no harm
    if any(
        isinstance(one, BROKEN) and (odd or not isinstance(one, InvalidBase64CharactersDefect)) for one in part.defects
    ):
        raise UnreadableMail("broken")
    return data if isinstance(data, bytes) else b""


def _charset(part: Message) -> str:
    return (part.get_content_charset() or "").strip()


def _encoded(run: str) -> str:
    """Decode encoded words (RFC 2047); return them unchanged if they are invalid."""
    try:
        pieces = decode_header(run)
        return "".join(by_name(piece, charset or "ascii").text for piece, charset in pieces if isinstance(piece, bytes))
    except (HeaderParseError, UnknownEncoding, binascii.Error, ValueError):
        return run


def _unfolded(lines: list[str], joins: bool) -> Iterator[str]:
    """Join flowed lines (RFC 3676): a line that ends with a space goes on in the next one of the same quote depth.
    `joins`: the space is dropped (DelSp=yes)."""
    whole, before = "", ""
    for line in lines:
        quoted = re.match(r">*", line)[0]  # type: ignore[index]
        text = line[len(quoted) :].removeprefix(" ")
        if whole and quoted != before:
            yield whole
            whole = ""
        whole = f"{whole}{text}" if whole else f"{quoted}{' ' * bool(quoted)}{text}"
        before = quoted
        if text == "-- " or not text.endswith(" "):
            yield whole
            whole = ""
        elif joins:
            whole = whole[:-1]
    if whole:
        yield whole


def _trimmed(lines: list[str]) -> list[str]:
    said = [number for number, line in enumerate(lines) if line.strip()]
    return [line.rstrip() for line in lines[said[0] : said[-1] + 1]] if said else []


def _words(lines: list[str]) -> set[str]:
    return set(re.findall(r"\w+", " ".join(lines).casefold()))


if __name__ == "__main__":
    name, _, file = sys.stdin.buffer.read().partition(b"\n")
    print(json.dumps(read(file, name.decode())))
