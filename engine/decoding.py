"""Bytes that people hand in, as text, where it is certain in which encoding they are.

A wrong guess would have agents decide about signs that nobody wrote: what is uncertain is refused, with what to do.

Why so: runs/DESIGN.md, Documents.
"""

import codecs
import re
import unicodedata
from dataclasses import dataclass

# the longer ones first: UTF-32 begins like UTF-16
MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32LE"),
    (codecs.BOM_UTF32_BE, "UTF-32BE"),
    (codecs.BOM_UTF8, "UTF-8"),
    (codecs.BOM_UTF16_LE, "UTF-16LE"),
    (codecs.BOM_UTF16_BE, "UTF-16BE"),
)
# what text looks like in UTF-16 without its mark: these in the high half of each unit, the first in a good part of them
_HIGH = frozenset([*range(0x28), *range(0xD8, 0xE0)])
_LEAST_ZEROS = 0.1
_JAPANESE = re.compile(rb"\x1b\$[@B]")  # ISO-2022-JP says where it begins to write in two bytes
CONVERT = "Name the encoding that it is in, such as windows-1252, save it in UTF-8, or convert it with iconv."
# of many that Python knows, those in which people's files are: to choose from
USUAL = (
    "windows-1252",
    "windows-1250",
    "windows-1251",
    "windows-1253",
    "windows-1254",
    "iso-8859-1",
    "iso-8859-2",
    "iso-8859-15",
    "mac_roman",
    "ibm850",
    "koi8-r",
    "shift_jis",
    "euc-jp",
    "euc-kr",
    "gb18030",
    "big5",
    "utf-16le",
)
NAMED = 40  # characters of a name in a sentence
_SHIFTED = ("utf_7", "utf-7", "hz", "iso2022")  # in signs of ASCII: they would pass as UTF-8
_META, _META_WITHIN = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE), 2_048
_NO_TEXT = ("idna", "punycode", "unicode_escape", "raw_unicode_escape")
_CODE_PAGE = re.compile(r"cp(125\d)|iso8859[-_](\d+)")


class UnknownEncoding(ValueError):
    """Why bytes cannot be read as text: the rest of a sentence that begins with what they are."""


@dataclass(frozen=True)
class Decoded:
    """`converted_from` is empty for UTF-8, with its mark or without."""

    text: str
    converted_from: str = ""


def encoding_named(name: str) -> str:
    """As Python calls it; empty where it is none of texts."""
    try:
        found = codecs.lookup(name.strip())
    except (LookupError, ValueError):
        return ""
    return found.name if found._is_text_encoding and found.name not in _NO_TEXT else ""


def no_encoding(name: str) -> str:
    """Why this names none, in a sentence."""
    shown = " ".join(name.split())[:NAMED]
    return f"There is no encoding “{shown}”. Usual ones are {', '.join(USUAL[:8])}."


def named_in_html(data: bytes) -> str:
    """The charset that a page says it is in; one that is read in signs of ASCII is in no wide one, whatever it says."""
    found = _META.search(data[:_META_WITHIN])
    name = found[1].decode("ascii", errors="ignore").lower() if found else ""
    return "" if name.startswith(("utf-16", "utf-32")) else name


def decoded(data: bytes, named: str = "") -> Decoded:
    """The text without its byte order mark: as the bytes say, then in UTF-8, then in the encoding that somebody named.
    UnknownEncoding."""
    if data.startswith(b"%PDF-"):
        raise UnknownEncoding("is a PDF and no text. Attach it where documents are taken, or submit its text.")
    if named and data.isascii() and encoding_named(named).startswith(_SHIFTED):
        return by_name(data, named)
    try:
        return _certain(data)
    except UnknownEncoding:
        if not named or data.startswith(tuple(mark for mark, _ in MARKS)):
            raise
    return by_name(data, named)


def by_name(data: bytes, name: str) -> Decoded:
    """In just this one. Latin-1 is what browsers take it for: what it lacks is in Windows-1252. UnknownEncoding."""
    codec = encoding_named(name)
    if not codec:
        raise UnknownEncoding(f"cannot be read. {no_encoding(name)}")
    if codec == "iso8859-1" and re.search(rb"[\x80-\x9f]", data):
        codec = "cp1252"
    shown = _shown(codec)
    try:
        text = data.decode(codec)
    except UnicodeDecodeError as error:
        raise UnknownEncoding(f"is not in {shown}: {_place(data, error.start)}. {CONVERT}") from error
    if not all(map(_is_ordinary, text)):
        raise UnknownEncoding(f"is not in {shown}: it would have signs that nobody writes. {CONVERT}")
    return Decoded(text.removeprefix("\ufeff"), "" if codec == "utf-8" else shown)


def _shown(codec: str) -> str:
    if found := _CODE_PAGE.fullmatch(codec):
        return f"Windows-{found[1]}" if found[1] else f"ISO-8859-{found[2]}"
    return codec.upper().replace("_", "-")


def _certain(data: bytes) -> Decoded:
    for mark, name in MARKS:
        if data.startswith(mark):
            return _marked(data.removeprefix(mark), name)
    if b"\0" in data:
        return _wide(data)
    if _JAPANESE.search(data) and (text := _strictly(data, "iso2022_jp")):
        return Decoded(text, "ISO-2022-JP")
    try:
        return Decoded(data.decode())
    except UnicodeDecodeError as error:
        raise UnknownEncoding(f"is not in UTF-8: {_place(data, error.start)}. {CONVERT}") from error


def _marked(data: bytes, name: str) -> Decoded:
    try:
        text = data.decode(name)
    except UnicodeDecodeError as error:
        raise UnknownEncoding(f"begins as {name} does, and is broken from byte {error.start} on. {CONVERT}") from error
    if "\0" in text:
        raise UnknownEncoding(f"begins as {name} does, and is no text.")
    return Decoded(text, "" if name == "UTF-8" else name)


def _wide(data: bytes) -> Decoded:
    found = [
        (name, text) for name in ("UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE") if (text := _as_wide(data, name))
    ]
    if len(found) != 1:
        raise UnknownEncoding(f"is no text, or is not in UTF-8. {CONVERT}")
    return Decoded(found[0][1], found[0][0])


def _as_wide(data: bytes, name: str) -> str:
    """Empty where it is not certain: names that are kept apart by zeros look like UTF-16, too."""
    if name.startswith("UTF-16"):
        high = data[1 if name.endswith("LE") else 0 :: 2]
        if not _HIGH.issuperset(high) or high.count(0) < len(high) * _LEAST_ZEROS:
            return ""
    text = _strictly(data, name)
    return text if all(map(_is_ordinary, text)) else ""


def _is_ordinary(sign: str) -> bool:
    return sign in "\n\r\t\f" or unicodedata.category(sign) not in ("Cc", "Cn", "Co")


def _strictly(data: bytes, name: str) -> str:
    try:
        return data.decode(name)
    except UnicodeDecodeError:
        return ""


def _place(data: bytes, at: int) -> str:
    before = data[:at]
    line, near = before.count(b"\n") + 1, before.rpartition(b"\n")[2][-20:].decode(errors="ignore").strip()
    return f"the byte 0x{data[at]:02X} in line {line}{f' after “{near}”' if near else ''} belongs to another encoding"
