"""PDFs as somebody may attach them, made from nothing."""

import io
import zlib

from pypdf import PdfReader, PdfWriter
from pypdf.generic import (
    ArrayObject,
    BooleanObject,
    DictionaryObject,
    FloatObject,
    NameObject,
    PdfObject,
    TextStringObject,
)

FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
PICTURE = (
    b"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 /Length 1 >>"
)


def pdf(*pages: bytes | str, times: int = 1) -> bytes:
    """A page for each: lines of text, or the very instructions that draw it, so many times over."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", FONT, stream(PICTURE, b"\x80")]
    kids = []
    for page in pages:
        objects.append(packed(page if isinstance(page, bytes) else drawn(page), times))
        kids.append(len(objects) + 1)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> /XObject << /Im1 4 0 R >> >> >>" % len(objects)
        )
    named = b" ".join(b"%d 0 R" % kid for kid in kids)
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), named)
    return file_of(objects)


def drawn(text: str) -> bytes:
    lines = (f"({line}) Tj T*" for line in text.split("\n"))
    return f"BT /F1 12 Tf 14 TL 50 800 Td {' '.join(lines)} ET".encode()


def stream(head: bytes, data: bytes) -> bytes:
    return head + b"\nstream\n" + data + b"\nendstream"


def packed(data: bytes, times: int = 1) -> bytes:
    """Never all of it in memory: only a child may have that."""
    block = data * max(1, min(times, 1_000_000 // len(data)))
    blocks, rest = divmod(len(data) * times, len(block))
    packing = zlib.compressobj(9)
    begin = packing.flush(zlib.Z_FULL_FLUSH)
    # what follows a full flush refers to nothing before it: a block that is packed once can follow itself
    whole = packing.compress(block) + packing.flush(zlib.Z_FULL_FLUSH)
    end = packing.compress(block[:rest]) + packing.flush(zlib.Z_FINISH)
    unpacked = 1
    for _ in range(blocks):
        unpacked = zlib.adler32(block, unpacked)
    small = begin + whole * blocks + end[:-4] + zlib.adler32(block[:rest], unpacked).to_bytes(4, "big")
    return stream(b"<< /Filter /FlateDecode /Length %d >>" % len(small), small)


def file_of(objects: list[bytes]) -> bytes:
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    end = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(out))
    return bytes(out) + head + end


METHODS = ("RC4-40", "RC4-128", "AES-128", "AES-256-R5", "AES-256")


def encrypted(data: bytes, password: str = "", method: str = "AES-256") -> bytes:
    """By its owner's password; with another one it asks for that to be opened."""
    writer, out = PdfWriter(clone_from=PdfReader(io.BytesIO(data))), io.BytesIO()
    writer.encrypt(password, "the owner's", algorithm=method)
    writer.write(out)
    return out.getvalue()


PICTURE_ALONE = b"q 200 0 0 200 50 500 cm /Im1 Do Q"
CV = pdf("Curriculum vitae\nHana Kubo\nTwelve years of supervision.", "References on request.")
SCANNED = pdf(PICTURE_ALONE, PICTURE_ALONE)
UNPACKING = pdf(b" " * 1_000_000, times=300)
SLOW = pdf(*[b"BT /F1 12 Tf (a) Tj ET "] * 5, times=50_000)


# ---- what people fill in and write on pages -----------------------------------------------------------------


def value(given: object) -> PdfObject:
    """/Names begin with a slash; other texts are texts."""
    match given:
        case dict():
            return DictionaryObject({NameObject(key): value(one) for key, one in given.items()})
        case list() | tuple():
            return ArrayObject([value(one) for one in given])
        case str():
            return NameObject(given) if given.startswith("/") else TextStringObject(given)
        case bool() | PdfObject():
            return BooleanObject(given) if isinstance(given, bool) else given
        case _:
            return FloatObject(given)


def marked(data: bytes, *annotations: dict[str, object], form: dict[str, object] | None = None) -> bytes:
    """With these on its first page. `/IRT` is the number of the one that is answered, `kids` are places of a field."""
    writer, out, made = PdfWriter(clone_from=PdfReader(io.BytesIO(data))), io.BytesIO(), list[PdfObject]()
    placed, fields = ArrayObject(), ArrayObject()
    for one in annotations:
        known = {key: given for key, given in one.items() if key not in ("kids", "/IRT")}
        above = {"/IRT": made[one["/IRT"]]} if "/IRT" in one else {}
        made.append(writer._add_object(value({"/Type": "/Annot", "/Rect": [0, 0, 9, 9], **known, **above})))
        kids = [
            writer._add_object(value({"/Subtype": "/Widget", **kid, "/Parent": made[-1]}))
            for kid in one.get("kids", ())
        ]
        placed.extend(kids or [made[-1]])
        if "/FT" in one:
            fields.append(made[-1])
    writer.pages[0][NameObject("/Annots")] = placed
    writer.root_object[NameObject("/AcroForm")] = value({"/Fields": fields, **(form or {})})
    writer.write(out)
    return out.getvalue()


def over(line: int, begin: float, end: float) -> list[float]:
    """The corners around part of a line of a page of `drawn`, from left to right in points."""
    low, high = 797 - 14 * line, 810 - 14 * line
    return [begin, high, end, high, begin, low, end, low]


def field(kind: str, name: str, **more: object) -> dict[str, object]:
    return {"/Subtype": "/Widget", "/FT": kind, "/T": name, **{f"/{key}": one for key, one in more.items()}}


def note(kind: str, contents: str = "", by: str = "", **more: object) -> dict[str, object]:
    said = {"/Contents": contents, "/T": by}
    return {
        "/Subtype": kind,
        **{key: one for key, one in said.items() if one},
        **{f"/{key}": one for key, one in more.items()},
    }
